"""Sentence templates: fixed words and slots with word lists."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from nerode.core import Budget, InputError
from nerode.languages.alphabet import Alphabet
from nerode.languages.ngrams.model import NgramModel, equally_likely
from nerode.languages.ngrams.next_word import BOS, Context, slide

Filler = tuple[str, ...]
Weighting = Literal["equal", "sentences"]
Counts = dict[Context, dict[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A sequence of slots; each is filled with one of its fillers, independently of the others.

    Attributes:
        slots: for each slot its fillers; a filler is one word or several.
    """

    slots: tuple[tuple[Filler, ...], ...]

    def __post_init__(self) -> None:
        if not self.slots:
            raise InputError("a template needs at least one slot or word")
        for number, fillers in enumerate(self.slots, start=1):
            if not fillers or not all(fillers):
                raise InputError(
                    f"slot {number} of the template has no filler, or an empty one; give at least a word"
                )
            if len(set(fillers)) < len(fillers):
                raise InputError(f"slot {number} of the template lists a filler twice; list it once")

    @classmethod
    def parse(cls, text: str, lists: Mapping[str, Iterable[str]]) -> Template:
        """Returns the template written as words and slot names with spaces between them.

        Args:
            text: "A woke at B"; what is a key of `lists` is a slot, anything else is a word.
            lists: the fillers of each slot; a filler with spaces is several words.
        """
        fillers = {name: tuple(tuple(filler.split()) for filler in words) for name, words in lists.items()}
        return cls(slots=tuple(fillers.get(part, ((part,),)) for part in text.split()))

    @property
    def num_sentences(self) -> int:
        """Number of ways to fill the slots."""
        return math.prod(len(fillers) for fillers in self.slots)

    def sentences(self) -> Iterator[tuple[str, ...]]:
        """Yields the sentences, one for each way to fill the slots."""
        for filling in itertools.product(*self.slots):
            yield tuple(itertools.chain.from_iterable(filling))


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateGrammar:
    """The sentences of several templates."""

    templates: tuple[Template, ...]

    def __post_init__(self) -> None:
        if not self.templates:
            raise InputError("a grammar needs at least one template")

    @property
    def vocabulary(self) -> Alphabet:
        """The words of all templates, sorted."""
        return Alphabet.of(
            word
            for template in self.templates
            for slot in template.slots
            for filler in slot
            for word in filler
        )

    @property
    def num_sentences(self) -> int:
        """Number of ways to choose a template and fill it."""
        return sum(template.num_sentences for template in self.templates)

    def sentences(self) -> Iterator[tuple[str, ...]]:
        """Yields the sentences, template by template."""
        for template in self.templates:
            yield from template.sentences()

    def model(
        self, order: int, *, pads: int = 0, weighting: Weighting = "equal", budget: Budget | None = None
    ) -> NgramModel:
        """Returns the n-gram model of the sentences, without listing them.

        Args:
            order: n.
            pads: how many start marks stand before a sentence.
            weighting: "equal" makes all words (or the end) that follow a window somewhere equally likely;
                "sentences" gives each the share of its occurrences when every filling of every
                template is equally likely. The two agree when slots are independent given the window.
            budget: bounds the number of windows.
        """
        if order < 1 or not 0 <= pads < order:
            raise InputError(
                f"order {order} with {pads} start marks; give n of at least 1 and 0…n-1 start marks"
            )
        if weighting not in ("equal", "sentences"):
            raise InputError(f"unknown weighting {weighting!r}; give 'equal' or 'sentences'")
        vocabulary = self.vocabulary
        counts = self._count(vocabulary, order, pads, budget or Budget())
        table: dict[Context, dict[int, Fraction]] = {}
        for context, following in counts.items():
            if weighting == "equal":
                table[context] = equally_likely(following)
            else:
                total = sum(following.values())
                table[context] = {word: Fraction(count, total) for word, count in following.items()}
        return NgramModel.from_table(order=order, vocabulary=vocabulary, table=table, pads=pads)

    def _count(self, vocabulary: Alphabet, order: int, pads: int, budget: Budget) -> Counts:
        """Counts, over all fillings, how often each word follows each window."""
        numbers = {word: i for i, word in enumerate(vocabulary)}
        counts: Counts = {}
        for template in self.templates:
            ways: dict[Context, int] = {(BOS,) * pads: 1}
            rest = template.num_sentences
            for fillers in template.slots:
                rest //= len(fillers)
                after: dict[Context, int] = {}
                for window, count in ways.items():
                    for filler in fillers:
                        last = window
                        for word in filler:
                            _add(counts, last, numbers[word], count * rest, order)
                            last = slide(last, numbers[word], order - 1)
                        after[last] = after.get(last, 0) + count
                    budget.check("elements", len(counts) + len(after), windows=len(counts))
                ways = after
            for window, count in ways.items():
                _add(counts, window, len(vocabulary), count, order)
        return counts


def _add(counts: Counts, window: Context, word: int, count: int, order: int) -> None:
    # A window shorter than n-1 is a sentence beginning that the model leaves undefined.
    if len(window) == order - 1:
        following = counts.setdefault(window, {})
        following[word] = following.get(word, 0) + count
