"""Whether the distributions of a back-off model sum to 1, or go beyond it, found without listing them."""

from __future__ import annotations

from dataclasses import dataclass

from nerode.core import InputError
from nerode.languages.ngrams.backoff import BackoffModel, power_of_ten
from nerode.languages.ngrams.next_word import BOS, Context

_ROUNDING = 1e-3
"""Base-10 logarithms up to this pass for rounding: files have a few digits only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalisation:
    """How far the next-word probabilities of a back-off model are from summing to 1.

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
    sums: dict[Context, float] = {(): _own_sum(model, ())}
    for level in model.levels[:-1]:
        for context in level:
            if model.can_occur(context):
                shorter = _known_sum(sums, context[1:])
                taken = _backed_off_sum(model, context)
                weight = power_of_ten(model.log10_backoff(context))
                sums[context] = _own_sum(model, context) + weight * (shorter - taken)
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


def _known_sum(sums: dict[Context, float], context: Context) -> float:
    # A context that is not stored has back-off weight 1 and no n-grams: its sum is that of its end.
    while context not in sums:
        context = context[1:]
    return sums[context]


def _distance(value: float) -> float:
    distance = abs(value - 1.0)
    return distance if distance == distance else float("inf")
