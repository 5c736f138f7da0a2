"""Horizons: the length of loop words at which a module fails, predicted and measured by running it.

fading      a state that shrinks by the factor g at each repetition passes the threshold of its reader after
            ln(start / threshold) / -ln(g) repetitions
counting    a float with p bits counts exactly to 2**p; one more and the count stands still

For a prediction the state after each repetition is one vector. Where its steps shrink by a constant factor,
the state fades towards a limit, and what counts is how near to the limit the module still reads it rightly:
the reader is asked at states between, which are not reached by running. Where the steps stay the same, the
state counts, until its floats run out. A distance to the limit below which the steps are rounded away is
never gone under. Nothing here is a proof.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from nerode.core import Budget, BudgetExceeded, InputError, started
from nerode.kernel import DTYPES, Refutation
from nerode.languages import Alphabet, Language, Word, asked_of
from nerode.proofs.runner import Numbers, QuestionTable, Runner, State

FEW = 2_000
"""Letters that are read step by step; longer words go through `forward` where the module has it."""

CHUNK = 4096
"""Letters that `forward` reads at once."""

Vector = npt.NDArray[np.float64]

_LOOKS = (2, 4, 16, 64)
"""Repetitions that a prediction is made from; the longest look that ends before the first failure counts."""

_NEAR = 2.0**-6
"""A limit that is nearer to zero than this share of the state is taken for zero."""

_HALVINGS = 60
_OCTAVES = 1_100
"""Powers of two between the state and its limit that are looked at; a float64 has no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopWord:
    """Words u vⁿ x, or u vⁿ wⁿ x: the parts that are marked are repeated n times.

    Attributes:
        parts: letters, and whether they are repeated.
    """

    parts: tuple[tuple[Word, bool], ...]

    def __post_init__(self) -> None:
        if not any(word and repeated for word, repeated in self.parts):
            raise InputError("no part of the loop word is repeated; mark one")

    def length(self, n: int) -> int:
        """Returns the number of letters with n repetitions."""
        return sum(len(word) * (n if repeated else 1) for word, repeated in self.parts)

    def chunks(self, n: int) -> Iterator[Numbers]:
        """Yields the letters with n repetitions, at most CHUNK at a time."""
        for word, repeated in self.parts:
            block = np.array(word, dtype=np.int64)
            at_once = max(1, CHUNK // max(1, len(block)))
            left = n if repeated else 1
            while left > 0 and len(block):
                yield np.tile(block, min(left, at_once))
                left -= at_once

    def show(self, alphabet: Alphabet, n: int | str = "n") -> str:
        """Returns the word as text: w 1 (i 0)^n r."""
        shown = []
        for word, repeated in self.parts:
            symbols = " ".join(alphabet.symbols[a] for a in word)
            if repeated:
                symbols = f"({symbols})^{n}" if len(word) > 1 else f"{symbols}^{n}"
            if word:
                shown.append(symbols)
        return " ".join(shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Horizon:
    """The horizon of a module on the words of one loop.

    Attributes:
        word: the words.
        predicted: the least number of repetitions on which it should fail; None if it should never.
        repetitions: the least number of repetitions on which it was seen to fail; None if it never did.
        error: the first wrong answer there, with what was read by then.
        tested: the largest number of repetitions on which it was correct.
        steps: whether it was read step by step; otherwise by `forward`, in chunks.
    """

    word: LoopWord
    predicted: int | None
    repetitions: int | None
    error: Refutation | None
    tested: int
    steps: bool

    def refutation(self, alphabet: Alphabet) -> Refutation:
        """Returns the word on which the module was seen to fail, as it is written with repetitions."""
        if self.error is None or self.repetitions is None:
            raise InputError("no word of this loop was seen to fail")
        return replace(self.error, word=(self.word.show(alphabet, self.repetitions),))


def measure_horizon(
    runner: Runner,
    language: Language,
    word: LoopWord,
    *,
    task: str,
    longest: int,
    predict: bool = True,
    budget: Budget | None = None,
) -> Horizon:
    """Returns the horizon of a module on the words of one loop.

    The search begins at the predicted number of repetitions, or at one; steps are doubled until the module
    fails, and the least failing number found by halving, which supposes that a module that has failed goes
    on to fail.

    Args:
        runner: the module.
        language: what it should do.
        word: the loop.
        task: RECOGNISE compares only whether the word may end.
        longest: the length that no word that is read exceeds.
        predict: whether to predict the number of repetitions first.
        budget: limits the time; when it is up, what is known by then is returned.
    """
    budget = started(budget)
    guess = predict_repetitions(runner, language, word, task=task) if predict else None
    search = _Search(runner, language, word, task, longest, budget)
    try:
        if guess is not None and search.allowed(guess):
            search.around(guess)
        search.run()
    except BudgetExceeded:
        pass
    return Horizon(
        word=word,
        predicted=guess,
        repetitions=search.bad,
        error=search.error,
        tested=search.good,
        steps=search.steps,
    )


class _Search:
    """The largest number of repetitions known to be right, and the least known to be wrong."""

    def __init__(
        self, runner: Runner, language: Language, word: LoopWord, task: str, longest: int, budget: Budget
    ) -> None:
        self.runner = runner
        self.language = language
        self.word = word
        self.task = task
        self.longest = longest
        self.budget = budget
        self.good = 0
        self.bad: int | None = None
        self.error: Refutation | None = None
        self.steps = True

    def allowed(self, n: int) -> bool:
        return self.word.length(n) <= self.longest

    def wrong(self, n: int) -> bool:
        """Reads the word with n repetitions and notes what comes out."""
        steps = self.word.length(n) <= FEW or not self.runner.has_forward
        error = read_word(
            self.runner, self.language, self.word, n, task=self.task, steps=steps, budget=self.budget
        )
        self.steps = self.steps and steps
        if error is not None and (self.bad is None or n < self.bad):
            self.bad, self.error = n, error
        elif error is None:
            self.good = max(self.good, n)
        return error is not None

    def around(self, guess: int) -> None:
        """Finds numbers on both sides of the horizon, starting from where it should be."""
        step = 1
        if self.wrong(guess):
            while guess - step > 0 and self.wrong(guess - step):
                step *= 2
            return
        while self.allowed(guess + step) and not self.wrong(guess + step):
            step *= 2

    def run(self) -> None:
        """Doubles, then halves."""
        n = max(1, self.good)
        while self.bad is None and self.allowed(n):
            self.wrong(n)
            n *= 2
        while self.bad is not None and self.bad - self.good > 1:
            self.wrong((self.good + self.bad) // 2)


def read_word(
    runner: Runner,
    language: Language,
    word: LoopWord,
    n: int,
    *,
    task: str,
    steps: bool = True,
    budget: Budget | None = None,
) -> Refutation | None:
    """Returns the first error of a module on a loop word with n repetitions, None if it makes none.

    Args:
        runner: the module.
        language: what it should do.
        word: the word.
        n: how often its marked parts are repeated.
        task: RECOGNISE compares only whether the word may end.
        steps: whether to go step by step; otherwise by `forward`, in chunks.
        budget: limits the time.
    """
    budget = started(budget)
    known = QuestionTable(asked_of(language, task))
    number, at = 0, 0
    state = runner.start()
    for letters in word.chunks(n):
        budget.check_time(letters_read=at)
        numbers = known.along(number, letters.tolist())
        (got,), state = runner.run(letters[None, :], state, steps=steps)
        for i in np.flatnonzero(known.are_wrong(numbers, got))[:1].tolist():
            read = np.concatenate(list(word.chunks(n)))[: at + i + 1]
            return known.refutation(read.tolist(), int(numbers[i]), got[i])
        number, at = int(numbers[-1]), at + len(letters)
    return None


def predict_repetitions(runner: Runner, language: Language, word: LoopWord, *, task: str) -> int | None:
    """Returns the least number of repetitions on which a module should fail, None for never.

    The module is looked at in float64, with the weights that it has: its own first steps may be too coarse to
    tell the factor by which they shrink. Where its own state stands still, nothing is predicted to happen.
    """
    place = next(i for i, (_, repeated) in enumerate(word.parts) if repeated)
    pattern, *_ = states = _repeated(runner, word, place, _LOOKS[-1])
    settled = np.array_equal(_flat(states[-1]), _flat(states[-2]))
    reader = _Reader(runner, language, word, place, task)
    failed = next((k for k, state in enumerate(states) if reader.fails(state, k)), None)
    if settled and failed is None:
        return None
    finer = _finer(runner)
    looks = [look for look in _LOOKS if failed is None or look < failed]
    if not looks:
        return None if failed is None else failed + reader.ahead
    if finer is not runner:
        states = _repeated(finer, word, place, looks[-1])
    path = [_flat(state) for state in states[: looks[-1] + 1]]
    found = _predict(path, pattern, runner.dtype, reader)
    return None if found is None else found + reader.ahead


def _predict(path: Sequence[Vector], pattern: State, dtype: str, reader: _Reader) -> int | None:
    """The repetition after which the reader should fail first."""
    # Where a coordinate has overflowed there are no steps to be told; it is left as it ended.
    end, finite = path[-1], np.isfinite(path).all(axis=0)
    path = [np.where(finite, place, 0.0) for place in path]
    last, first = path[-1] - path[-2], path[1] - path[0]
    if not last.any():
        return None
    if np.array_equal(last, path[-2] - path[-3]):
        return _predict_counting(path[0], last, dtype)
    n = len(path) - 1
    moving = int(np.argmax(np.abs(last)))
    rate = _root(last[moving], first[moving], n - 1)
    if not 0 < rate < 1:
        return None
    limit = path[-1] + last * rate / (1 - rate)
    near = np.abs(limit) < _NEAR * np.abs(path[-1])
    limit[near] = 0
    if near[moving]:
        rate = _root(path[-1][moving], path[0][moving], n)

    def fails(share: float) -> bool:
        between = np.where(finite, limit + share * (path[-1] - limit), end)
        return reader.fails(_like(pattern, between), n)

    share = _smallest_right(fails)
    distance = abs(path[-1][moving] - limit[moving])
    if share is None or not 0 < rate < 1 or share * distance < _stalls(limit[moving], rate, dtype):
        return None
    return n + max(0, math.ceil(math.log(share) / math.log(rate)))


def _root(last: float, first: float, n: int) -> float:
    """The factor of which n make the quotient of two numbers; 1 if there is none."""
    return float(abs(last / first)) ** (1 / n) if first and n else 1.0


def _finer(runner: Runner) -> Runner:
    """The same module in float64, if it can be converted."""
    if not isinstance(runner.module, nn.Module):
        return runner
    try:
        finer = replace(runner, module=copy.deepcopy(runner.module).double(), dtype="float64")
        finer.step(np.zeros(1, dtype=np.int64), finer.start())
    except RuntimeError:
        return runner
    return finer


def _predict_counting(start: Vector, step: Vector, dtype: str) -> int:
    """The repetition with which some coordinate leaves the numbers that the dtype holds exactly."""
    capacity = 1 << int(DTYPES[dtype].bits)
    least: list[int] = []
    for h, d in zip(start.tolist(), step.tolist(), strict=True):
        if d:
            least.append(math.floor((capacity * _unit(h, d) - math.copysign(1, d) * h) / abs(d)) + 1)
    return min(least)


def _unit(*values: float) -> float:
    """The largest power of two that divides all values."""
    exponents = []
    for value in values:
        if value:
            numerator, denominator = abs(value).as_integer_ratio()
            exponents.append((numerator & -numerator).bit_length() - denominator.bit_length())
    return math.ldexp(1.0, min(exponents))


def _smallest_right(fails: Callable[[float], bool]) -> float | None:
    """The share of the way to the limit that is left where the module begins to fail; None for nowhere."""
    if not fails(0.0):
        return None
    low, high = -float(_OCTAVES), 0.0
    if fails(1.0):
        return 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fails(2.0**middle) else (low, middle)
    return float(2.0**high)


def _stalls(limit: float, rate: float, dtype: str) -> float:
    """The distance from the limit at which a step towards it is less than half a unit in the last place."""
    form = DTYPES[dtype]
    exponent = max(form.smallest, math.frexp(limit)[1] - 1 if limit else form.smallest)
    return math.ldexp(1.0, exponent - form.bits + 1) / (2 * (1 - rate))


class _Reader:
    """Asks a module for its answers on the rest of a loop word, from a given state.

    Attributes:
        ahead: repetitions that are part of the rest: one if nothing else follows the loop, none otherwise.
    """

    def __init__(self, runner: Runner, language: Language, word: LoopWord, place: int, task: str) -> None:
        self.runner = runner
        self.known = QuestionTable(asked_of(language, task))
        self.before = [letter for letters, _ in word.parts[:place] for letter in letters]
        self.loop = word.parts[place][0]
        rest = [letter for letters, _ in word.parts[place + 1 :] for letter in letters]
        self.ahead = 0 if rest else 1
        self.rest = rest or list(self.loop)

    def fails(self, state: State, repetitions: int) -> bool:
        """Whether some answer on the rest of the word is wrong, from the state after some repetitions."""
        number = 0
        for letter in (*self.before, *self.loop * repetitions):
            number = self.known.after(number, letter)
        for letter in self.rest:
            number = self.known.after(number, letter)
            answers, state = self.runner.step(np.array([letter]), state)
            if self.known.are_wrong(np.array([number]), answers)[0]:
                return True
        return False


def _repeated(runner: Runner, word: LoopWord, place: int, repetitions: int) -> list[State]:
    """The states before the repeated part and after each repetition of it."""
    state = runner.start()
    for letters, _ in word.parts[:place]:
        state = _advance(runner, letters, state)
    states = [state]
    for _ in range(repetitions):
        states.append(_advance(runner, word.parts[place][0], states[-1]))
    return states


def _advance(runner: Runner, letters: Sequence[int], state: State) -> State:
    for letter in letters:
        _, state = runner.step(np.array([letter]), state)
    return state


def _flat(state: State) -> Vector:
    """The numbers of a state in one vector; a complex one counts as two."""
    return np.concatenate([_real(state[name]).double().reshape(-1).cpu().numpy() for name in sorted(state)])


def _real(tensor: Tensor) -> Tensor:
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def _like(pattern: State, values: Vector) -> State:
    """The state with these numbers, in the form and the types of another one."""
    state = {}
    first = 0
    for name in sorted(pattern):
        shown = _real(pattern[name])
        block = torch.from_numpy(values[first : first + shown.numel()].copy()).reshape(shown.shape)
        first += shown.numel()
        block = block.to(shown.dtype)
        state[name] = torch.view_as_complex(block.contiguous()) if pattern[name].is_complex() else block
    return state
