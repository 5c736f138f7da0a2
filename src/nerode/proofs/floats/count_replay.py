"""Replaying a proof about counters in floats: every step from every count on every line.

The evidence has lines of states: base + count · slope, rounded to the format, for ranges of counts. What is
verified: the start is on the first line; for each line, each count and each letter that is legal there, the
module's own step leads to the bits of the stated line at the count after the letter, and gives the answer of
the language. So all prefixes up to the length stay on the lines. A rule of a counter machine asks whether the
counter is zero or positive, so one count stands for all of its sign.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nerode.core import Budget, InputError, started
from nerode.kernel import VALID_PREFIXES, Certificate, Claim, Failure, first_not_implied, language_claim
from nerode.languages import START, CounterLanguage, Counters, Language
from nerode.proofs.floats.listing import fingerprint
from nerode.proofs.floats.recheck import Stepping, find_foreign, limits

Json = Any

METHOD = "count-closure"

_KEYS = {"dtype", "length", "module", "arithmetic", "batch", "layout", "slope", "lines"}


def replay_counts(
    module: Stepping,
    language: Language,
    certificate: Certificate,
    *,
    decode: Callable[[Tensor], Tensor] | None = None,
    budget: Budget | None = None,
) -> Failure | None:
    """Returns why a certificate about counts does not hold for a module, None if it holds.

    Raises:
        BudgetExceeded: if the time is up before every step has been computed.
    """
    if foreign := find_foreign(certificate, METHOD, language, fingerprint(module)):
        return foreign
    read = decode or getattr(module, "legal", None) or (lambda scores: scores > 0.5)
    try:
        replay = _Replay(module, language, certificate.evidence[METHOD], read, started(budget))
        failure = replay.run()
    except (InputError, KeyError, TypeError, ValueError, IndexError) as error:
        return Failure(what=f"the evidence makes no sense: {error}", entry=f"evidence.{METHOD}")
    return failure or first_not_implied(
        certificate.claims, [claim_of(replay.dtype, replay.length, replay.batch)]
    )


def claim_of(dtype: str, length: int, batch: int) -> Claim:
    """Returns the claim that a successful replay shows."""
    claim = language_claim(task=VALID_PREFIXES, method=METHOD, dtype=dtype, order="rounded", length=length)
    return replace(claim, covers=claim.covers + limits([batch], covers_empty=False))


class _Replay:
    def __init__(
        self,
        module: Stepping,
        language: Language,
        evidence: Json,
        read: Callable[[Tensor], Tensor],
        budget: Budget,
    ) -> None:
        if not isinstance(evidence, dict) or set(evidence) != _KEYS:
            raise InputError(f"it must have exactly the keys {', '.join(sorted(_KEYS))}")
        if not isinstance(language, CounterLanguage) or language.machine.num_counters != 1:
            raise InputError("the language is not that of a machine with one counter")
        self.module, self.language, self.read, self.budget = module, language, read, budget
        self.dtype, self.length, self.batch = evidence["dtype"], evidence["length"], evidence["batch"]
        if not (type(self.length) is int and self.length > 0 and type(self.batch) is int and self.batch > 0):
            raise InputError("length and batch are not positive whole numbers")
        self.layout = [(str(n), tuple(map(int, s)), getattr(torch, str(d))) for n, s, d in evidence["layout"]]
        if {kind for _, _, kind in self.layout} != {getattr(torch, self.dtype)}:
            raise InputError(f"the states are not made of {self.dtype}")
        self.slope = _numbers(evidence["slope"])
        self.bases = [_numbers(line["base"]) for line in evidence["lines"]]
        self.lasts = [line["last"] for line in evidence["lines"]]
        self.pieces: list[list[tuple[int, int, list[int]]]] = [
            [(int(low), int(high), list(moves)) for low, high, moves in line["pieces"]]
            for line in evidence["lines"]
        ]
        self.increments = [row[0] for row in language.machine.increments]
        self.start = language.machine.start[0]
        self.reach = (self.length - 1) * max(map(abs, self.increments))
        """How far from the start a counter is before the last letter of a prefix."""

    def run(self) -> Failure | None:
        with torch.no_grad():
            first = self.module.initial_state(1)
        wanted = [(name, tuple(first[name].shape[1:]), first[name].dtype) for name in sorted(first)]
        if wanted != self.layout:
            return _failure("the module has a state of another form", "layout")
        if self.lasts[0] != START or not self._same(first, self._states(0, torch.tensor([self.start])), 1):
            return _failure("the module starts in another state", "lines[0]")
        if not self._known(0, self.start, self.start):
            return _failure("the count of the start is not on the first line", "lines[0]")
        for line, pieces in enumerate(self.pieces):
            for piece in pieces:
                failure = self._replay_piece(line, *piece)
                if failure is not None:
                    return failure
        return None

    def _replay_piece(self, line: int, low: int, high: int, moves: list[int]) -> Failure | None:
        low, high = max(low, self.start - self.reach), min(high, self.start + self.reach)
        if low > high:
            return None
        if not (low > 0 or high < 0 or low == high == 0):
            return _failure("a range holds counts of different signs", f"lines[{line}]")
        here = Counters(last=self.lasts[line], values=(low,))
        legal = self.language.legal(here).symbols
        for letter, amount in enumerate(self.increments):
            target = moves[letter]
            if letter not in legal:
                if target != -1:
                    return _failure("a move where no letter is read", f"lines[{line}]")
                continue
            after = self.language.advance(here, letter)
            assert isinstance(after, Counters)
            if not 0 <= target < len(self.bases) or self.lasts[target] != after.last:
                return _failure("a move leads to no line, or to one after another letter", f"lines[{line}]")
            if not self._known(target, low + amount, high + amount):
                return _failure("a move leads beyond the counts of a line", f"lines[{line}]")
            for part in self._parts(low, high, amount):
                failure = self._step(line, letter, target, part)
                if failure is not None:
                    return failure
        return None

    def _parts(self, low: int, high: int, amount: int) -> Iterator[range]:
        """The counts of a range in batches, those apart that end at zero."""
        for first in range(low, high + 1, self.batch):
            counts = range(first, min(first + self.batch, high + 1))
            zero = -amount
            parts = [range(counts.start, zero), range(zero, zero + 1), range(zero + 1, counts.stop)]
            yield from [part for part in parts if part] if zero in counts else [counts]

    def _step(self, line: int, letter: int, target: int, counts: range) -> Failure | None:
        self.budget.check_time()
        size, amount = len(counts), self.increments[letter]
        before = torch.tensor(counts)
        with torch.no_grad():
            scores, after = self.module.step(torch.full((size,), letter), self._states(line, before))
        if not self._same(after, self._states(target, before + amount), size):
            name = self.language.alphabet.symbols[letter]
            what = f"{name!r} leads from line {line} at counts from {counts[0]} off line {target}"
            return _failure(what, f"lines[{line}]")
        legal = self.language.legal(Counters(last=self.lasts[target], values=(counts[0] + amount,)))
        expected = [letter in legal.symbols for letter in range(len(self.increments))] + [legal.end]
        if not bool((self.read(scores) == torch.tensor(expected)).all()):
            what = f"on line {target}, at a count from {counts[0] + amount} on, the answer is wrong"
            return _failure(what, f"lines[{target}]")
        return None

    def _known(self, line: int, low: int, high: int) -> bool:
        """Whether all counts that matter are on the ranges of a line, or reached by the last letter only."""
        low, high = max(low, self.start - self.reach), min(high, self.start + self.reach)
        for first, last, _ in sorted(self.pieces[line], key=lambda piece: piece[0]):
            if first <= low <= last:
                low = last + 1
        return low > high

    def _states(self, line: int, counts: Tensor) -> dict[str, Tensor]:
        """The states of a line at some counts, rounded to the format."""
        slope, base = self.slope, self.bases[line]
        moving = base + counts[:, None].double() * slope
        flat = torch.where(slope != 0, moving, base)
        state, first = {}, 0
        for name, shape, kind in self.layout:
            size = int(np.prod(shape))
            state[name] = flat[:, first : first + size].reshape(len(counts), *shape).to(kind)
            first += size
        return state

    def _same(self, one: dict[str, Tensor], other: dict[str, Tensor], size: int) -> bool:
        """Whether two states have the same bits, and no NaN."""
        for name, _, _ in self.layout:
            bits = [part[name].contiguous().reshape(size, -1).view(torch.uint8) for part in (one, other)]
            if not torch.equal(*bits) or bool(one[name].isnan().any()):
                return False
        return True


def _numbers(text: Json) -> Tensor:
    return torch.from_numpy(np.frombuffer(bytes.fromhex(text), dtype=np.float64).copy())


def _failure(what: str, entry: str) -> Failure:
    return Failure(what=what, entry=f"evidence.{METHOD}.{entry}")
