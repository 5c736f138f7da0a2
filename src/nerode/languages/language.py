"""The interface of languages: membership, exact next-letter sets, a sampler by length."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nerode.core import Budget, InputError, Shown
from nerode.languages.alphabet import END, Alphabet, Word, WordLike
from nerode.languages.determinise import minimise
from nerode.languages.dfa import Dfa
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
