"""How sentences begin, for models that do not say it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from nerode.core import InputError
from nerode.languages.ngrams.model import NgramModel
from nerode.languages.ngrams.next_word import BOS, Context


def with_starts(model: NgramModel, starts: Mapping[Context, Fraction] | None = None) -> NgramModel:
    """Returns the model with n-1 start marks, in which sentences begin with these contexts.

    The first words of a model with fewer start marks are not predicted by it. Here the first full context
    of a sentence is drawn from `starts`, and the contexts with more start marks get the conditional
    probabilities of that draw. Sentences too short to fill a first context do not occur.

    Args:
        model: any exact model; one that already has n-1 start marks comes back as it is.
        starts: the first contexts (with exactly `model.pads` start marks) and their probabilities;
            None for every such context of the model, all equally likely.
    """
    if model.num_given == 0:
        return model
    if starts is None:
        first = [context for context in model.contexts if context.count(BOS) == model.pads]
        starts = {context: Fraction(1, len(first)) for context in first}
    _check(model, starts)
    table = {context: dict(distribution) for context, distribution in model.rows}
    mass: dict[Context, dict[int, Fraction]] = {}
    for context, probability in starts.items():
        words = context[model.pads :]
        for given, word in enumerate(words):
            before = (BOS,) * (model.order - 1 - given) + words[:given]
            following = mass.setdefault(before, {})
            following[word] = following.get(word, Fraction(0)) + probability
    for before, following in mass.items():
        total = sum(following.values(), Fraction(0))
        if total:
            table[before] = {word: p / total for word, p in following.items()}
    return NgramModel.from_table(
        order=model.order,
        vocabulary=model.vocabulary,
        table=table,
        pads=model.order - 1,
        unseen=None if model.unseen is None else dict(model.unseen),
    )


def _check(model: NgramModel, starts: Mapping[Context, Fraction]) -> None:
    for context, probability in starts.items():
        if len(context) != model.order - 1 or context[: model.pads] != model.initial():
            raise InputError(
                f"a sentence cannot start with the context {context}; give {model.order - 1} entries, "
                f"the first {model.pads} of them start marks"
            )
        if any(not 0 <= word < model.end for word in context[model.pads :]):
            raise InputError(f"the first context {context} has a word outside 0…{model.end - 1}")
        if probability < 0:
            raise InputError(
                f"the first context {model.show(context)!r} has the negative probability {probability}"
            )
    total = sum(starts.values(), Fraction(0))
    if total != 1:
        raise InputError(f"the probabilities of the first contexts sum to {total}, not to 1")
