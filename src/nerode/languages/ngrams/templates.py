"""Sentence templates: fixed words and slots with word lists; and the n-gram language of Nandakumar et al.

What the paper leaves open, and how it is settled here:

* Tokens. The templates are typeset with "on his", "because he" and "into the" inside one pair of commas,
  but Table 1 of the paper lists trigrams such as "on his jeans" and "because he didn't", which exist only if
  every word is a token of its own. So it is here: 79 words, d + 1 = 80 outputs, and |P| = 145 as the
  paper says. With the three phrases as single tokens |P| would be 170; with the first template "woke up
  at", as in an example of the paper's section 4.2, it would be 146. Both are available, for the tests.
* Table 1 lists 144 trigrams, not 145: "excited to go" is missing. The other 144 are those found here.
* The end. Eight trigrams close a sentence ("back to sleep", "back to bed", "in his" and one of six
  garments). f has to map them somewhere; the one symbol beside the words is the extra one.
* Short prefixes. P has windows of three words, so the paper's model says nothing about the first three.
  Two start marks (169 contexts) let it predict from the second word on, three (170 contexts) from the
  first. The language needs no such choice: it is the set of 7,980 sentences, and what may follow a short
  prefix is what follows it in a sentence.
* Probabilities. "All choices equally likely" is the conditional distribution under uniformly drawn
  sentences, because slots are filled independently and the templates share no trigram; only the choice of
  the first word differs (a sentence of the second template is 15/4 times as frequent), and there the
  models here follow the sentences.

The order 4 is not needed: the 115 windows of two words already determine the next word (`disagreements`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from nerode.core import Budget, InputError, started
from nerode.languages.alphabet import Alphabet
from nerode.languages.ngrams.language import NgramLanguage
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
        counts = self._count(vocabulary, order, pads, started(budget))
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


SeedTokens = Literal["words", "phrases", "woke-up"]

_TEMPLATES = (
    "A woke at B o'clock and was too C to go back to D",
    "He E up and F on his G because he didn't want to H into the I in his J",
)
_LISTS = {
    "A": "Harry Ron Sirius Hagrid Fred George Neville Draco Albus Snape",
    "B": "one two three four five six seven eight nine ten eleven twelve",
    "C": "excited angry elated agitated nervous troubled upset",
    "D": "sleep bed",
    "E": "got stood rose",
    "F": "put pulled",
    "G": "jeans trousers pants denims slacks",
    "H": "walk run jog stroll sprint saunter amble",
    "I": "station platform house building apartment",
    "J": "robes pyjamas shorts underpants boxers trunks",
}
_PHRASES = ("on his", "because he", "into the")

SEED_CONVENTION = (
    "the 7,980 sentences of two templates, words as symbols: 14 words beginning with one of ten names, "
    "or 20 words beginning with He"
)


def seed_templates(tokens: SeedTokens = "words") -> TemplateGrammar:
    """Returns the two templates of the paper.

    Args:
        tokens: "words" for one token a word (|P| = 145); "phrases" with "on his", "because he" and "into the"
            as the tokens on_his, because_he and into_the (|P| = 170); "woke-up" for the first
            template with "woke up at" (|P| = 146).
    """
    first, second = _TEMPLATES
    if tokens == "phrases":
        for phrase in _PHRASES:
            second = second.replace(phrase, phrase.replace(" ", "_"))
    elif tokens == "woke-up":
        first = first.replace("woke at", "woke up at")
    lists = {name: words.split() for name, words in _LISTS.items()}
    return TemplateGrammar(templates=(Template.parse(first, lists), Template.parse(second, lists)))


def seed_ngram_model(*, order: int = 4, pads: int = 0) -> NgramModel:
    """Returns the n-gram model of the paper's language.

    Args:
        order: n; the paper has 4.
        pads: start marks before a sentence; the paper has none.
    """
    return seed_templates().model(order, pads=pads, weighting="sentences")


def seed_ngram_language() -> NgramLanguage:
    """Returns the language `ngram-seed`: the 7,980 sentences, drawn uniformly by its model."""
    return NgramLanguage(name="ngram-seed", model=seed_ngram_model(pads=3), convention=SEED_CONVENTION)
