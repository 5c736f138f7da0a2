"""Counters in floats: every count up to a length, as lines of states along which a counter goes.

A module that counts has as many states as counts, too many for a list. But they lie on lines: a base and the
count times one slope, for a handful of bases (what the last letters were, say). The search reads short words,
takes the slope from a letter that is repeated, and guesses that lines go on. `count_replay` then computes the
step of every letter from every count on every line, which proves the guess up to the length.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core import Budget, BudgetExceeded, InputError, started
from nerode.kernel import VALID_PREFIXES, Certificate
from nerode.languages import CounterLanguage, Counters, Language, language_hash
from nerode.proofs.floats.certify import FloatVerdict
from nerode.proofs.floats.count_replay import METHOD, claim_of, replay_counts
from nerode.proofs.floats.listing import describe_arithmetic, fingerprint
from nerode.proofs.floats.runner import Decode, Runner, State, StepModule, layout_of, make_runner

Json = Any
Vector = npt.NDArray[np.float64]

_LOOK, _FARTHER = 6, 12
"""Counts on both sides of the start: lines go on from the first; the search goes on to the second."""

_BATCH = 4_096
"""States that are stepped at once in the replay."""

_MOST = 4_000
"""States of the search; more of them and the module does not lie on few lines."""


def certify_counts(
    module: StepModule,
    language: Language,
    *,
    length: int = 1_000_000,
    decode: Decode | None = None,
    budget: Budget | None = None,
) -> FloatVerdict:
    """Returns a proof that a module is correct after every valid prefix up to a length, or why there is none.

    Args:
        module: reads letters of the language by number.
        language: of a machine with one counter.
        length: of the prefixes.
        decode: how scores are read; None takes the module's own `legal`, or "above 1/2" if it has none.
        budget: limits the time.

    Raises:
        InputError: if the language has no counter or several, or the length is not positive.
    """
    if not isinstance(language, CounterLanguage) or language.machine.num_counters != 1:
        raise InputError(f"{language.name} is not the language of a machine with one counter")
    if length < 1:
        raise InputError(f"a length of {length} is not possible; give 1 or more")
    budget = started(budget)
    runner = make_runner(module, language, decode=decode)
    certificate, reason, states = None, "", 0
    try:
        evidence = _Lines(runner, language).evidence(length)
        states = sum(high - low + 1 for line in evidence["lines"] for low, high, _ in line["pieces"])
        found = Certificate(
            network=evidence["module"],
            language=language_hash(language, budget),
            claims=(claim_of(runner.dtype, length, _BATCH),),
            evidence={METHOD: evidence},
        )
        failure = replay_counts(module, language, found, decode=runner.decode, budget=budget)
        certificate, reason = (found, "") if failure is None else (None, failure.what)
    except BudgetExceeded as stop:
        reason = f"the budget of {stop.limit:,.4g} seconds is used up"
    except _NoLines as doubt:
        reason = str(doubt)
    return FloatVerdict(
        runner=runner,
        task=VALID_PREFIXES,
        certificate=certificate,
        refutation=None,
        reason=reason,
        states=states,
    )


class _NoLines(Exception):
    """The states of the module do not lie on lines."""


class _Lines:
    """Short words, and the lines that their states lie on."""

    def __init__(self, runner: Runner, language: CounterLanguage) -> None:
        self.runner = runner
        self.language = language
        self.increments = [row[0] for row in language.machine.increments]
        self.start = language.machine.start[0]
        first = runner.start()
        self.layout = layout_of(first)
        if any("float" not in part.dtype for part in self.layout):
            raise _NoLines("the state of the module holds numbers that are no floats")
        self.slope = self._find_slope()
        self.number: dict[tuple[int, bytes], int] = {}
        self.bases: list[tuple[int, Vector]] = []
        self.moves: dict[tuple[int, int], list[int]] = {}
        self._explore(first)

    def _find_slope(self) -> Vector:
        """The change of the state per count, where the same letter is read again and again."""
        machine, initial = self.language.machine, self.language.initial()
        for letter, amount in enumerate(self.increments):
            configuration: Counters | None = initial
            state = self.runner.start()
            vectors = []
            for _ in range(_FARTHER):
                if letter not in self.language.legal(configuration).symbols:
                    break
                configuration = self.language.advance(configuration, letter)
                _, state = self.runner.step(np.array([letter]), state)
                vectors.append(_vector(state))
            if amount and len(vectors) == _FARTHER:
                slope: Vector = (vectors[-1] - vectors[-2]) / amount
                return slope
        raise _NoLines(f"no letter of {machine.alphabet} counts by itself")

    def _line(self, last: int, count: int, state: State) -> int:
        """The number of the line that a state is on."""
        vector = _vector(state)
        base = np.where(self.slope != 0, vector - count * self.slope, vector)
        key = (last, base.tobytes())
        if key not in self.number:
            if len(self.bases) >= _MOST:
                raise _NoLines(f"the states lie on more than {_MOST:,} lines")
            self.number[key] = len(self.bases)
            self.bases.append((last, base))
        return self.number[key]

    def _explore(self, first: State) -> None:
        """Reads all letters in all states whose count is near that of the start."""
        configuration = self.language.initial()
        queue = [(configuration, first)]
        for configuration, state in queue:
            assert isinstance(configuration, Counters)
            count = configuration.values[0]
            here = (self._line(configuration.last, count, state), count)
            if here in self.moves or abs(count - self.start) > _FARTHER:
                continue
            self.moves[here] = row = [-1] * len(self.increments)
            for letter in sorted(self.language.legal(configuration).symbols):
                after = self.language.advance(configuration, letter)
                assert isinstance(after, Counters)
                _, new = self.runner.step(np.array([letter]), state)
                row[letter] = self._line(after.last, after.values[0], new)
                queue.append((after, new))

    def evidence(self, length: int) -> dict[str, Json]:
        """Returns the lines, continued as far as words of a length may count."""
        known: dict[int, dict[int, list[int]]] = defaultdict(dict)
        for (line, count), row in self.moves.items():
            if abs(count - self.start) <= _LOOK:
                known[line][count] = row
        reach = length * max(map(abs, self.increments))
        ends = (self.start - _LOOK, self.start + _LOOK)
        lines = []
        for number, (last, base) in enumerate(self.bases):
            pieces: list[list[Json]] = []
            for count, row in sorted(known[number].items()):
                old = pieces[-1] if pieces else None
                same_sign = old is not None and (old[1] > 0) == (count > 0) and (old[1] < 0) == (count < 0)
                if old is not None and same_sign and old[1] == count - 1 and old[2] == row:
                    old[1] = count
                else:
                    pieces.append([count, count, row])
            if pieces and pieces[0][0] == ends[0]:
                pieces[0][0] = self.start - reach
            if pieces and pieces[-1][1] == ends[1]:
                pieces[-1][1] = self.start + reach
            lines.append({"last": last, "base": base.tobytes().hex(), "pieces": pieces})
        return {
            "dtype": self.runner.dtype,
            "length": length,
            "module": fingerprint(self.runner.module),
            "arithmetic": describe_arithmetic(),
            "batch": _BATCH,
            "layout": [[part.name, list(part.shape), part.dtype] for part in self.layout],
            "slope": self.slope.tobytes().hex(),
            "lines": lines,
        }


def _vector(state: State) -> Vector:
    """The numbers of one state, its tensors in the order of their names."""
    parts = [state[name].detach().double().reshape(-1).numpy() for name in sorted(state)]
    return np.concatenate(parts)
