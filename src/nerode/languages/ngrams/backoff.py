"""Back-off models, as ARPA files hold them: exact decimal logarithms, and whether they sum to 1.

The normalisation is decided without listing the words of every context.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

from nerode.core import InputError
from nerode.languages.alphabet import Alphabet
from nerode.languages.ngrams.next_word import BOS, BOS_NAME, Context, NextWordModel, slide

Entry = tuple[Decimal, Decimal]
"""The base-10 logarithms of a probability and of a back-off weight (0 where the file gives none)."""

LOG_ZERO = Decimal(-99)
"""The logarithm that stands for probability zero, as the format's writers mean it; none is below it."""

LARGEST_BACKOFF = Decimal(99)

END_NAME = "</s>"
"""How the end of a sentence is written in ARPA files."""


@dataclass(frozen=True, kw_only=True)
class BackoffModel(NextWordModel):
    """A back-off n-gram model.

    The probability of w after the context h is the stored one if the n-gram h w is there; otherwise it is
    the back-off weight of h (1 if h is not stored) times the probability of w after h without its
    first word. A sentence begins after one start mark, and contexts are as long as the sentence allows.

    `check_normalisation` says how far the sums over the next word are from 1. A model that is `normalised`
    has every probability divided by the sum after its context; otherwise nothing is changed.

    Implements: [Katz1987]

    Attributes:
        order: the length of the longest n-grams.
        vocabulary: the words in the order of the file, the unknown word included.
        levels: `levels[k-1]` maps each k-gram to its entry; the start mark is -1, the end len(vocabulary).
        unknown_name: the word of the vocabulary that stands for all words outside it, or None.
        normalised: whether probabilities are divided by their sum.
    """

    order: int
    vocabulary: Alphabet
    levels: tuple[Mapping[Context, Entry], ...] = field(hash=False)
    unknown_name: str | None = None
    normalised: bool = False

    def __post_init__(self) -> None:
        if self.order < 1 or len(self.levels) != self.order:
            raise InputError(
                f"a back-off model of order {self.order} needs as many levels, not {len(self.levels)}"
            )
        for reserved in (BOS_NAME, END_NAME):
            if reserved in self.vocabulary:
                raise InputError(
                    f"the word {reserved!r} is reserved for the start or end of a sentence; rename it"
                )
        if self.unknown_name is not None and self.unknown_name not in self.vocabulary:
            raise InputError(f"the unknown word {self.unknown_name!r} is not in the vocabulary; add it")
        levels = tuple(MappingProxyType(dict(level)) for level in self.levels)
        for length, level in enumerate(levels, start=1):
            for ngram, entry in level.items():
                problem = self._problem(ngram, length) or entry_problem(ngram, entry, levels)
                if problem:
                    raise InputError(problem)
        missing = {(word,) for word in range(self.end + 1)} - levels[0].keys()
        if missing:
            raise InputError(
                f"the word {self.show(min(missing))!r} has no 1-gram; give every word and the end one"
            )
        object.__setattr__(self, "levels", levels)

    def _problem(self, ngram: Context, length: int) -> str:
        if len(ngram) != length:
            return f"the n-gram {ngram} stands at level {length}; put it where its length says"
        if min(ngram) < BOS or max(ngram) > self.end:
            return f"the n-gram {ngram} has a word outside {BOS}…{self.end}"
        return ""

    @property
    def unknown(self) -> int | None:
        """The number of the unknown word, if the model has one."""
        return None if self.unknown_name is None else self._numbers[self.unknown_name]

    @functools.cached_property
    def _following(self) -> Mapping[Context, Mapping[int, float]]:
        """For each context the words with an n-gram of their own, and their base-10 logarithms."""
        following: dict[Context, dict[int, float]] = {}
        for level in self.levels:
            for ngram, (log10, _) in level.items():
                following.setdefault(ngram[:-1], {})[ngram[-1]] = _as_float(log10)
        return following

    @functools.cached_property
    def is_total(self) -> bool:
        """Whether every word and the end are possible after every prefix: no logarithm is that of zero."""
        return not any(
            (log10 == LOG_ZERO and ngram[-1] != BOS) or backoff == LOG_ZERO
            for level in self.levels
            for ngram, (log10, backoff) in level.items()
        )

    @functools.cached_property
    def _sums(self) -> Mapping[Context, float]:
        """For each context the sum over the next word, as the logarithms have it."""
        sums: dict[Context, float] = {(): _own_sum(self, ())}
        for level in self.levels[:-1]:
            for context in level:
                if self.can_occur(context):
                    shorter = _nearest(sums, context[1:])
                    weight = power_of_ten(self.log10_backoff(context))
                    left = sums[shorter] - _backed_off_sum(self, context)
                    sums[context] = _own_sum(self, context) + weight * left
        return sums

    def can_occur(self, context: Context) -> bool:
        """Whether a sentence can have this context: no end in it, a start mark at most in front.

        Some writers count across sentences and store n-grams such as `</s> <s>`; they are kept, unused.
        """
        return self.end not in context and BOS not in context[1:]

    @property
    def contexts(self) -> tuple[Context, ...]:
        """The contexts that have n-grams of their own, shorter ones first; the empty one included."""
        usable = [context for context in self._following if self.can_occur(context)]
        return tuple(sorted(usable, key=lambda context: (len(context), context)))

    @property
    def num_contexts(self) -> int:
        """Number of contexts that have n-grams of their own."""
        return len(self.contexts)

    @property
    def num_windows(self) -> int:
        """Number of those contexts without a start mark."""
        return sum(BOS not in context for context in self.contexts)

    def own_words(self, context: Context) -> Mapping[int, float]:
        """Returns the words that have an n-gram after exactly this context, with their base-10 logarithms."""
        return self._following.get(context, {})

    @property
    def num_given(self) -> int:
        """Always 0: sentences are predicted from their first word."""
        return 0

    @property
    def num_ngrams(self) -> tuple[int, ...]:
        """Number of n-grams of each length, from 1 on."""
        return tuple(len(level) for level in self.levels)

    def initial(self) -> Context:
        """The start mark, or nothing where the model does not know it."""
        return self._known((BOS,))

    def follow(self, context: Context, word: int) -> Context:
        """The longest end of the words so far that the model has stored."""
        return self._known(slide(context, word, self.order - 1))

    def _known(self, context: Context) -> Context:
        # Contexts are closed under prefixes, so what is dropped here cannot matter later either.
        context = context[max(0, len(context) - self.order + 1) :]
        while context and context not in self.levels[len(context) - 1]:
            context = context[1:]
        return context

    def log10_next(self, context: Context, word: int) -> float:
        """Returns the base-10 logarithm of the probability of a word (or `end`), before it is normalised."""
        if not 0 <= word <= self.end:
            raise InputError(f"the word {word} is outside 0…{self.end}")
        total = 0.0
        context = context[max(0, len(context) - self.order + 1) :]
        while True:
            entry = self.levels[len(context)].get((*context, word))
            if entry is not None:
                return total + _as_float(entry[0])
            total += self.log10_backoff(context)
            context = context[1:]

    def log10_backoff(self, context: Context) -> float:
        """Returns the base-10 logarithm of the back-off weight of a context; 0 if it is not stored."""
        entry = self.levels[len(context) - 1].get(context)
        return 0.0 if entry is None else _as_float(entry[1])

    def exact_log10(self, context: Context, word: int) -> Fraction:
        """Returns the logarithm of `log10_next` without rounding; probability zero has -99."""
        total = Fraction(0)
        while (entry := self.levels[len(context)].get((*context, word))) is None:
            total += self.exact_backoff(context)
            context = context[1:]
        return total + Fraction(entry[0])

    def exact_backoff(self, context: Context) -> Fraction:
        """Returns the base-10 logarithm of the back-off weight of a context; 0 if it is not stored."""
        entry = self.levels[len(context) - 1].get(context)
        return Fraction(0) if entry is None else Fraction(entry[1])

    def log_next(self, context: Context, word: int) -> float:
        """Returns the natural logarithm of the probability of a word (or `end`) after a context."""
        log = self.log10_next(context, word) * math.log(10.0)
        return log - math.log(self._total(context)) if self.normalised else log

    def _total(self, context: Context) -> float:
        """The sum after a context, as a divisor."""
        total = self._sums[_nearest(self._sums, context)]
        if not 0.0 < total < math.inf:
            where = repr(self.show(context)) if context else "the empty context"
            raise InputError(f"the probabilities after {where} sum to {total}, which cannot be made 1")
        return total

    def distribution(self, context: Sequence[int | str]) -> Mapping[int, float]:
        """Returns the probability of each possible next word (or `end`) after a context.

        Words of probability 0 are left out. Unless the model is normalised, the sum is 1 only as far as the
        file makes it so.
        """
        numbers = tuple(
            (BOS if word == BOS_NAME else self.encode([word])[0]) if isinstance(word, str) else int(word)
            for word in context
        )
        known = self._known(numbers)
        found: dict[int, float] = {}
        for length in range(len(known) + 1):
            part = known[len(known) - length :]
            weight = self.log10_backoff(part) if part else 0.0
            found = {word: weight + log10 for word, log10 in found.items()}
            found.update(self.own_words(part))
        found.pop(BOS, None)
        total = self._total(known) if self.normalised else 1.0
        probabilities = {word: power_of_ten(log10) / total for word, log10 in sorted(found.items())}
        return {word: p for word, p in probabilities.items() if p > 0.0}


def entry_problem(ngram: Context, entry: Entry, levels: Sequence[Mapping[Context, Entry]]) -> str:
    """Returns what is wrong with an n-gram and its entry, or nothing; shorter n-grams must be in `levels`."""
    log10, backoff = entry
    if not (log10.is_finite() and LOG_ZERO <= log10 <= 0):
        return f"the log-probability {log10} is not a number from {LOG_ZERO} (probability zero) to 0"
    if not (backoff.is_finite() and LOG_ZERO <= backoff <= LARGEST_BACKOFF):
        return f"the back-off weight {backoff} is not a number from {LOG_ZERO} (zero) to {LARGEST_BACKOFF}"
    if len(ngram) == len(levels) and backoff != 0.0:
        return f"the back-off weight {backoff} stands at the highest order, where nothing can back off"
    if len(ngram) > 1 and ngram[:-1] not in levels[len(ngram) - 2]:
        shorter = len(ngram) - 1
        return f"the first {shorter} words of this {len(ngram)}-gram are no {shorter}-gram of the model"
    return ""


def power_of_ten(log10: float) -> float:
    """Returns 10 to a power; infinity where no float is large enough."""
    return 10.0**log10 if log10 < 308.0 else math.inf


def _as_float(log10: Decimal) -> float:
    return float(log10) if log10 > LOG_ZERO else -math.inf


_ROUNDING = 1e-3
"""Base-10 logarithms up to this pass for rounding: files have a few digits only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalisation:
    """The distance of a back-off model from next-word probabilities that sum to 1.

    Attributes:
        num_contexts: how many contexts were summed.
        num_off: how many of the sums differ from 1 by more than `tolerance`.
        tolerance: the difference that passes for rounding.
        worst: the context whose sum is farthest from 1.
        worst_sum: its sum.
    """

    num_contexts: int
    num_off: int
    tolerance: float
    worst: Context
    worst_sum: float

    @property
    def ok(self) -> bool:
        """Whether every sum is within the tolerance."""
        return self.num_off == 0

    def describe(self, model: BackoffModel) -> str:
        """The finding in one sentence."""
        where = repr(model.show(self.worst)) if self.worst else "the empty context"
        return (
            f"{self.num_contexts - self.num_off} of {self.num_contexts} distributions sum to 1 within "
            f"{self.tolerance:g}; the farthest is {self.worst_sum:.6g} after {where}"
        )


def check_normalisation(model: BackoffModel, *, tolerance: float = 1e-3) -> Normalisation:
    """Returns how far the sums over the next word are from 1, over all stored contexts.

    The sum after h is that of its own n-grams, plus its back-off weight times what the shorter context
    leaves to the other words. This takes time linear in the number of n-grams, not contexts times words.
    Files round logarithms to a few digits, hence the default tolerance.
    """
    if not tolerance >= 0:
        raise InputError(f"the tolerance {tolerance} is negative; give a number from 0 on")
    sums = model._sums
    off = [context for context, value in sums.items() if not abs(value - 1.0) <= tolerance]
    worst = max(sums, key=lambda context: _distance(sums[context]))
    return Normalisation(
        num_contexts=len(sums), num_off=len(off), tolerance=tolerance, worst=worst, worst_sum=sums[worst]
    )


def find_impossible(model: BackoffModel) -> tuple[Context, int, float] | None:
    """Returns a context after which backing off gives a word a probability above 1, the word and it.

    Leaving words out of a context may lose certainty, it cannot create any. Sums a little above 1 are common
    in pruned models; a single probability above 1 is a mistake in the file.
    """
    best: dict[Context, float] = {(): max(model.own_words(()).values())}
    for level in model.levels[:-1]:
        for context in level:
            if model.can_occur(context):
                weight = model.log10_backoff(context)
                shorter = context[1:]
                while shorter not in best:
                    shorter = shorter[1:]
                backed_off = weight + best[shorter]
                best[context] = max([backed_off, *model.own_words(context).values()])
                # The bound may come from a word that does not back off here; then all are looked at.
                if weight > 0.0 and backed_off > _ROUNDING:
                    worst = _worst_word(model, context)
                    if worst is not None:
                        return context, *worst
    return None


def _worst_word(model: BackoffModel, context: Context) -> tuple[int, float] | None:
    probabilities = model.distribution(context)
    word = max(probabilities, key=probabilities.__getitem__)
    return (word, probabilities[word]) if probabilities[word] > power_of_ten(_ROUNDING) else None


def _own_sum(model: BackoffModel, context: Context) -> float:
    own = model.own_words(context)
    return sum(power_of_ten(log10) for word, log10 in own.items() if word != BOS)


def _backed_off_sum(model: BackoffModel, context: Context) -> float:
    """Sums what the shorter context gives to the words that have an n-gram of their own."""
    shorter = context[1:]
    return sum(
        power_of_ten(model.log10_next(shorter, word)) for word in model.own_words(context) if word != BOS
    )


def _nearest(sums: Mapping[Context, float], context: Context) -> Context:
    """The longest end of a context that is stored; without entries of its own it has the same sum."""
    while context not in sums:
        context = context[1:]
    return context


def _distance(value: float) -> float:
    distance = abs(value - 1.0)
    return distance if distance == distance else float("inf")
