"""The exact n-gram model: next-word distributions in fractions, from a table.

`with_starts` adds how sentences begin to a model that does not say it.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from nerode.core import InputError
from nerode.languages.alphabet import Alphabet, WordLike
from nerode.languages.ngrams.next_word import BOS, BOS_NAME, Context, NextWordModel, log_fraction, slide

Distribution = tuple[tuple[int, Fraction], ...]
"""Words (or the end) in increasing order, each with its positive probability; they sum to 1."""


@dataclass(frozen=True, kw_only=True)
class NgramModel(NextWordModel):
    """An n-gram language model (P, f) with exact probabilities.

    The paper has one extra symbol beside the d words, "unknown". A sentence has to end somewhere, and
    nothing else in the definition can say so, so here the extra symbol (number d, `end`) is the end of the
    sentence: f maps a window that closes a sentence to it, and a window outside P, as the definition
    asks, gives it with probability 1.

    The definition says nothing about prefixes with fewer than n-1 words: with `pads` = 0 their next word
    is undefined and asking for it is an error. A model with `pads` start marks before each sentence
    also covers them: n-2 pads predict from the second word on, n-1 pads whole sentences.

    Implements: [Nandakumar2024, Definition 3.4], reading "the last n-1 words" for its shifted indices.

    Attributes:
        order: n, at least 1.
        vocabulary: the d words.
        rows: each context of n-1 words with its distribution, contexts in increasing order.
        pads: how many start marks stand before a sentence, 0 … n-1.
        unseen: the distribution after contexts without a row; None stands for the end with probability 1.
    """

    order: int
    vocabulary: Alphabet
    rows: tuple[tuple[Context, Distribution], ...]
    pads: int = 0
    unseen: Distribution | None = None

    def __post_init__(self) -> None:
        if self.order < 1:
            raise InputError(f"an n-gram model of order {self.order} does not exist; give n of at least 1")
        if not 0 <= self.pads < self.order:
            raise InputError(
                f"{self.pads} start marks do not fit order {self.order}; give 0…{self.order - 1}"
            )
        if BOS_NAME in self.vocabulary:
            raise InputError(f"the word {BOS_NAME!r} stands for the start of a sentence; rename it")
        before: Context | None = None
        for context, distribution in self.rows:
            self._check_context(context)
            if before is not None and not before < context:
                raise InputError(
                    f"the context {self.show(context)!r} is repeated or out of order; sort the contexts"
                )
            self._check_distribution(distribution, f"after {self.show(context)!r}")
            before = context
        if self.unseen is not None:
            self._check_distribution(self.unseen, "after unseen contexts")

    def _check_context(self, context: Context) -> None:
        if len(context) != self.order - 1:
            raise InputError(
                f"the context {context} has {len(context)} words; order {self.order} needs {self.order - 1}"
            )
        if context and not (min(context) >= BOS and max(context) < self.end):
            raise InputError(f"the context {context} has a word outside 0…{self.end - 1}")
        marks = context.count(BOS)
        if marks > self.pads or any(word != BOS for word in context[:marks]):
            raise InputError(
                f"the context {self.show(context)!r} has start marks that are not at its beginning, "
                f"or more than the {self.pads} of the model"
            )

    def _check_distribution(self, distribution: Distribution, where: str) -> None:
        words = [word for word, _ in distribution]
        if any(a >= b for a, b in itertools.pairwise(words)):
            raise InputError(f"the next words {where} are repeated or out of order; sort them")
        if words and not (words[0] >= 0 and words[-1] <= self.end):
            raise InputError(f"a next word {where} is outside 0…{self.end}")
        values = [p for _, p in distribution]
        if any(not isinstance(p, Fraction) or p <= 0 for p in values):
            raise InputError(
                f"a probability {where} is not a positive Fraction; leave out the words with none"
            )
        denominator = math.lcm(*(p.denominator for p in values))
        if sum(p.numerator * (denominator // p.denominator) for p in values) != denominator:
            raise InputError(
                f"the probabilities {where} sum to {sum(values)}, not to 1; "
                "write them as fractions (1/3, not 0.333) so that they sum exactly"
            )

    @classmethod
    def from_table(
        cls,
        *,
        order: int,
        vocabulary: Alphabet,
        table: Mapping[Context, Mapping[int, Fraction]],
        pads: int = 0,
        unseen: Mapping[int, Fraction] | None = None,
    ) -> NgramModel:
        """Returns the model of a table in any order; words of probability 0 are left out."""
        rows = tuple((context, _sparse(table[context])) for context in sorted(table))
        rest = None if unseen is None else _sparse(unseen)
        return cls(order=order, vocabulary=vocabulary, rows=rows, pads=pads, unseen=rest)

    @functools.cached_property
    def _table(self) -> Mapping[Context, Mapping[int, Fraction]]:
        return {context: MappingProxyType(dict(distribution)) for context, distribution in self.rows}

    @functools.cached_property
    def _rest(self) -> Mapping[int, Fraction]:
        return MappingProxyType(dict(self.unseen) if self.unseen is not None else {self.end: Fraction(1)})

    @property
    def contexts(self) -> tuple[Context, ...]:
        """The contexts in increasing order (start marks first)."""
        return tuple(context for context, _ in self.rows)

    @property
    def num_contexts(self) -> int:
        """Number of contexts, those with start marks included."""
        return len(self.rows)

    @property
    def num_windows(self) -> int:
        """Number of contexts without start marks: the |P| of the definition."""
        return sum(BOS not in context for context, _ in self.rows)

    @property
    def num_given(self) -> int:
        """The number of first words that have to be given: n-1 less the start marks."""
        return self.order - 1 - self.pads

    @property
    def unknown(self) -> None:
        """None: a word outside the vocabulary is refused."""
        return

    def initial(self) -> Context:
        """The start marks."""
        return (BOS,) * self.pads

    def follow(self, context: Context, word: int) -> Context:
        """The last n-1 words."""
        return slide(context, word, self.order - 1)

    def encode_context(self, context: Sequence[int | str]) -> Context:
        """Returns a context given by words or by numbers as numbers; "<s>" is the start mark.

        Raises:
            InputError: if it does not have n-1 words or has an unknown one.
        """
        numbers = []
        for word in context:
            if isinstance(word, str):
                numbers.append(BOS if word == BOS_NAME else self.encode([word])[0])
            else:
                numbers.append(int(word))
        if len(numbers) != self.order - 1:
            raise InputError(
                f"the context has {len(numbers)} entries, but a model of order {self.order} with {self.pads} "
                f"start marks says what follows {self.order - 1}, start marks counted; "
                f"give at least {self.num_given} words, or build the model with more start marks"
            )
        return tuple(numbers)

    def distribution(self, context: Sequence[int | str]) -> Mapping[int, Fraction]:
        """Returns the probability of each possible next word (or `end`) after n-1 words.

        Raises:
            InputError: if the context does not have n-1 words.
        """
        return self._table.get(self.encode_context(context), self._rest)

    def vector(self, context: Sequence[int | str]) -> tuple[Fraction, ...]:
        """Returns the distribution as a point of the simplex: d+1 entries, the end last."""
        distribution = self.distribution(context)
        return tuple(distribution.get(word, Fraction(0)) for word in range(self.end + 1))

    def log_next(self, context: Context, word: int) -> float:
        """Returns the natural logarithm of the probability of a word (or `end`) after a context."""
        return log_fraction(self.distribution(context).get(word, Fraction(0)))

    def probability(self, sentence: WordLike) -> Fraction:
        """Returns the exact probability of a sentence and its end, given its first `num_given` words."""
        numerator = denominator = 1
        for context, word in self.predictions(sentence):
            p = self.distribution(context).get(word)
            if p is None:
                return Fraction(0)
            numerator *= p.numerator
            denominator *= p.denominator
        return Fraction(numerator, denominator)

    def disagreements(self, shorter: NgramModel) -> tuple[Context, ...]:
        """Returns the contexts whose distribution a model of lower order gets wrong.

        Both models must number the same words. An empty answer says that the lower order is enough.
        """
        if shorter.vocabulary != self.vocabulary or shorter.order > self.order:
            raise InputError(
                "two models can be compared if they have one vocabulary and the second the lower order"
            )
        cut = self.order - shorter.order
        return tuple(
            context
            for context, _ in self.rows
            if self.distribution(context) != shorter.distribution(context[cut:])
        )


def _sparse(distribution: Mapping[int, Fraction]) -> Distribution:
    return tuple(
        (word, Fraction(distribution[word])) for word in sorted(distribution) if distribution[word] != 0
    )


def equally_likely(words: Iterable[int]) -> dict[int, Fraction]:
    """Returns the uniform distribution over some words."""
    distinct = sorted(set(words))
    return {word: Fraction(1, len(distinct)) for word in distinct}


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


MAX_BYTES = 2**30
"""Largest corpus that is read."""
