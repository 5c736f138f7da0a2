"""N-gram models counted from text: one sentence per line, words separated by white space."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path

from nerode.core import Budget, FormatError, InputError, read_text
from nerode.languages.alphabet import END, Alphabet
from nerode.languages.ngrams.model import NgramModel
from nerode.languages.ngrams.next_word import BOS, BOS_NAME, Context, slide

MAX_BYTES = 2**30
"""Largest corpus that is read."""

_RESERVED = (END, BOS_NAME, "</s>")


def read_corpus(path: Path | str) -> list[tuple[str, ...]]:
    """Returns the sentences of a text file; blank lines are skipped.

    Raises:
        FormatError: with the line, if a word is `$`, `<s>` or `</s>`: ends and starts are added by the model.
    """
    sentences = []
    for number, line in enumerate(read_text(Path(path), max_bytes=MAX_BYTES).split("\n"), start=1):
        words = tuple(line.split())
        for reserved in _RESERVED:
            if reserved in words:
                raise FormatError(
                    f"the word {reserved!r} is reserved for the start or the end of a sentence",
                    path=path,
                    line=number,
                    hint="Remove it: starts and ends are counted without marks in the text",
                )
        if words:
            sentences.append(words)
    if not sentences:
        raise FormatError("there is no sentence", path=path, hint="Write one sentence a line")
    return sentences


def model_from_sentences(
    sentences: Iterable[Sequence[str]],
    order: int,
    *,
    pads: int | None = None,
    ends: bool = True,
    add_k: Fraction | int = 0,
    budget: Budget | None = None,
) -> NgramModel:
    """Returns the n-gram model with the relative frequencies of some sentences.

    Args:
        sentences: each a sequence of words.
        order: n.
        pads: start marks before each sentence, 0 … n-1; None for n-1, which makes the model predict
            whole sentences.
        ends: whether the end of a sentence counts as a word that follows; if not, only windows that nothing
            ever follows lead to the end.
        add_k: added to every count before dividing. Above 0 every word follows every context, and
            contexts that never occurred give the uniform distribution instead of the end.
        budget: bounds the number of probabilities in the table (`elements`).
    """
    pads = order - 1 if pads is None else pads
    added = Fraction(add_k)
    if order < 1 or not 0 <= pads < order:
        raise InputError(f"order {order} with {pads} start marks; give n of at least 1 and 0…n-1 start marks")
    if added < 0:
        raise InputError(f"add_k is {added}; give 0 for plain frequencies or a positive number")
    budget = budget or Budget()
    texts = [tuple(sentence) for sentence in sentences]
    if not texts:
        raise InputError("a model needs at least one sentence")
    vocabulary = Alphabet.of(word for text in texts for word in text)
    counts = _count(texts, vocabulary, order, pads, ends)
    outcomes = range(len(vocabulary) + (1 if ends else 0))
    size = len(counts) * len(outcomes) if added else sum(map(len, counts.values()))
    budget.check("elements", size, contexts=len(counts))
    table = {context: _shares(following, outcomes, added) for context, following in counts.items()}
    for distribution in table.values():
        # A window that nothing follows is in P all the same; the extra symbol is all that is left for it.
        if not distribution:
            distribution[len(vocabulary)] = Fraction(1)
    unseen = _shares({}, outcomes, added) if added else None
    return NgramModel.from_table(
        order=order, vocabulary=vocabulary, table=table, pads=pads, unseen=unseen or None
    )


def _count(
    texts: list[tuple[str, ...]], vocabulary: Alphabet, order: int, pads: int, ends: bool
) -> dict[Context, dict[int, int]]:
    numbers = {word: i for i, word in enumerate(vocabulary)}
    counts: dict[Context, dict[int, int]] = {}
    for text in texts:
        window: Context = (BOS,) * pads
        for word in text:
            number = numbers[word]
            if len(window) == order - 1:
                following = counts.setdefault(window, {})
                following[number] = following.get(number, 0) + 1
            window = slide(window, number, order - 1)
        if len(window) == order - 1:
            following = counts.setdefault(window, {})
            if ends:
                following[len(vocabulary)] = following.get(len(vocabulary), 0) + 1
    return counts


def _shares(counts: dict[int, int], outcomes: range, added: Fraction) -> dict[int, Fraction]:
    total = sum(counts.values()) + added * len(outcomes)
    if added:
        return {word: (counts.get(word, 0) + added) / total for word in outcomes}
    return {word: Fraction(count) / total for word, count in counts.items()}
