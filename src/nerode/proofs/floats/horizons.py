"""How long a word may get before a module fails: predicted by a formula, and measured by running it.

fading      a state that shrinks by the factor g at each repetition passes the threshold of its reader after
            ln(start / threshold) / -ln(g) repetitions
counting    a float with p bits counts exactly to 2**p; one more and the count stands still

Neither is a proof; the lengths that a search of all states covers are (see `closure`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from nerode.core import Budget, BudgetExceeded, InputError
from nerode.languages import Language
from nerode.proofs.certificate import DTYPES
from nerode.proofs.floats.loop_words import FirstError, LoopWord, read_word
from nerode.proofs.floats.prediction import predict_repetitions
from nerode.proofs.floats.runner import Runner

FEW = 2_000
"""Letters that are read step by step; longer words go through `forward` where the module has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Horizon:
    """Until when a module is right on the words of one loop.

    Attributes:
        word: the words.
        predicted: the least number of repetitions on which it should fail; None if it should never.
        repetitions: the least number of repetitions on which it was seen to fail; None if it never did.
        error: where it is wrong there.
        tested: the largest number of repetitions on which it was right.
        steps: whether it was read step by step; otherwise by `forward`, in chunks.
    """

    word: LoopWord
    predicted: int | None
    repetitions: int | None
    error: FirstError | None
    tested: int
    steps: bool


def hold_horizon(*, gate: float, start: float, threshold: float) -> int:
    """Returns how many repetitions bring a fading value down to a threshold or below.

    Args:
        gate: what each repetition multiplies it with, between 0 and 1.
        start: the value before.
        threshold: the smallest magnitude that is still read rightly.
    """
    if not 0 < gate < 1 or threshold <= 0:
        raise InputError(f"gate {gate} and threshold {threshold} do not describe a fading value")
    if abs(start) <= threshold:
        return 0
    return math.ceil(math.log(abs(start) / threshold) / -math.log(gate))


def count_horizon(dtype: str) -> int:
    """Returns the number up to which a dtype counts by ones without an error."""
    return 1 << int(DTYPES[dtype].bits)


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
    """Returns until when a module is right on the words of one loop.

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
    budget = budget or Budget()
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
        self.error: FirstError | None = None
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
