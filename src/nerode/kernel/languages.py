"""The kernel's own reading of languages: automata, counter machines, brackets and n-gram models.

Each is a deterministic machine: a first configuration, the configuration after a letter (for every letter, as
a prefix that no word continues leads to one where nothing is legal), and what may follow a configuration.

What is verified of the file: every object has exactly its keys, every number is within bounds, an automaton
is complete, rules speak of letters and counters that there are, and probabilities are positive and sum to 1.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from nerode.kernel.numbers import read_rational
from nerode.kernel.reader import check_keys, quoted, read_list, read_names, read_whole
from nerode.kernel.work import Unreadable, WorkCount

Json = Any
FORMAT = "nerode-language"
VERSION = 1

END = "$"
"""How the end of a word is written; no alphabet has it as a letter."""

START_MARK = "<s>"

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


@dataclass(frozen=True, slots=True)
class LetterNames:
    """The letters of an alphabet, in order."""

    symbols: tuple[str, ...]

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
        number = {symbol: i for i, symbol in enumerate(self.symbols)}
        letters = self.encode([name for name in names if name != END], number)
        return NextLetters(frozenset(letters), END in names)

    def encode(self, names: Iterable[str], number: Mapping[str, int] | None = None) -> tuple[int, ...]:
        """Returns a word from names.

        Raises:
            Unreadable: for a name that is no letter.
        """
        known = number or {symbol: i for i, symbol in enumerate(self.symbols)}
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
        sources: list[list[int]] = [[] for _ in table]
        for state, row in enumerate(table):
            for target in row:
                sources[target].append(state)
        live = _reaching(sources, accepting)
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
        self.contexts, self._moves, self._ends = self._explore(work)

    def distribution(self, context: tuple[int, ...]) -> Mapping[int, Fraction]:
        """Returns the probability of each possible next word (or `end`) after n-1 words."""
        return self._rows.get(context, self._unseen)

    def windows(self) -> tuple[tuple[int, ...], ...]:
        """Returns the contexts of n-1 words that have a row or that a sentence passes through, sorted."""
        return tuple(sorted({c for c in (*self._rows, *self.contexts) if -1 not in c}))

    def _explore(self, work: WorkCount) -> tuple[list[tuple[int, ...]], list[dict[int, int]], list[bool]]:
        """The contexts that sentences pass through, as a graph; empty if the model has no sentence."""
        order = [(-1,) * (self.order - 1)]
        number = {order[0]: 0}
        moves: list[dict[int, int]] = []
        for context in order:
            row = {}
            for word in self.distribution(context):
                if word != self.end:
                    target = (*context, word)[1:] if self.order > 1 else ()
                    if target not in number:
                        number[target] = len(order)
                        order.append(target)
                    row[word] = number[target]
            moves.append(row)
            work.spend(1 + len(row))
            if len(order) > MAX_STATES:
                raise Unreadable(f"the sentences pass through more than {MAX_STATES:,} contexts")
        ends = [self.end in self.distribution(context) for context in order]
        sources: list[list[int]] = [[] for _ in order]
        for state, row in enumerate(moves):
            for reached in row.values():
                sources[reached].append(state)
        live = _reaching(sources, {state for state, end in enumerate(ends) if end})
        if not live[0]:
            return [], [], []
        kept = [state for state in range(len(order)) if live[state]]
        place = {state: i for i, state in enumerate(kept)}
        kept_moves = [{w: place[t] for w, t in moves[state].items() if live[t]} for state in kept]
        return [order[state] for state in kept], kept_moves, [ends[state] for state in kept]

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


def _reaching(sources: list[list[int]], goals: set[int]) -> list[bool]:
    """Which states reach a goal, from the states that lead to each state."""
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


def read_letters(data: Json) -> LetterNames:
    """Returns the letters of an alphabet.

    Raises:
        Unreadable: for a letter twice, or one that is empty, "$", has white space or cannot be printed.
    """
    symbols = read_list(data, "the alphabet", most=MAX_LETTERS)
    for symbol in symbols:
        if not isinstance(symbol, str) or not symbol or symbol == END:
            raise Unreadable(f"the letter {quoted(symbol)} is not a text, or stands for the end of a word")
        if any(c.isspace() or unicodedata.category(c) in ("Cc", "Cs") for c in symbol):
            raise Unreadable(
                f"the letter {quoted(symbol)} has white space or a character that is not printed"
            )
    if len(set(symbols)) != len(symbols):
        raise Unreadable("a letter occurs twice in the alphabet")
    return LetterNames(tuple(symbols))


def read_language(data: Json, work: WorkCount) -> LanguageMachine:
    """Returns the language of JSON values; only its definition counts, not what it says of itself.

    Raises:
        Unreadable: with the first thing that is missing, unknown, too large or of the wrong size.
    """
    keys = ("format", "version", "name", "convention", "family", "parameters", "definition")
    check_keys(data, keys, "a language")
    if data["format"] != FORMAT or data["version"] != VERSION or type(data["version"]) is not int:
        raise Unreadable(
            f"this is {quoted(data['format'])} version {quoted(data['version'])}, "
            f"not {FORMAT!r} version {VERSION}"
        )
    definition = data["definition"]
    form = definition.get("form") if isinstance(definition, dict) else None
    match form:
        case "dfa":
            return _read_automaton(definition)
        case "counters":
            return _read_counters(definition)
        case "brackets":
            return _read_brackets(definition)
        case "n-gram":
            check_keys(definition, ("form", "model"), "the definition of an n-gram language")
            return _read_ngrams(definition["model"], work)
    raise Unreadable(f"unknown form {quoted(form)} of a language; known are dfa, counters, brackets, n-gram")


def _read_automaton(data: Json) -> AutomatonTable:
    check_keys(data, ("form", "alphabet", "start", "accepting", "transitions"), "the definition of a dfa")
    letters = read_letters(data["alphabet"])
    rows = read_list(data["transitions"], "the transitions", most=MAX_STATES)
    last = len(rows) - 1
    for row in rows:
        for target in read_list(row, "the transitions of a state", length=len(letters.symbols)):
            if type(target) is not int or not 0 <= target <= last:
                raise Unreadable(f"a transition leads to {quoted(target)}, outside the states 0…{last}")
    states = read_list(data["accepting"], "the accepting states", most=len(rows))
    accepting = {read_whole(q, "an accepting state", 0, last) for q in states}
    return AutomatonTable(letters, rows, read_whole(data["start"], "the start state", 0, last), accepting)


def _read_counters(data: Json) -> CounterTable:
    check_keys(
        data, ("form", "alphabet", "start", "increments", "rules"), "the definition of a counter machine"
    )
    letters = read_letters(data["alphabet"])
    start = read_list(data["start"], "the start of the counters", most=MAX_COUNTERS)
    rows = read_list(data["increments"], "the increments", length=len(letters.symbols))
    for row in (start, *rows):
        for amount in read_list(row, "the increments of a letter", length=len(start)):
            read_whole(amount, "a start value or increment", -MAX_STEP, MAX_STEP)
    rules = []
    for rule in read_list(data["rules"], "the rules", most=MAX_RULES):
        check_keys(rule, ("after", "zero", "positive", "symbols", "end"), "a rule")
        if type(rule["end"]) is not bool:
            raise Unreadable("'end' of a rule must be true or false")
        last = len(letters.symbols) - 1
        after = None if rule["after"] is None else frozenset(_numbers(rule["after"], "a letter", -1, last))
        zero, positive = (_numbers(rule[k], "a counter", 0, len(start) - 1) for k in ("zero", "positive"))
        symbols = frozenset(_numbers(rule["symbols"], "a letter", 0, last))
        rules.append(MachineRule(after, zero, positive, symbols, rule["end"]))
    return CounterTable(letters, tuple(start), tuple(map(tuple, rows)), tuple(rules))


def _numbers(data: Json, what: str, low: int, high: int) -> tuple[int, ...]:
    numbers = read_list(data, f"the numbers of a rule ({what})", most=MAX_LETTERS)
    return tuple(read_whole(n, f"{what} of a rule", low, high) for n in numbers)


def _read_brackets(data: Json) -> BracketStack:
    check_keys(data, ("form", "pairs", "depth"), "the definition of brackets")
    pairs = [read_list(p, "a pair of brackets", length=2) for p in read_list(data["pairs"], "the pairs")]
    if not 1 <= len(pairs) <= MAX_KINDS:
        raise Unreadable(f"{len(pairs):,} kinds of brackets; 1 to {MAX_KINDS:,} are read")
    letters = read_letters([symbol for pair in pairs for symbol in pair])
    depth = None if data["depth"] is None else read_whole(data["depth"], "the depth", 1, MAX_NESTING)
    return BracketStack(letters, len(pairs), depth)


def _read_ngrams(data: Json, work: WorkCount) -> NgramTable:
    check_keys(
        data, ("format", "version", "order", "pads", "vocabulary", "unseen", "contexts"), "an n-gram model"
    )
    if data["format"] != "nerode-ngram" or data["version"] != 1:
        raise Unreadable("the model is not 'nerode-ngram' version 1")
    letters = read_letters(data["vocabulary"])
    order = read_whole(data["order"], "the order of the model", 1, MAX_ORDER)
    if read_whole(data["pads"], "the start marks of the model", 0, order - 1) != order - 1:
        raise Unreadable(f"the model does not say how sentences begin; it needs {order - 1} start marks")
    if START_MARK in letters.symbols:
        raise Unreadable(f"the word {START_MARK!r} stands for the start of a sentence")
    number = {word: i for i, word in enumerate(letters.symbols)} | {END: len(letters.symbols)}
    table: dict[tuple[int, ...], dict[int, Fraction]] = {}
    for row in read_list(data["contexts"], "the contexts", most=MAX_STATES):
        words, following = read_list(row, "an entry of the contexts", length=2)
        names = read_names(words, "a context", most=order - 1, distinct=False)
        marks = names.count(START_MARK)
        if END in names:
            raise Unreadable("a context has the end of a sentence in it")
        context = (-1,) * marks + letters.encode(names[marks:], number)
        if len(context) != order - 1 or context in table:
            raise Unreadable(
                f"the context {quoted(' '.join(names))} is given twice, or has not {order - 1} words"
            )
        table[context] = _read_distribution(following, number)
        work.spend(len(table[context]))
    unseen = None if data["unseen"] is None else _read_distribution(data["unseen"], number)
    return NgramTable(letters, order, table, unseen, work)


def _read_distribution(data: Json, number: Mapping[str, int]) -> dict[int, Fraction]:
    if not isinstance(data, dict):
        raise Unreadable(f"a distribution is {quoted(data)}, not an object")
    found = {}
    for word, written in data.items():
        amount = read_rational(written, "a probability")
        if word not in number or amount <= 0:
            raise Unreadable(f"the word {quoted(word)} is unknown, or its probability is not above 0")
        found[number[word]] = amount
    below = 1
    for amount in found.values():
        below = math.lcm(below, amount.denominator)
        if below.bit_length() > 100_000:
            raise Unreadable("the probabilities of a context have a common denominator of too many digits")
    if sum(p.numerator * (below // p.denominator) for p in found.values()) != below:
        raise Unreadable("the probabilities after a context do not sum to 1")
    return dict(sorted(found.items()))
