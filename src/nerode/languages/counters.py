"""Counter machines as plain data, and their languages: Boolean expressions, equal blocks, majority.

Each letter adds fixed amounts to the counters. What may follow a prefix depends only on the last letter
and on which counters are zero or above zero, by a list of rules; so one record serves for membership, for
the exact next-letter sets and for compiling into a network with counters.

Dyck-1 and Shuffle-Dyck, which are counter languages too, are made in `brackets`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from nerode.core import Budget, InputError
from nerode.languages.alphabet import Alphabet, Word
from nerode.languages.dfa import Dfa
from nerode.languages.language import Language, Legal
from nerode.languages.sampling.counters import sample_blocks, sample_expression, sample_majority

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
        if not self.alphabet.symbols:
            raise InputError("a counter machine needs an alphabet with at least one letter")
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


class Sampler(Protocol):
    """Draws a word of a given length; `max_depth` bounds the counters where that makes sense."""

    def __call__(self, length: int, rng: np.random.Generator, max_depth: int | None) -> Word:
        """Returns the word."""
        ...


class Counters(NamedTuple):
    """A configuration: the last letter (START where the machine does not look at it) and the counters."""

    last: int
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterLanguage(Language):
    """The language of a counter machine that is not regular.

    The dead configuration is None.

    Attributes:
        machine: the counters and rules, for `advance` and `legal` here and for the compiler.
        sampler: draws words by length.
        distribution: in words, the distribution that the sampler draws from.
    """

    name: str
    machine: CounterMachine
    convention: str
    family: str
    parameters: Mapping[str, int] = field(hash=False)
    sampler: Sampler = field(compare=False, repr=False)
    distribution: str
    kind = "counter"
    regular = False

    @property
    def alphabet(self) -> Alphabet:  # type: ignore[override]
        """The symbols."""
        return self.machine.alphabet

    def dfa(self, budget: Budget | None = None) -> Dfa:
        """Raises InputError: there is no finite automaton."""
        raise InputError(
            f"{self.name} is not regular, so it has no finite automaton; "
            "bound its counters (for brackets: dyck-K-m) to get a regular language"
        )

    def initial(self) -> Counters:
        """The start values of the counters."""
        return Counters(START, self.machine.start)

    def advance(self, configuration: Counters | None, symbol: int) -> Counters | None:
        """The counters after the letter, or None if no word goes on like this."""
        if configuration is None or symbol not in self.machine.allowed(*configuration)[0]:
            return None
        last = symbol if self.machine.reads_last else START
        return Counters(last, self.machine.add(configuration.values, symbol))

    def legal(self, configuration: Counters | None) -> Legal:
        """The letters that the rules allow next, and whether the word may end."""
        if configuration is None:
            return Legal(frozenset(), False)
        return Legal(*self.machine.allowed(*configuration))

    def sample(self, length: int, rng: np.random.Generator, *, max_depth: int | None = None) -> Word:
        """Returns a random word of this length; see `distribution`.

        Args:
            length: number of letters.
            rng: the source of randomness.
            max_depth: for brackets, the greatest number of open brackets of one kind at a time.
        """
        return self.sampler(length, rng, max_depth)


OPERATORS = "~+>*^"
"""The operators of arity 1 … 5, as in the data of Bhattamishra et al."""

MAX_BLOCKS = 26


def boolean_expressions(arity: int) -> CounterLanguage:
    """Returns the Boolean expressions in prefix notation with one operator of each arity 1 … n.

    Implements: [Bhattamishra2020]
    """
    if not 2 <= arity <= len(OPERATORS):
        raise InputError(
            f"Boolean expressions with operators up to arity {arity} are not offered; give an arity from 2 "
            f"to {len(OPERATORS)} (with arity 1 alone the language is the regular ~*(0|1))"
        )
    machine = CounterMachine(
        alphabet=Alphabet((*OPERATORS[:arity], "0", "1")),
        start=(1,),
        increments=(*((k - 1,) for k in range(1, arity + 1)), (-1,), (-1,)),
        rules=(
            CounterRule(positive=frozenset({0}), symbols=frozenset(range(arity + 2))),
            CounterRule(zero=frozenset({0}), end=True),
        ),
    )
    return CounterLanguage(
        name=f"boolean-{arity}",
        machine=machine,
        convention=boolean_convention(arity),
        family="boolean-expression",
        parameters={"arity": arity},
        sampler=partial(sample_expression, arity),
        distribution="uniform over the expressions of this length",
    )


def boolean_convention(arity: int) -> str:
    """Returns in words which expressions belong to `boolean_expressions(arity)`."""
    written = " ".join(OPERATORS[:arity])
    return (
        f"single complete Boolean expressions in prefix notation: operators {written} of arity 1…{arity}, "
        "operands 0 and 1; the values do not matter"
    )


def counting_blocks(letters: int) -> CounterLanguage:
    """Returns aⁿbⁿ, aⁿbⁿcⁿ, … with n ≥ 1, for 2, 3, … letters.

    Counter i is the number of letters i minus the number of letters i+1.

    Implements: [Bhattamishra2020]
    """
    if not 2 <= letters <= MAX_BLOCKS:
        raise InputError(
            f"equal blocks of {letters} letters are not offered; give 2 to {MAX_BLOCKS} letters"
            + (" (aⁿ alone is the regular aa*)" if letters == 1 else "")
        )
    last = letters - 1
    rules = [
        CounterRule(after=frozenset({START}), symbols=frozenset({0})),
        CounterRule(after=frozenset({0}), symbols=frozenset({0, 1})),
    ]
    for i in range(1, letters):
        here, counter = frozenset({i}), frozenset({i - 1})
        rules.append(CounterRule(after=here, positive=counter, symbols=here))
        follow = frozenset({i + 1}) if i < last else frozenset[int]()
        rules.append(CounterRule(after=here, zero=counter, symbols=follow, end=i == last))
    symbols = tuple("abcdefghijklmnopqrstuvwxyz"[:letters])
    machine = CounterMachine(
        alphabet=Alphabet(symbols),
        start=(0,) * last,
        increments=tuple(tuple((c == a) - (c == a - 1) for c in range(last)) for a in range(letters)),
        rules=tuple(rules),
    )
    return CounterLanguage(
        name="".join(f"{symbol}n" for symbol in symbols),
        machine=machine,
        convention=blocks_convention(letters),
        family="counting-blocks",
        parameters={"letters": letters},
        sampler=partial(sample_blocks, letters),
        distribution="the only word of this length",
    )


def blocks_convention(letters: int) -> str:
    """Returns in words which words belong to `counting_blocks(letters)`."""
    symbols = "abcdefghijklmnopqrstuvwxyz"[:letters]
    return f"the words {''.join(f'{symbol}ⁿ' for symbol in symbols)} with n ≥ 1; the empty word is not in it"


def majority() -> CounterLanguage:
    """Returns the words over 0 and 1 with more 1s than 0s.

    Implements: [Butoi2025]
    """
    machine = CounterMachine(
        alphabet=Alphabet(("0", "1")),
        start=(0,),
        increments=((-1,), (1,)),
        rules=(
            CounterRule(symbols=frozenset({0, 1})),
            CounterRule(positive=frozenset({0}), end=True),
        ),
    )
    return CounterLanguage(
        name="majority",
        machine=machine,
        convention=MAJORITY_CONVENTION,
        family="majority",
        parameters={},
        sampler=sample_majority,
        distribution="uniform over the words of this length",
    )


MAJORITY_CONVENTION = "words over 0 and 1 with more 1s than 0s; ties and the empty word are not in it"
