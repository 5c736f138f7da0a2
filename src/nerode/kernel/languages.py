"""The kernel's own reading of languages: automata, counter machines, brackets and n-gram models.

Each is a deterministic machine: a first configuration, the configuration after a letter (for every letter, as
a prefix that no word continues leads to one where nothing is legal), and what may follow a configuration.

What is verified of the file: every object has exactly its keys, every number is within bounds, an automaton
is complete, rules speak of letters and counters that there are, and probabilities are positive and sum to 1.
"""

from __future__ import annotations

import functools
import math
import re
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from nerode.kernel.numbers import read_rational
from nerode.kernel.reader import (
    Reader,
    anything,
    choice,
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

END = "$"
"""How the end of a word is written; no alphabet has it as a letter."""

START_MARK = "<s>"
SENTENCE_END = "</s>"
"""How back-off models write the end of a sentence."""

START = -1
"""The number of the start mark in a context."""

MAX_LETTERS = 1_000_000
MAX_STATES = 2_000_000
MAX_COUNTERS = 1_000
MAX_RULES = 10_000
MAX_STEP = 1 << 32
"""Largest value that a counter starts with or that a letter adds."""

MAX_KINDS = 1_000
MAX_NESTING = 1_000_000
MAX_ORDER = 100
"""Largest n of an n-gram model."""


@dataclass(frozen=True, slots=True)
class NextLetters:
    """The continuations of a prefix: the set of next letters, and whether the word may end."""

    letters: frozenset[int]
    end: bool


NOTHING = NextLetters(frozenset(), False)


@dataclass(frozen=True)
class LetterNames:
    """The letters of an alphabet, in order."""

    symbols: tuple[str, ...]

    @functools.cached_property
    def number(self) -> Mapping[str, int]:
        """The number of each letter."""
        return {symbol: i for i, symbol in enumerate(self.symbols)}

    def decode(self, word: Iterable[int]) -> str:
        """Returns a word as text, with spaces if some letter has several characters."""
        spaced = any(len(symbol) > 1 for symbol in self.symbols)
        return (" " if spaced else "").join(self.symbols[a] for a in word) or "ε"

    def names(self, answer: NextLetters) -> tuple[str, ...]:
        """Returns what may follow as names, "$" for the end."""
        return (*(self.symbols[a] for a in sorted(answer.letters)), *([END] if answer.end else []))

    def answer(self, names: Sequence[str]) -> NextLetters:
        """Returns what may follow from names.

        Raises:
            Unreadable: for a name that is no letter.
        """
        letters = self.encode(name for name in names if name != END)
        return NextLetters(frozenset(letters), END in names)

    def encode(self, names: Iterable[str], number: Mapping[str, int] | None = None) -> tuple[int, ...]:
        """Returns a word from names; a table of numbers may know more of them than the letters.

        Raises:
            Unreadable: for a name that is no letter.
        """
        known = number or self.number
        found = []
        for name in names:
            if name not in known:
                raise Unreadable(f"{quoted(name)} is not a letter of the alphabet")
            found.append(known[name])
        return tuple(found)


class LanguageMachine(Protocol):
    """A language as a walk reads it."""

    @property
    def letters(self) -> LetterNames:
        """The alphabet."""

    def initial(self) -> Hashable:
        """Returns the configuration of the empty prefix."""

    def advance(self, configuration: Any, letter: int) -> Hashable:
        """Returns the configuration after one more letter."""

    def legal(self, configuration: Any) -> NextLetters:
        """Returns exactly what may follow."""


class AutomatonTable:
    """A complete deterministic automaton; a letter is legal if it leads to a state that can still accept."""

    def __init__(self, letters: LetterNames, table: list[list[int]], start: int, accepting: set[int]) -> None:
        self.letters = letters
        self._table = table
        self._start = start
        live = _reaching(table, accepting)
        self._legal = [
            NextLetters(frozenset(a for a, t in enumerate(row) if live[t]), state in accepting)
            for state, row in enumerate(table)
        ]

    def initial(self) -> int:
        """Returns the start state."""
        return self._start

    def advance(self, configuration: int, letter: int) -> int:
        """Returns the next state."""
        return self._table[configuration][letter]

    def legal(self, configuration: int) -> NextLetters:
        """Returns the letters that lead to a live state, and whether the state accepts."""
        return self._legal[configuration]


@dataclass(frozen=True, slots=True)
class MachineRule:
    """If the last letter and the counters are so, these letters may follow and the word may end."""

    after: frozenset[int] | None
    zero: tuple[int, ...]
    positive: tuple[int, ...]
    symbols: frozenset[int]
    end: bool

    def holds(self, last: int, counters: Sequence[int]) -> bool:
        """Whether the condition of the rule is met."""
        return (
            (self.after is None or last in self.after)
            and all(counters[c] == 0 for c in self.zero)
            and all(counters[c] > 0 for c in self.positive)
        )


@dataclass(frozen=True, slots=True)
class CounterTable:
    """A counter machine: each letter adds fixed amounts, rules look at zeros, signs and the last letter.

    A configuration is (last letter, counters), or None once a letter was read that no rule allowed. The last
    letter is -1 before the first one, and always where no rule looks at it.
    """

    letters: LetterNames
    start: tuple[int, ...]
    increments: tuple[tuple[int, ...], ...]
    rules: tuple[MachineRule, ...]

    def initial(self) -> tuple[int, tuple[int, ...]]:
        """Returns the start values of the counters."""
        return -1, self.start

    def advance(self, configuration: Any, letter: int) -> tuple[int, tuple[int, ...]] | None:
        """Returns the counters after the letter, or None if no word goes on like this."""
        if configuration is None or letter not in self.legal(configuration).letters:
            return None
        reads_last = any(rule.after is not None for rule in self.rules)
        moved = tuple([c + d for c, d in zip(configuration[1], self.increments[letter], strict=True)])
        return letter if reads_last else -1, moved

    def legal(self, configuration: Any) -> NextLetters:
        """Returns the union of what the rules that hold allow."""
        if configuration is None:
            return NOTHING
        holding = [rule for rule in self.rules if rule.holds(*configuration)]
        letters = frozenset[int]().union(*(rule.symbols for rule in holding))
        return NextLetters(letters, any(rule.end for rule in holding))


@dataclass(frozen=True, slots=True)
class BracketStack:
    """Balanced brackets; letter 2k opens and 2k + 1 closes kind k. A configuration is the stack, or None."""

    letters: LetterNames
    kinds: int
    depth: int | None

    def initial(self) -> tuple[int, ...]:
        """Returns the empty stack."""
        return ()

    def advance(self, configuration: Any, letter: int) -> tuple[int, ...] | None:
        """Returns the stack after the bracket, or None if it does not fit."""
        if configuration is None:
            return None
        kind, closes = divmod(letter, 2)
        if closes:
            return configuration[:-1] if configuration and configuration[-1] == kind else None
        return (*configuration, kind) if self.depth is None or len(configuration) < self.depth else None

    def legal(self, configuration: Any) -> NextLetters:
        """Returns all opening brackets below the bound, the matching closing one, the end at depth 0."""
        if configuration is None:
            return NOTHING
        open_more = self.depth is None or len(configuration) < self.depth
        opening = range(0, 2 * self.kinds, 2) if open_more else ()
        closing = (2 * configuration[-1] + 1,) if configuration else ()
        return NextLetters(frozenset((*opening, *closing)), not configuration)


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
        live = _reaching(
            [row.values() for row in self._moves], {i for i, end in enumerate(self._ends) if end}
        )
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


def _reaching(successors: Sequence[Iterable[int]], goals: set[int]) -> list[bool]:
    """Which states reach a goal, from the states that follow each state."""
    sources: list[list[int]] = [[] for _ in successors]
    for state, row in enumerate(successors):
        for target in row:
            sources[target].append(state)
    found = [False] * len(sources)
    pending = list(goals)
    for state in goals:
        found[state] = True
    while pending:
        for source in sources[pending.pop()]:
            if not found[source]:
                found[source] = True
                pending.append(source)
    return found


def read_letters(data: Json, what: str) -> LetterNames:
    """Returns the letters of an alphabet.

    Raises:
        Unreadable: for a letter twice, or one that is empty, "$", has white space or cannot be printed.
    """
    symbols = listing(anything, most=MAX_LETTERS)(data, what)
    for symbol in symbols:
        if not isinstance(symbol, str) or not symbol or symbol == END:
            raise Unreadable(f"the letter {quoted(symbol)} is not a text, or stands for the end of a word")
        if any(c.isspace() or unicodedata.category(c) in ("Cc", "Cs") for c in symbol):
            raise Unreadable(
                f"the letter {quoted(symbol)} has white space or a character that is not printed"
            )
    if len(set(symbols)) != len(symbols):
        raise Unreadable(f"a letter occurs twice in {what}")
    return LetterNames(tuple(symbols))


_LANGUAGE = file_record(
    "nerode-language",
    1,
    dict.fromkeys(("name", "convention", "family", "parameters", "definition"), anything),
)
_STATE = whole(0, MAX_STATES)
_LETTER = whole(-1, MAX_LETTERS)
_AMOUNT = whole(-MAX_STEP, MAX_STEP)
_ORDER = whole(1, MAX_ORDER)
_RULE = record(
    {
        "after": optional(listing(_LETTER, most=MAX_LETTERS)),
        "zero": listing(whole(0, MAX_COUNTERS), most=MAX_LETTERS),
        "positive": listing(whole(0, MAX_COUNTERS), most=MAX_LETTERS),
        "symbols": listing(whole(0, MAX_LETTERS), most=MAX_LETTERS),
        "end": flag,
    }
)
_FORMS: Mapping[str, Reader] = {
    "dfa": record(
        {
            "form": anything,
            "alphabet": read_letters,
            "start": _STATE,
            "accepting": listing(_STATE, most=MAX_STATES),
            "transitions": listing(listing(anything), most=MAX_STATES),
        }
    ),
    "counters": record(
        {
            "form": anything,
            "alphabet": read_letters,
            "start": listing(_AMOUNT, most=MAX_COUNTERS),
            "increments": listing(listing(_AMOUNT)),
            "rules": listing(_RULE, most=MAX_RULES),
        }
    ),
    "brackets": record(
        {
            "form": anything,
            "pairs": listing(entries(anything, anything), most=MAX_KINDS),
            "depth": optional(whole(1, MAX_NESTING)),
        }
    ),
    "n-gram": record({"form": anything, "model": anything}),
}
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


def read_language(data: Json, work: WorkCount) -> LanguageMachine:
    """Returns the language of JSON values; only its definition counts, not what it says of itself.

    Raises:
        Unreadable: with the first thing that is missing, unknown, too large or of the wrong size.
    """
    definition = _LANGUAGE(data, "a language")["definition"]
    form = definition.get("form") if isinstance(definition, dict) else None
    choice(*_FORMS)(form, "the form of a language")
    parts = _FORMS[str(form)](definition, f"the definition of a language ({form})")
    match form:
        case "dfa":
            return _automaton(parts)
        case "counters":
            return _counter_machine(parts)
        case "brackets":
            if not parts["pairs"]:
                raise Unreadable("there are no brackets")
            letters = read_letters([symbol for pair in parts["pairs"] for symbol in pair], "the brackets")
            return BracketStack(letters, len(parts["pairs"]), parts["depth"])
    model = parts["model"]
    if isinstance(model, dict) and model.get("format") == "nerode-backoff":
        return _backoff_model(_BACKOFF(model, "a back-off model"), work)
    return _ngram_model(_NGRAMS(model, "an n-gram model"), work)


def _automaton(parts: Mapping[str, Any]) -> AutomatonTable:
    letters, rows = parts["alphabet"], parts["transitions"]
    states = range(len(rows))
    for row in rows:
        if len(row) != len(letters.symbols) or any(type(t) is not int or t not in states for t in row):
            raise Unreadable(
                f"the transitions of a state do not lead to one of {len(rows):,} states by letter"
            )
    if not {parts["start"], *parts["accepting"]} <= set(states):
        raise Unreadable(f"the start or an accepting state is not among the {len(rows):,} states")
    return AutomatonTable(letters, rows, parts["start"], set(parts["accepting"]))


def _counter_machine(parts: Mapping[str, Any]) -> CounterTable:
    letters, start, rows = parts["alphabet"], parts["start"], parts["increments"]
    if len(rows) != len(letters.symbols) or any(len(row) != len(start) for row in rows):
        raise Unreadable("the increments are not one list for each letter, with one number for each counter")
    rules = []
    for rule in parts["rules"]:
        after, symbols = rule["after"], rule["symbols"]
        if any(letter >= len(letters.symbols) for letter in (*(after or ()), *symbols)):
            raise Unreadable("a rule speaks of a letter that there is not")
        if any(counter >= len(start) for counter in (*rule["zero"], *rule["positive"])):
            raise Unreadable("a rule speaks of a counter that there is not")
        last = None if after is None else frozenset(after)
        zero, positive = tuple(rule["zero"]), tuple(rule["positive"])
        rules.append(MachineRule(last, zero, positive, frozenset(symbols), rule["end"]))
    return CounterTable(letters, tuple(start), tuple(map(tuple, rows)), tuple(rules))


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
