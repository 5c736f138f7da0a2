"""The interface of languages: membership, exact next-letter sets, a sampler by length."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nerode.core import Budget, InputError, Shown, in_form
from nerode.languages.alphabet import END, Alphabet, Word, WordLike
from nerode.languages.determinise import minimise
from nerode.languages.dfa import Dfa
from nerode.languages.operations import (
    complement,
    concatenate,
    difference,
    distinguishing_word,
    intersection,
    is_empty,
    left_quotient,
    reverse,
    right_quotient,
    star,
    union,
)
from nerode.languages.sampling import sample_accepted


@dataclass(frozen=True, slots=True)
class Legal:
    """Possible continuations of a prefix: the set of next letters, and whether the word may end."""

    symbols: frozenset[int]
    end: bool

    def names(self, alphabet: Alphabet) -> list[str]:
        """The letters in alphabet order, then "$" if the word may end."""
        return [alphabet.symbols[a] for a in sorted(self.symbols)] + ([END] if self.end else [])


class Language(Shown, ABC):
    """A set of words over an alphabet, given by a deterministic machine.

    A configuration is a hashable value: a state number for a regular language, counters or a stack for
    the others. `advance` is total: a prefix that no word extends leads to a configuration from which
    nothing is legal.

    Attributes:
        name: how the language is called ("tomita-3", "(aa)*").
        alphabet: its symbols.
        convention: in one sentence, which words belong to it.
        family: the kind of definition ("regular", "bounded-dyck", "shuffle-dyck" …); theorems about
            a family look at it.
        parameters: the numbers of the family, e.g. {"k": 8, "depth": 10}.
    """

    name: str
    alphabet: Alphabet
    convention: str
    family: str
    parameters: Mapping[str, int]

    @property
    @abstractmethod
    def kind(self) -> str:
        """One of "regular", "counter", "stack", "n-gram"."""

    @property
    @abstractmethod
    def regular(self) -> bool:
        """Whether the language is regular."""

    @abstractmethod
    def initial(self) -> Hashable:
        """Returns the configuration of the empty prefix."""

    @abstractmethod
    def advance(self, configuration: Any, symbol: int) -> Hashable:
        """Returns the configuration after one more letter."""

    @abstractmethod
    def legal(self, configuration: Any) -> Legal:
        """Returns exactly what may follow."""

    @abstractmethod
    def sample(self, length: int, rng: np.random.Generator) -> Word:
        """Returns a random word of the language of exactly this length.

        Raises:
            InputError: if the language has no word of this length.
        """

    def dfa(self, budget: Budget | None = None) -> Dfa:
        """Returns the canonical minimal automaton.

        Raises:
            InputError: if the language is not regular.
            BudgetExceeded: if the automaton has more states than the budget allows.
        """
        raise NotImplementedError

    def num_states(self) -> int | None:
        """Number of states of the minimal complete automaton if it is known without building it."""
        return None

    def accepts(self, word: WordLike) -> bool:
        """Whether the word is in the language."""
        configuration = self.initial()
        for symbol in self.alphabet.encode(word):
            configuration = self.advance(configuration, symbol)
        return self.legal(configuration).end

    def legal_along(self, word: WordLike) -> list[Legal]:
        """Returns what may follow each prefix of a word, the empty prefix first."""
        configuration = self.initial()
        found = [self.legal(configuration)]
        for symbol in self.alphabet.encode(word):
            configuration = self.advance(configuration, symbol)
            found.append(self.legal(configuration))
        return found

    def words(self, *, longest: int | None = None) -> Iterator[str]:
        """Yields the words as text, by length and then by alphabet; without end if there are so many.

        Args:
            longest: the length after which it ends.
        """
        todo: deque[tuple[Any, Word]] = deque([(self.initial(), ())])
        while todo:
            configuration, word = todo.popleft()
            legal = self.legal(configuration)
            if legal.end:
                yield self.alphabet.decode(word)
            if longest is None or len(word) < longest:
                todo.extend((self.advance(configuration, a), (*word, a)) for a in sorted(legal.symbols))

    def __contains__(self, word: WordLike) -> bool:
        """Whether a word is in the language."""
        return self.accepts(word)

    def __and__(self, other: Language) -> RegularLanguage:
        """Returns the words of both languages."""
        return self._joined(other, intersection, "&")

    def __or__(self, other: Language) -> RegularLanguage:
        """Returns the words of one of the languages, or of both."""
        return self._joined(other, union, "|")

    def __sub__(self, other: Language) -> RegularLanguage:
        """Returns the words of this language that are not in the other."""
        return self._joined(other, difference, "-")

    def __add__(self, other: Language) -> RegularLanguage:
        """Returns the words of this language, each followed by one of the other."""
        return self._joined(other, concatenate, "+")

    def __invert__(self) -> RegularLanguage:
        """Returns the words over the alphabet that are not in the language."""
        return _named(f"~({self.name})", complement(self.dfa()))

    def star(self) -> RegularLanguage:
        """Returns the words that are made of any number of words of this language."""
        return _named(f"({self.name})*", star(self.dfa()))

    def reverse(self) -> RegularLanguage:
        """Returns the words read from right to left."""
        return _named(f"reverse of {self.name}", reverse(self.dfa()))

    def left_quotient(self, prefixes: Language | WordLike) -> RegularLanguage:
        """Returns what may follow a word, or a word of a language, to end in this language."""
        return self._quotient(prefixes, left_quotient, "after")

    def right_quotient(self, suffixes: Language | WordLike) -> RegularLanguage:
        """Returns what may stand before a word, or a word of a language, to end in this language."""
        return self._quotient(suffixes, right_quotient, "before")

    def difference_from(self, other: Language) -> str | None:
        """Returns the shortest word that is in exactly one of two languages; None if they are equal."""
        left, right = self.dfa(), other.dfa()
        word = distinguishing_word(left, right)
        # The word is over the letters of both, in the order of the shared alphabet.
        return None if word is None else intersection(left, right).alphabet.decode(word)

    def __le__(self, other: Language) -> bool:
        """Whether all words of this language are in the other."""
        return is_empty(difference(self.dfa(), other.dfa()))

    def __ge__(self, other: Language) -> bool:
        """Whether all words of the other language are in this one."""
        return other <= self

    def to_regex(self, budget: Budget | None = None) -> str:
        """Returns a regular expression."""
        return str(in_form("regex", self, budget=budget))

    def to_ltl(self, budget: Budget | None = None) -> str:
        """Returns a formula of past temporal logic.

        Raises:
            InputError: if the language is not star-free.
        """
        return str(in_form("ltl", self, budget=budget))

    @property
    def monoid(self) -> Any:
        """The transition monoid of the minimal automaton."""
        return in_form("monoid", self)

    def draw(self, path: Any = None, **options: Any) -> str | bytes:
        """Returns a drawing and writes it if a path is given, as `nerode.draw` does."""
        return in_form("draw", self, path=path, **options)  # type: ignore[no-any-return]

    def _joined(self, other: Language, operation: Callable[[Dfa, Dfa], Dfa], sign: str) -> RegularLanguage:
        if not isinstance(other, Language):
            raise InputError(f"{sign} joins two languages; nerode.language(…) makes one of {other!r}")
        return _named(f"({self.name}) {sign} ({other.name})", operation(self.dfa(), other.dfa()))

    def _quotient(
        self, given: Language | WordLike, operation: Callable[[Dfa, Dfa], Dfa], where: str
    ) -> RegularLanguage:
        if isinstance(given, Language):
            return _named(f"{self.name} {where} {given.name}", operation(self.dfa(), given.dfa()))
        word = self.alphabet.encode(given)
        return _named(
            f"{self.name} {where} {self.alphabet.decode(word)}",
            operation(self.dfa(), _only(word, self.alphabet)),
        )


def _only(word: Word, alphabet: Alphabet) -> Dfa:
    """Returns the automaton of one word."""
    count = len(word) + 2
    table = np.full((count, len(alphabet)), count - 1, dtype=np.int32)
    for place, letter in enumerate(word):
        table[place, letter] = place + 1
    return Dfa(alphabet=alphabet, transitions=table, start=0, accepting=np.arange(count) == len(word))


def _named(name: str, dfa: Dfa) -> RegularLanguage:
    """Returns the language of an automaton that operations have made."""
    return RegularLanguage(name=name, automaton=dfa, convention=f"the words of {name}")


def merged_names(given: Dfa, minimal: Dfa, names: Sequence[str]) -> tuple[str, ...]:
    """Returns the names of the states of a minimal automaton: those of all states that became each.

    Args:
        given: an automaton of the same language.
        minimal: the minimal one.
        names: of the first states of the given one; the others have none.
    """
    found: list[dict[str, None]] = [{} for _ in range(minimal.num_states)]
    seen = {(given.start, minimal.start)}
    todo = list(seen)
    while todo:
        q, m = todo.pop()
        if q < len(names):
            found[m][names[q]] = None
        for letter in range(given.num_letters):
            pair = int(given.transitions[q, letter]), int(minimal.transitions[m, letter])
            if pair not in seen:
                seen.add(pair)
                todo.append(pair)
    order = {name: i for i, name in enumerate(names)}
    return tuple(",".join(sorted(group, key=lambda name: order[name])) for group in found)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegularLanguage(Language):
    """A regular language with its canonical minimal automaton.

    Attributes:
        state_names: names of the states of the automaton that is given, in their order; those of the minimal
            automaton afterwards, where states that became one have all their names.
    """

    name: str
    automaton: Dfa
    convention: str
    family: str = "regular"
    parameters: Mapping[str, int] = field(default_factory=dict, hash=False)
    state_names: tuple[str, ...] = ()
    kind = "regular"
    regular = True

    def __eq__(self, other: object) -> bool:
        """Whether both have the same words, whatever they are called and whatever letters they do not use."""
        if not isinstance(other, Language) or not other.regular:
            return NotImplemented
        known = other if isinstance(other, RegularLanguage) else _named(other.name, other.dfa())
        return _used(self.automaton) == _used(known.automaton)

    def __hash__(self) -> int:
        """Returns a number that languages with the same words share."""
        return hash(_used(self.automaton))

    def __post_init__(self) -> None:
        given = self.automaton
        if not given.alphabet.symbols:
            raise InputError(f"the language {self.name} has no letters; give its alphabet at least one")
        object.__setattr__(self, "automaton", minimise(given))
        if self.state_names:
            object.__setattr__(self, "state_names", merged_names(given, self.automaton, self.state_names))

    @property
    def alphabet(self) -> Alphabet:  # type: ignore[override]
        """The symbols."""
        return self.automaton.alphabet

    def dfa(self, budget: Budget | None = None) -> Dfa:
        """Returns the canonical minimal automaton."""
        return self.automaton

    def num_states(self) -> int:
        """Number of states of the canonical minimal automaton."""
        return self.automaton.num_states

    def initial(self) -> int:
        """The start state."""
        return self.automaton.start

    def advance(self, configuration: int, symbol: int) -> int:
        """The next state."""
        return int(self.automaton.transitions[configuration, symbol])

    def legal(self, configuration: int) -> Legal:
        """The letters that lead to a live state, and whether the state accepts."""
        letters = np.flatnonzero(self.automaton.legal[configuration])
        return Legal(frozenset(letters.tolist()), bool(self.automaton.accepting[configuration]))

    def sample(self, length: int, rng: np.random.Generator) -> Word:
        """A uniformly random accepted word of this length."""
        return sample_accepted(self.automaton, length, rng)


@functools.lru_cache(maxsize=1 << 10)
def _used(dfa: Dfa) -> Dfa:
    """Returns the minimal automaton over the letters that occur in words: one for each set of words."""
    rows = dfa.live[:, None] & dfa.legal
    letters = sorted(dfa.alphabet.symbols[a] for a in np.flatnonzero(rows.any(0)))
    columns = [dfa.alphabet.index(letter) for letter in letters]
    return minimise(
        Dfa(
            alphabet=Alphabet(tuple(letters)),
            transitions=dfa.transitions[:, columns],
            start=dfa.start,
            accepting=dfa.accepting,
        )
    )
