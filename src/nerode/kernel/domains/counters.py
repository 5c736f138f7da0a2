"""Counter machines: languages with infinitely many configurations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nerode.kernel.letters import MAX_LETTERS, NOTHING, LetterNames, NextLetters, read_letters
from nerode.kernel.reader import anything, flag, listing, optional, record, whole
from nerode.kernel.work import Unreadable

Json = Any

MAX_COUNTERS = 1_000
MAX_RULES = 10_000
MAX_STEP = 1 << 32
"""Largest value that a counter starts with or that a letter adds."""


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


_AMOUNT = whole(-MAX_STEP, MAX_STEP)
_RULE = record(
    {
        "after": optional(listing(whole(-1, MAX_LETTERS), most=MAX_LETTERS)),
        "zero": listing(whole(0, MAX_COUNTERS), most=MAX_LETTERS),
        "positive": listing(whole(0, MAX_COUNTERS), most=MAX_LETTERS),
        "symbols": listing(whole(0, MAX_LETTERS), most=MAX_LETTERS),
        "end": flag,
    }
)
_MACHINE = record(
    {
        "form": anything,
        "alphabet": read_letters,
        "start": listing(_AMOUNT, most=MAX_COUNTERS),
        "increments": listing(listing(_AMOUNT)),
        "rules": listing(_RULE, most=MAX_RULES),
    }
)


def read_counter_machine(data: Json, what: str) -> CounterTable:
    """Returns the counter machine of a definition.

    Raises:
        Unreadable: if it does not have its form, or a rule speaks of what there is not.
    """
    parts = _MACHINE(data, what)
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
