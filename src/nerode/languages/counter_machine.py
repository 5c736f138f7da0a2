"""Deterministic machines with counters, as plain data.

Each letter adds fixed amounts to the counters. What may follow a prefix depends only on the last letter
and on which counters are zero or above zero, by a list of rules; so one record serves for membership, for
the exact next-symbol sets and for compiling into a network with counters.
"""

from __future__ import annotations

from dataclasses import dataclass

from nerode.core import InputError
from nerode.languages.alphabet import Alphabet

START = -1
"""Stands for "no letter yet" where a rule speaks of the last letter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterRule:
    """If the last letter and the counters are so, these symbols may follow and the word may end.

    Attributes:
        after: letters (or START) that the last letter must be among; None for any.
        zero: counters that must be 0.
        positive: counters that must be above 0.
        symbols: letters that this rule allows next.
        end: whether this rule allows the word to end.
    """

    after: frozenset[int] | None = None
    zero: frozenset[int] = frozenset()
    positive: frozenset[int] = frozenset()
    symbols: frozenset[int] = frozenset()
    end: bool = False

    def holds(self, last: int, counters: tuple[int, ...]) -> bool:
        """Whether the condition of the rule is met."""
        return (
            (self.after is None or last in self.after)
            and all(counters[c] == 0 for c in self.zero)
            and all(counters[c] > 0 for c in self.positive)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterMachine:
    """Counters, what each letter adds to them, and what may follow.

    What may follow a prefix is the union of what the rules that hold allow. A letter that no rule allows
    leads to the dead configuration, for good.

    Attributes:
        alphabet: the letters.
        start: the values of the counters before the first letter.
        increments: `increments[a][c]` is what letter a adds to counter c.
        rules: what may follow; order does not matter.
    """

    alphabet: Alphabet
    start: tuple[int, ...]
    increments: tuple[tuple[int, ...], ...]
    rules: tuple[CounterRule, ...]

    def __post_init__(self) -> None:
        if len(self.increments) != len(self.alphabet):
            raise InputError(
                f"there are increments for {len(self.increments)} letters, but {len(self.alphabet)} letters"
            )
        for letter, amounts in zip(self.alphabet, self.increments, strict=True):
            if len(amounts) != len(self.start):
                raise InputError(
                    f"the letter {letter!r} has {len(amounts)} increments, but there are "
                    f"{len(self.start)} counters"
                )
        numbers = (*self.start, *(amount for amounts in self.increments for amount in amounts))
        if not all(isinstance(number, int) for number in numbers):
            raise InputError("counters hold integers; a start value or an increment is none")
        letters = frozenset(range(len(self.alphabet)))
        counters = frozenset(range(len(self.start)))
        for rule in self.rules:
            if not (rule.symbols <= letters and (rule.after or frozenset()) <= letters | {START}):
                raise InputError(f"a rule speaks of a letter outside 0…{len(letters) - 1}: {rule}")
            if not rule.zero | rule.positive <= counters:
                raise InputError(f"a rule speaks of a counter outside 0…{len(counters) - 1}: {rule}")

    @property
    def num_counters(self) -> int:
        """Number of counters."""
        return len(self.start)

    @property
    def reads_last(self) -> bool:
        """Whether some rule looks at the last letter, so that the machine has to keep it."""
        return any(rule.after is not None for rule in self.rules)

    def allowed(self, last: int, counters: tuple[int, ...]) -> tuple[frozenset[int], bool]:
        """Returns the letters that may follow, and whether the word may end."""
        holding = [rule for rule in self.rules if rule.holds(last, counters)]
        symbols = frozenset[int]().union(*(rule.symbols for rule in holding))
        return symbols, any(rule.end for rule in holding)

    def add(self, counters: tuple[int, ...], letter: int) -> tuple[int, ...]:
        """Returns the counters after a letter."""
        return tuple([c + d for c, d in zip(counters, self.increments[letter], strict=True)])
