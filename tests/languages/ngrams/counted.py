"""Exact n-gram models with the relative frequencies of some sentences, as sources of models for tests."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction

from nerode.languages import Alphabet
from nerode.languages.ngrams import BOS, NgramModel


def model_from_sentences(
    sentences: Iterable[Sequence[str]], order: int, *, pads: int | None = None
) -> NgramModel:
    """Returns the model of sentences with so many start marks before each, n-1 unless a number is given."""
    texts = [tuple(sentence) for sentence in sentences]
    vocabulary = Alphabet.of(word for text in texts for word in text)
    pads = order - 1 if pads is None else pads
    counts: defaultdict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for text in texts:
        read = (*[BOS] * pads, *map(vocabulary.symbols.index, text), len(vocabulary))
        for place in range(order - 1, len(read)):
            counts[read[place - order + 1 : place]][read[place]] += 1
    table = {
        context: {word: Fraction(count, found.total()) for word, count in found.items()}
        for context, found in counts.items()
    }
    return NgramModel.from_table(order=order, vocabulary=vocabulary, table=table, pads=pads)
