"""N-gram models and back-off models, with exact probabilities, and the languages of their sentences.

What is verified of the file: probabilities are positive and sum to 1; of back-off models, every n-gram has a
shorter one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from nerode.kernel.letters import (
    END,
    MAX_STATES,
    NOTHING,
    LanguageMachine,
    LetterNames,
    NextLetters,
    reaching,
    read_letters,
)
from nerode.kernel.numbers import read_rational
from nerode.kernel.reader import (
    anything,
    entries,
    file_record,
    flag,
    listing,
    names,
    optional,
    quoted,
    record,
    table,
    whole,
)
from nerode.kernel.work import Unreadable, WorkCount

Json = Any

START_MARK = "<s>"
SENTENCE_END = "</s>"
"""How back-off models write the end of a sentence."""

START = -1
"""The number of the start mark in a context."""

MAX_ORDER = 100
"""Largest n of an n-gram model."""


class NgramTable:
    """An n-gram model with exact probabilities, and the language of its sentences.

    A context is the last n-1 words; start marks (-1) fill it up. A configuration is the number of a context
    from which the end can be reached, or -1.

    Attributes:
        letters: the words.
        order: n.
        end: the number of the end, which is the number of words.
        contexts: the contexts that sentences pass through, with their numbers.
    """

    def __init__(
        self,
        letters: LetterNames,
        order: int,
        rows: Mapping[tuple[int, ...], Mapping[int, Fraction]],
        unseen: Mapping[int, Fraction] | None,
        work: WorkCount,
    ) -> None:
        self.letters = letters
        self.order = order
        self.end = len(letters.symbols)
        self._rows = rows
        self._unseen = {self.end: Fraction(1)} if unseen is None else unseen
        self._moves: list[dict[int, int]] = []
        number = self._explore(work)
        self._ends = [self.end in self.distribution(context) for context in number]
        live = reaching([row.values() for row in self._moves], {i for i, end in enumerate(self._ends) if end})
        self._moves = [{word: t for word, t in row.items() if live[t]} for row in self._moves]
        self.contexts = {context: i for context, i in number.items() if live[0] and live[i]}

    def distribution(self, context: tuple[int, ...]) -> Mapping[int, Fraction]:
        """Returns the probability of each possible next word (or `end`) after n-1 words."""
        return self._rows.get(context, self._unseen)

    def windows(self) -> tuple[tuple[int, ...], ...]:
        """Returns the contexts of n-1 words that have a row or that a sentence passes through, sorted."""
        return tuple(sorted({c for c in (*self._rows, *self.contexts) if -1 not in c}))

    def _explore(self, work: WorkCount) -> dict[tuple[int, ...], int]:
        """Numbers the contexts that possible words lead to, and lists where they lead from each."""
        order = [(-1,) * (self.order - 1)]
        number = {order[0]: 0}
        for context in order:
            row = {}
            for word in self.distribution(context):
                if word != self.end:
                    target = (*context, word)[1:] if self.order > 1 else ()
                    if target not in number:
                        number[target] = len(order)
                        order.append(target)
                    row[word] = number[target]
            self._moves.append(row)
            work.spend(1 + len(row))
            if len(order) > MAX_STATES:
                raise Unreadable(f"the sentences pass through more than {MAX_STATES:,} contexts")
        return number

    def initial(self) -> int:
        """Returns the context of the empty prefix."""
        return 0 if self.contexts else -1

    def advance(self, configuration: int, letter: int) -> int:
        """Returns the next context."""
        return -1 if configuration == -1 else self._moves[configuration].get(letter, -1)

    def prefix(self, window: tuple[int, ...]) -> tuple[int, ...]:
        """Returns a shortest sentence prefix that ends in a window; the window if no sentence has it."""
        goal = self.contexts.get(window, 0)
        predecessor: dict[int, tuple[int, int]] = {0: (0, 0)}
        for state in (queue := [0]):
            for word, target in self._moves[state].items():
                if target not in predecessor:
                    predecessor[target] = (state, word)
                    queue.append(target)
        words = []
        while goal:
            goal, word = predecessor[goal]
            words.append(word)
        return tuple(reversed(words)) or window

    def legal(self, configuration: int) -> NextLetters:
        """Returns the words that some sentence has here, and whether one ends here."""
        if configuration == -1:
            return NOTHING
        return NextLetters(frozenset(self._moves[configuration]), self._ends[configuration])


class BackoffTable:
    """A back-off model with exact decimal logarithms, which gives every word a probability above 0.

    The probability of a word after a context is 10 to the power of its logarithm if there is an n-gram of
    the two; otherwise it is that after the context without its first word, with the back-off weight of the
    context added to the logarithm. A prefix is a context of the start mark and its words.

    Attributes:
        letters: the words.
        order: n.
        end: the number of the end, which is the number of words.
        unit: logarithms are whole multiples of 1/unit.
        normalised: whether probabilities are divided by their sum over all words and the end.
    """

    def __init__(
        self,
        letters: LetterNames,
        order: int,
        unit: int,
        normalised: bool,
        entries: Mapping[tuple[int, ...], tuple[int, int]],
    ) -> None:
        self.letters = letters
        self.order = order
        self.end = len(letters.symbols)
        self.unit = unit
        self.normalised = normalised
        self._entries = entries
        self._own: dict[tuple[int, ...], dict[int, int]] = {}
        for ngram, (log, _) in entries.items():
            if ngram[-1] != START:
                self._own.setdefault(ngram[:-1], {})[ngram[-1]] = log

    def contexts(self) -> list[tuple[int, ...]]:
        """Returns the contexts of prefixes that have n-grams of their own or a back-off weight."""
        known = {*self._own, *(ngram for ngram, (_, weight) in self._entries.items() if weight)}
        return [c for c in known if len(c) < self.order and self.end not in c and START not in c[1:]]

    def own(self, context: tuple[int, ...]) -> Mapping[int, int]:
        """Returns the words with an n-gram after exactly this context, and their logarithms."""
        return self._own.get(context, {})

    def backoff(self, context: tuple[int, ...]) -> int:
        """Returns the logarithm of the back-off weight of a context."""
        return self._entries.get(context, (0, 0))[1] if context else 0

    def log(self, context: tuple[int, ...], word: int) -> int:
        """Returns the logarithm of the probability of a word (or `end`) after a context."""
        total = 0
        while (*context, word) not in self._entries:
            total += self.backoff(context)
            context = context[1:]
        return total + self._entries[(*context, word)][0]

    def initial(self) -> int:
        """Returns the only configuration."""
        return 0

    def advance(self, configuration: int, letter: int) -> int:
        """Returns the only configuration."""
        return 0

    def legal(self, configuration: int) -> NextLetters:
        """Returns all words and the end."""
        return NextLetters(frozenset(range(self.end)), True)


_ORDER = whole(1, MAX_ORDER)
_MODEL = record({"form": anything, "model": anything})
_NGRAMS = file_record(
    "nerode-ngram",
    1,
    {
        "order": _ORDER,
        "pads": whole(0, MAX_ORDER),
        "vocabulary": read_letters,
        "unseen": optional(table(read_rational)),
        "contexts": listing(entries(names(MAX_ORDER, distinct=False), table(read_rational)), most=MAX_STATES),
    },
)
_BACKOFF = file_record(
    "nerode-backoff",
    1,
    {
        "order": _ORDER,
        "vocabulary": read_letters,
        "unknown": anything,
        "normalised": flag,
        "levels": listing(table(entries(anything, anything)), most=MAX_ORDER),
    },
)


def read_model(data: Json, what: str, work: WorkCount) -> LanguageMachine:
    """Returns the model of a definition.

    Raises:
        Unreadable: if it does not have its form, or is no model.
    """
    model = _MODEL(data, what)["model"]
    if isinstance(model, dict) and model.get("format") == "nerode-backoff":
        return _backoff_model(_BACKOFF(model, "a back-off model"), work)
    return _ngram_model(_NGRAMS(model, "an n-gram model"), work)


_DECIMAL = re.compile(r"-?[0-9]{1,200}(\.[0-9]{1,200})?")
_MOST_LOG = 99
"""Largest absolute value of a logarithm; -99 stands for the logarithm of zero in files."""


def _backoff_model(parts: Mapping[str, Any], work: WorkCount) -> BackoffTable:
    letters, order = parts["vocabulary"], parts["order"]
    number = dict(letters.number)
    if START_MARK in number or SENTENCE_END in number:
        raise Unreadable("the start mark or the end of a sentence is in the vocabulary")
    if parts["unknown"] is not None and parts["unknown"] not in letters.symbols:
        raise Unreadable(f"the unknown word {quoted(parts['unknown'])} is not in the vocabulary")
    if len(parts["levels"]) != order:
        raise Unreadable(f"there are {len(parts['levels'])} levels for an order of {order}")
    number |= {START_MARK: START, SENTENCE_END: len(letters.symbols)}
    texts: dict[tuple[int, ...], tuple[str, str]] = {}
    for length, level in enumerate(parts["levels"], start=1):
        for words, pair in level.items():
            ngram = letters.encode(words.split(" "), number)
            work.spend(length)
            if len(ngram) != length or not all(isinstance(v, str) and _DECIMAL.fullmatch(v) for v in pair):
                raise Unreadable(f"the entry {quoted(words)} has another length, or no decimal numbers")
            texts[ngram] = pair
    unit = 10 ** max((len(v.partition(".")[2]) for pair in texts.values() for v in pair), default=0)
    logs = {ngram: (_scaled(pair[0], unit), _scaled(pair[1], unit)) for ngram, pair in texts.items()}
    if any(log > 0 or -log > _MOST_LOG * unit or abs(w) > _MOST_LOG * unit for log, w in logs.values()):
        raise Unreadable(f"a logarithm is above 0 or beyond {_MOST_LOG}")
    if any((word,) not in logs for word in range(len(letters.symbols) + 1)):
        raise Unreadable("a word or the end has no 1-gram")
    for ngram, (_, weight) in logs.items():
        if (len(ngram) == order and weight) or (len(ngram) > 1 and ngram[:-1] not in logs):
            raise Unreadable("an n-gram has no shorter one, or a back-off weight at the highest order")
    return BackoffTable(letters, order, unit, parts["normalised"], logs)


def _scaled(text: str, unit: int) -> int:
    """The whole number that a decimal is a multiple of 1/unit by."""
    above, _, below = text.partition(".")
    return int(above + below) * (unit // int(10 ** len(below)))


def _ngram_model(parts: Mapping[str, Any], work: WorkCount) -> NgramTable:
    letters, order = parts["vocabulary"], parts["order"]
    if parts["pads"] != order - 1:
        raise Unreadable(f"the model does not say how sentences begin; it needs {order - 1} start marks")
    if START_MARK in letters.symbols:
        raise Unreadable(f"the word {START_MARK!r} stands for the start of a sentence")
    rows: dict[tuple[int, ...], dict[int, Fraction]] = {}
    for words, following in parts["contexts"]:
        marks = words.count(START_MARK)
        context = (START,) * marks + letters.encode(words[marks:])
        if len(context) != order - 1 or context in rows:
            raise Unreadable(
                f"the context {quoted(' '.join(words))} is given twice, or has not {order - 1} words"
            )
        rows[context] = _distribution(following, letters)
        work.spend(len(rows[context]))
    unseen = None if parts["unseen"] is None else _distribution(parts["unseen"], letters)
    return NgramTable(letters, order, rows, unseen, work)


def _distribution(amounts: Mapping[str, Fraction], letters: LetterNames) -> dict[int, Fraction]:
    number = letters.number
    if any((word not in number and word != END) or amount <= 0 for word, amount in amounts.items()):
        raise Unreadable("a word of a distribution is unknown, or its probability is not above 0")
    below = 1
    for amount in amounts.values():
        below = math.lcm(below, amount.denominator)
        if below.bit_length() > 100_000:
            raise Unreadable("the probabilities of a context have a common denominator of too many digits")
    if sum(p.numerator * (below // p.denominator) for p in amounts.values()) != below:
        raise Unreadable("the probabilities after a context do not sum to 1")
    return dict(sorted((number.get(word, len(number)), amount) for word, amount in amounts.items()))
