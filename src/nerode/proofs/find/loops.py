"""Loops: words that repeat one letter or two; how long a module stays correct on them, read and predicted.

fading      a state that shrinks by the factor g at each repetition passes the threshold of its reader after
            ln(start / threshold) / -ln(g) repetitions
counting    a float with p bits counts exactly to 2**p; one more and the count stands still

For a prediction the state after each repetition is one vector. Where the steps of each number shrink by a
constant factor of its own, the state fades towards a limit, and what counts is how near to the limit the
module still reads it rightly: the reader is asked at states between, which are not reached by running. Where
the steps stay the same, the state counts, until its floats run out. A distance to the limit below which the
steps are rounded away is never gone under. Nothing here is a proof.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import nn

from nerode.core import Budget, BudgetExceeded, InputError, started
from nerode.kernel import DTYPES, TESTED, Claim, Refutation
from nerode.languages import Alphabet, LanguageQuestion, Question, Word
from nerode.proofs.find.schedule import Work
from nerode.proofs.find.walk import CALL
from nerode.proofs.runner import (
    Layout,
    Numbers,
    QuestionTable,
    Runner,
    State,
    from_rows,
    from_values,
    layout_of,
    to_rows,
    to_values,
)

FEW = 2_000
"""Letters that are read step by step; longer words go through `forward` where the module has it."""

CHUNK = 4096
"""Letters that `forward` reads at once."""

Vector = npt.NDArray[np.float64]

_LOOKS = (2, 4, 16, 64)
"""Repetitions that a prediction is made from; the longest look that ends before the first failure counts."""

_NEAR = 2.0**-6
"""A limit that is nearer to zero than this share of the state is taken for zero."""

_FARTHEST = 1 << 62
"""Repetitions beyond which a failure is not looked for."""

LOOPS = "loops"

MOST_CONFIGURATIONS = 32
MOST_LOOPS = 256
"""Configurations of the language that loops begin at, and loops that are looked at."""


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


def measure_horizon(
    runner: Runner,
    question: Question,
    word: LoopWord,
    *,
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
        question: what it is asked.
        word: the loop.
        longest: the length that no word that is read exceeds.
        predict: whether to predict the number of repetitions first.
        budget: limits the time; when it is up, what is known by then is returned.
    """
    budget = started(budget)
    guess = predict_repetitions(runner, question, word) if predict else None
    search = _Halving(runner, question, word, longest, budget)
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


class _Halving:
    """The largest number of repetitions known to be right, and the least known to be wrong."""

    def __init__(
        self, runner: Runner, question: Question, word: LoopWord, longest: int, budget: Budget
    ) -> None:
        self.runner, self.question, self.word = runner, question, word
        self.longest, self.budget = longest, budget
        self.good = 0
        self.bad: int | None = None
        self.error: Refutation | None = None
        self.steps = True

    def allowed(self, n: int) -> bool:
        return self.word.length(n) <= self.longest

    def wrong(self, n: int) -> bool:
        """Reads the word with n repetitions and notes what comes out."""
        steps = self.word.length(n) <= FEW or not self.runner.has_forward
        error = read_word(self.runner, self.question, self.word, n, steps=steps, budget=self.budget)
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
    question: Question,
    word: LoopWord,
    n: int,
    *,
    steps: bool = True,
    budget: Budget | None = None,
) -> Refutation | None:
    """Returns the first error of a module on a loop word with n repetitions, None if it makes none.

    Args:
        runner: the module.
        question: what it is asked.
        word: the word.
        n: how often its marked parts are repeated.
        steps: whether to go step by step; otherwise by `forward`, in chunks.
        budget: limits the time.
    """
    budget = started(budget)
    known = QuestionTable(question)
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


def predict_repetitions(runner: Runner, question: Question, word: LoopWord) -> int | None:
    """Returns the least number of repetitions on which a module should fail, None for never.

    The module is looked at in float64, with the weights that it has: its own first steps may be too coarse to
    tell the factor by which they shrink. Where its own state stands still, nothing is predicted to happen.
    """
    place = next(i for i, (_, repeated) in enumerate(word.parts) if repeated)
    pattern, *_ = states = _repeated(runner, word, place, _LOOKS[-1])
    settled = np.array_equal(to_values(states[-1], 1), to_values(states[-2], 1))
    reader = _Reader(runner, question, word, place)
    failed = next((k for k, state in enumerate(states) if reader.fails(state, k)), None)
    if settled and failed is None:
        return None
    finer = _finer(runner)
    looks = [look for look in _LOOKS if failed is None or look < failed]
    if not looks:
        return None if failed is None else failed + reader.ahead
    if finer is not runner:
        states = _repeated(finer, word, place, looks[-1])
    path = [to_values(state, 1)[0] for state in states[: looks[-1] + 1]]
    found = _predict(path, layout_of(pattern), runner.dtype, reader)
    return None if found is None else found + reader.ahead


def _predict(path: Sequence[Vector], layout: Layout, dtype: str, reader: _Reader) -> int | None:
    """The repetition after which the reader should fail first."""
    # Where a coordinate has overflowed there are no steps to be told; it is left as it ended.
    end, finite = path[-1], np.isfinite(path).all(axis=0)
    path = [np.where(finite, place, 0.0) for place in path]
    last = path[-1] - path[-2]
    if not last.any():
        return None
    if np.array_equal(last, path[-2] - path[-3]):
        return _predict_counting(path[0], last, dtype)
    n = len(path) - 1
    moving = int(np.argmax(np.abs(last)))
    # The first repetitions fill the windows of convolutions.
    half = max(1, n // 2)
    rates = _roots(last, path[half] - path[half - 1], n - half)
    if not 0 < rates[moving] < 1:
        return None
    rates = np.where((rates > 0) & (rates < 1), rates, np.where(last == 0, 0.0, rates[moving]))
    limit = path[-1] + last * rates / (1 - rates)
    near = (np.abs(limit) < _NEAR * np.abs(path[-1])) & (rates > 0)
    limit[near] = 0
    rates = np.where(near, _roots(path[-1], path[half], n - half), rates)

    def fails(more: float) -> bool:
        between = np.where(finite, limit + rates**more * (path[-1] - limit), end)
        return reader.fails(from_values(between[None], layout), n)

    more, distance = _first_failure(fails), abs(path[-1][moving] - limit[moving])
    rate = rates[moving]
    if more is None or not 0 < rate < 1 or rate**more * distance < _stalls(limit[moving], rate, dtype):
        return None
    return n + more


def _roots(last: Vector, first: Vector, n: int) -> Vector:
    """The factors of which n make the quotients of numbers; 1 where there is none."""
    quotients = np.divide(last, first, out=np.ones_like(last), where=first != 0)
    roots: Vector = np.abs(quotients) ** (1 / max(1, n))
    return roots


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


def _first_failure(fails: Callable[[float], bool]) -> int | None:
    """The least number of further repetitions with which the module fails; None if it never does."""
    if not fails(math.inf):
        return None
    low, high = -1, 0
    while not fails(high):
        low, high = high, 2 * high + 1
        if high > _FARTHEST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fails(middle) else (middle, high)
    return high


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

    def __init__(self, runner: Runner, question: Question, word: LoopWord, place: int) -> None:
        self.runner, self.known = runner, QuestionTable(question)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopReport:
    """Results of a search over loops.

    Attributes:
        alphabet: the letters.
        loops: how many were read.
        tested: the number of letters to which all of them were read without an error.
        horizon: the loop on which the module fails first, of those that were measured; None if none fails.
        foreseen: the loop on which it should fail first, of those on which it was not seen to fail.
    """

    alphabet: Alphabet
    loops: int
    tested: int
    horizon: Horizon | None
    foreseen: Horizon | None = None

    def claim(self, dtype: str, task: str) -> Claim:
        """Returns the claim that all loops were read so far: a test, not a proof."""
        return Claim(
            scope=TESTED,
            method=LOOPS,
            task=task,
            covers=(
                f"{self.loops} words that repeat one or two letters, each followed by any one letter, were "
                "read up to this length without an error. This is a test, not a proof."
            ),
            dtype=dtype,
            length=self.tested,
        )

    def details(self) -> dict[str, Any]:
        """Returns the loops, and the one that fails first, for reading."""
        found: dict[str, Any] = {"loops": self.loops, "loops_tested_to": self.tested}
        horizon = self.horizon or self.foreseen
        if horizon is not None:
            found["horizon"] = {
                "word": horizon.word.show(self.alphabet),
                "predicted": horizon.predicted,
                "measured": horizon.repetitions,
                "at": None if horizon.error is None else horizon.error.at,
                "steps": horizon.steps,
            }
        return found


def search_loops(
    runner: Runner, question: Question, *, longest: int, predict: bool = True, budget: Budget
) -> Work[LoopReport]:
    """Looks for the loop on which a module fails soonest, as a strategy that can be paused.

    A loop is one letter or two that lead a configuration back to itself; of a question without end the words
    aⁿ bⁿ are read. Loops that are read neither prove anything, nor does a prediction.

    Args:
        runner: the module.
        question: what it is asked; only loops along words that it reads on are read.
        longest: the length that no word that is read exceeds.
        predict: whether to predict at which length a loop fails before it is read.
        budget: limits the time; when it is up, what is known by then is returned.
    """
    if not isinstance(question, LanguageQuestion) or question.language.regular:
        return (yield from _Sweep(runner, question, longest, predict, budget).work())
    words = list(itertools.islice(_counting_words(question), MOST_LOOPS))
    found = []
    for word in words:
        yield CALL + 2 * longest
        found.append(measure_horizon(runner, question, word, longest=longest, predict=predict, budget=budget))
        if found[-1].error is not None:
            break
    tested = min((h.word.length(h.tested) for h in found), default=0)
    unseen = [(h.word.length(h.predicted), h) for h in found if h.predicted is not None and h.error is None]
    foreseen = min(unseen, key=lambda pair: pair[0], default=(0, None))[1]
    return LoopReport(
        alphabet=question.alphabet, loops=len(found), tested=tested, horizon=soonest(found), foreseen=foreseen
    )


def soonest(horizons: list[Horizon]) -> Horizon | None:
    """Returns the horizon with the shortest failing word; None if no word fails."""
    failing = [h for h in horizons if h.error is not None]
    return min(failing, key=lambda h: h.error.at if h.error else 0, default=None)


def _counting_words(question: Question) -> Iterator[LoopWord]:
    """Words aⁿ bⁿ that the question reads."""
    for a, b in itertools.permutations(range(len(question.alphabet)), 2):
        at = question.initial()
        for letter in (a, a, b, b):
            if letter not in question.letters(at):
                break
            at = question.advance(at, letter)
        else:
            yield LoopWord(parts=(((a,), True), ((b,), True)))


class _Sweep:
    """All loops of one or two letters at once, a row of the batch for each."""

    def __init__(
        self, runner: Runner, question: Question, longest: int, predict: bool, budget: Budget
    ) -> None:
        self.runner, self.question = runner, question
        self.longest, self.predict, self.budget = longest, predict, budget
        self.known = QuestionTable(question)
        self.letters = len(question.alphabet)
        self.loops = list(itertools.islice(self._find_loops(), MOST_LOOPS))

    def work(self) -> Work[LoopReport]:
        """Doubles the number of repetitions until something fails."""
        if not self.loops:
            return LoopReport(alphabet=self.question.alphabet, loops=0, tested=0, horizon=None)
        state, numbers = self._start()
        read, wanted, tested = 0, 1, 0
        failing: list[LoopWord] = []
        while not failing and 2 * wanted <= self.longest:
            state, failing = yield from self._repeat(state, numbers, wanted - read)
            if not failing and not self.budget.left():
                break
            read, wanted = wanted, 2 * wanted
            failing = failing or self._tails(state, numbers)
            tested = tested if failing else 2 * read
        found = [
            measure_horizon(
                self.runner,
                self.question,
                word,
                longest=self.longest,
                predict=self.predict,
                budget=self.budget,
            )
            for word in failing[:3]
        ]
        return LoopReport(
            alphabet=self.question.alphabet, loops=len(self.loops), tested=tested, horizon=soonest(found)
        )

    def _find_loops(self) -> Iterator[tuple[Word, Word]]:
        """A shortest word to each configuration, and two letters that lead back to it."""
        words: dict[int, Word] = {0: ()}
        queue = [0]
        for number in queue:
            word = words[number]
            yield from ((word, (a, a)) for a in self._read(number) if self.known.after(number, a) == number)
            yield from ((word, pair) for pair in self._pairs(number))
            for a in self._read(number):
                target = self.known.after(number, a)
                if target not in words and len(queue) < MOST_CONFIGURATIONS:
                    words[target] = (*word, a)
                    queue.append(target)

    def _pairs(self, number: int) -> Iterator[Word]:
        for a in self._read(number):
            middle = self.known.after(number, a)
            yield from (
                (a, b) for b in self._read(middle) if a != b and self.known.after(middle, b) == number
            )

    def _read(self, number: int) -> list[int]:
        found: list[int] = np.flatnonzero(self.known.letters(np.array([number]))[0]).tolist()
        return found

    def _start(self) -> tuple[State, Numbers]:
        """The states after the words before the loops, and the configurations there."""
        start = self.runner.start()
        after: dict[Word, tuple[State, int]] = {(): (start, 0)}
        for word, _ in self.loops:
            # Words get longer by one letter at a time, so that the state before the last one is known.
            for end in range(1, len(word) + 1):
                if word[:end] not in after:
                    state, number = after[word[: end - 1]]
                    _, state = self.runner.step(np.array([word[end - 1]]), state)
                    after[word[:end]] = state, self.known.after(number, word[end - 1])
        rows = [to_rows(after[word][0], 1)[0] for word, _ in self.loops]
        numbers = [after[word][1] for word, _ in self.loops]
        return from_rows(np.stack(rows), layout_of(start)), np.array(numbers, dtype=np.int64)

    def _repeat(self, state: State, numbers: Numbers, times: int) -> Work[tuple[State, list[LoopWord]]]:
        """Reads the loops some times more; the loops that fail inside."""
        pairs = np.array([loop for _, loop in self.loops], dtype=np.int64)
        middle = self.known.advance(numbers, pairs[:, 0])
        places = np.stack([middle, numbers], axis=1)
        while times > 0 and self.budget.left():
            now = min(times, max(1, CHUNK // (2 * len(pairs))))
            yield CALL + 2 * now * len(pairs)
            got, state = self.runner.run(np.tile(pairs, now), state, steps=not self.runner.has_forward)
            got = got.reshape(len(pairs), now, 2, -1)
            wrong = self.known.are_wrong(places[:, None], got).any(axis=(1, 2))
            if wrong.any():
                return state, [self._word(i) for i in np.flatnonzero(wrong).tolist()]
            times -= now
        return state, []

    def _tails(self, state: State, numbers: Numbers) -> list[LoopWord]:
        """The loops that fail when one more letter is read after them."""
        failing = []
        for letter in range(self.letters):
            column = np.full(len(numbers), letter, dtype=np.int64)
            got, _ = self.runner.step(column, state)
            wrong = self.known.are_wrong(self.known.advance(numbers, column), got)
            wrong &= self.known.letters(numbers)[:, letter]
            failing += [self._word(i, (letter,)) for i in np.flatnonzero(wrong).tolist()]
        return failing

    def _word(self, i: int, tail: Word = ()) -> LoopWord:
        word, loop = self.loops[i]
        loop = loop[:1] if loop[0] == loop[1] else loop
        return LoopWord(parts=((word, False), (loop, True), *[(tail, False)] * bool(tail)))
