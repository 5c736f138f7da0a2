"""Complete deterministic finite automata as integer tables."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core.errors import InputError
from nerode.languages.alphabet import Alphabet, Word, WordLike

IntArray = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Dfa:
    """A complete deterministic automaton; states are 0 … n-1.

    Two automata are equal when their tables are. Two *languages* over one alphabet are equal when the
    canonical minimal automata (`minimise`) are.

    Attributes:
        alphabet: letter i labels column i of the table.
        transitions: `transitions[q, a]` is the state after letter a in state q; read-only int32.
        start: the initial state.
        accepting: `accepting[q]`; read-only bool.
    """

    alphabet: Alphabet
    transitions: IntArray
    start: int
    accepting: BoolArray

    def __post_init__(self) -> None:
        transitions = np.array(self.transitions, dtype=np.int32, copy=True, ndmin=2)
        accepting = np.array(self.accepting, dtype=np.bool_, copy=True)
        n = len(accepting)
        if n == 0:
            raise InputError("an automaton needs at least one state")
        if transitions.shape != (n, len(self.alphabet)):
            raise InputError(
                f"the transition table has shape {transitions.shape}, "
                f"but there are {n} states and {len(self.alphabet)} letters"
            )
        if transitions.size and not (0 <= transitions.min() and transitions.max() < n):
            raise InputError(f"a transition leads outside the states 0…{n - 1}")
        if not 0 <= self.start < n:
            raise InputError(f"the start state {self.start} is outside the states 0…{n - 1}")
        transitions.setflags(write=False)
        accepting.setflags(write=False)
        object.__setattr__(self, "transitions", transitions)
        object.__setattr__(self, "accepting", accepting)
        object.__setattr__(self, "start", int(self.start))

    @classmethod
    def build(
        cls,
        symbols: Iterable[str],
        step: Mapping[Any, Mapping[str, Any]] | Callable[[Any, str], Any],
        *,
        start: Any,
        accept: Callable[[Any], bool] | Iterable[Any],
    ) -> Dfa:
        """Returns the automaton whose states are what `step` reaches from `start`.

        Args:
            symbols: the alphabet, in order.
            step: a function of state and symbol, or a table state → symbol → state; a result of None
                stands for one dead state.
            start: any hashable value.
            accept: a predicate on states or the collection of accepting ones.
        """
        alphabet = Alphabet(tuple(symbols))
        if callable(step):
            move = step
        else:
            table = step

            def move(state: Any, symbol: str) -> Any:
                return table.get(state, {}).get(symbol)

        accepts = accept if callable(accept) else frozenset(accept).__contains__
        number: dict[Any, int] = {start: 0}
        order = [start]
        rows: list[list[int]] = []
        for state in order:
            row = []
            for symbol in alphabet:
                target = None if state is None else move(state, symbol)
                if target not in number:
                    number[target] = len(order)
                    order.append(target)
                row.append(number[target])
            rows.append(row)
        accepting = [state is not None and bool(accepts(state)) for state in order]
        table_array = np.array(rows, dtype=np.int32).reshape(len(order), len(alphabet))
        return cls(alphabet=alphabet, transitions=table_array, start=0, accepting=np.array(accepting))

    @property
    def num_states(self) -> int:
        """Number of states, dead ones included."""
        return len(self.accepting)

    @property
    def num_letters(self) -> int:
        """Number of letters."""
        return len(self.alphabet)

    @functools.cached_property
    def _key(self) -> tuple[Any, ...]:
        return (self.alphabet, self.start, self.transitions.tobytes(), self.accepting.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dfa) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return (
            f"Dfa({self.num_states} states, {{{self.alphabet.describe()}}}, start {self.start}, "
            f"{int(self.accepting.sum())} accepting)"
        )

    def run(self, word: WordLike, *, state: int | None = None) -> int:
        """Returns the state after a word, from the start or from `state`."""
        q = self.start if state is None else state
        table = self.transitions
        for letter in self.alphabet.encode(word):
            q = int(table[q, letter])
        return q

    def trace(self, word: WordLike) -> tuple[int, ...]:
        """Returns the states before, between and after the letters of a word."""
        states = [self.start]
        for letter in self.alphabet.encode(word):
            states.append(int(self.transitions[states[-1], letter]))
        return tuple(states)

    def accepts(self, word: WordLike) -> bool:
        """Whether the word is in the language."""
        return bool(self.accepting[self.run(word)])

    def action(self, word: Iterable[int]) -> IntArray:
        """Returns the map that a word induces on the states: `action(w)[q]` is q·w."""
        image = np.arange(self.num_states, dtype=np.int32)
        for letter in word:
            image = self.transitions[image, letter]
        return image

    @functools.cached_property
    def live(self) -> BoolArray:
        """Which states can still reach an accepting state."""
        n = self.num_states
        live = self.accepting.copy()
        targets = self.transitions.ravel()
        by_target = np.argsort(targets, kind="stable")
        sources = by_target // max(1, self.num_letters)
        first = np.searchsorted(targets[by_target], np.arange(n + 1))
        frontier = np.flatnonzero(live)
        while len(frontier):
            found = np.unique(np.concatenate([sources[first[q] : first[q + 1]] for q in frontier]))
            frontier = found[~live[found]]
            live[frontier] = True
        live.setflags(write=False)
        return live

    @functools.cached_property
    def legal(self) -> BoolArray:
        """`legal[q, a]`: whether letter a after state q leaves an accepted continuation possible.

        Together with `accepting` (may the word end here?) this is the exact prediction target of
        predictive modelling, for every state.
        """
        legal = self.live[self.transitions]
        legal.setflags(write=False)
        return legal

    @functools.cached_property
    def access_words(self) -> Mapping[int, Word]:
        """For each reachable state the shortest word (first in alphabet order) that leads to it."""
        words: dict[int, Word] = {self.start: ()}
        order = [self.start]
        rows = self.transitions.tolist()
        for q in order:
            for letter, target in enumerate(rows[q]):
                if target not in words:
                    words[target] = (*words[q], letter)
                    order.append(target)
        return words
