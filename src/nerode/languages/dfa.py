"""Complete deterministic finite automata as integer tables."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core import Budget, InputError, Shown, charge, started
from nerode.languages.alphabet import Alphabet, Word, WordLike

IntArray = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Dfa(Shown):
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
        accepting = np.array(self.accepting, copy=True)
        if accepting.ndim != 1 or not len(accepting):
            raise InputError(
                f"`accepting` has shape {accepting.shape}; give one truth value for each state (at least one)"
            )
        if accepting.dtype != np.bool_:
            raise InputError(
                f"`accepting` has the type {accepting.dtype}; give one truth value for each state, "
                "not the numbers of the accepting states"
            )
        n = len(accepting)
        transitions = np.array(self.transitions, copy=True, ndmin=2)
        if transitions.shape != (n, len(self.alphabet)):
            raise InputError(
                f"the transition table has shape {transitions.shape}, "
                f"but there are {n} states and {len(self.alphabet)} letters"
            )
        if transitions.size and not np.issubdtype(transitions.dtype, np.integer):
            raise InputError(f"the transition table has the type {transitions.dtype}; states are integers")
        # Before the cast to int32, which would wrap a large number around into the range.
        if transitions.size and (transitions.min() < 0 or transitions.max() >= n):
            raise InputError(f"a transition leads outside the states 0…{n - 1}")
        start = operator.index(self.start)
        if not 0 <= start < n:
            raise InputError(f"the start state {start} is outside the states 0…{n - 1}")
        transitions = transitions.astype(np.int32)
        transitions.setflags(write=False)
        accepting.setflags(write=False)
        object.__setattr__(self, "transitions", transitions)
        object.__setattr__(self, "accepting", accepting)
        object.__setattr__(self, "start", start)

    @classmethod
    def build(
        cls,
        symbols: Iterable[str],
        step: Mapping[Any, Mapping[str, Any]] | Callable[[Any, str], Any],
        *,
        start: Any,
        accept: Callable[[Any], bool] | Iterable[Any],
        budget: Budget | None = None,
    ) -> Dfa:
        """Returns the automaton whose states are what `step` reaches from `start`.

        Args:
            symbols: the alphabet, in order.
            step: a function of state and symbol, or a table state → symbol → state; a result of None
                stands for one dead state.
            start: any hashable value.
            accept: a predicate on states or the collection of accepting ones.
            budget: limits the number of states, for a `step` that may reach too many.

        Raises:
            InputError: if a table has a symbol that is not in the alphabet.
            BudgetExceeded: if more states are reached than the budget allows.
        """
        alphabet = Alphabet(tuple(symbols))
        budget = started(budget)
        move = step if callable(step) else _table_move(step, alphabet)
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
            budget.check("states", len(order), states_reached=len(order))
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
        if not isinstance(other, Dfa):
            return NotImplemented
        return self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return (
            f"Dfa({self.num_states} states, {{{self.alphabet.describe()}}}, start {self.start}, "
            f"{int(self.accepting.sum())} accepting)"
        )

    def run(self, word: WordLike, *, state: int | None = None) -> int:
        """Returns the state after a word, from the start or from `state`."""
        q = self.start if state is None else self._state(state)
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

    def action(self, word: WordLike) -> IntArray:
        """Returns the map that a word induces on the states: `action(w)[q]` is q·w."""
        image = np.arange(self.num_states, dtype=np.int32)
        for i, letter in enumerate(self.alphabet.encode(word)):
            if i % 256 == 0:
                charge()
            image = self.transitions[image, letter]
        return image

    @functools.cached_property
    def live(self) -> BoolArray:
        """For each state, whether it can still reach an accepting state."""
        n = self.num_states
        targets = self.transitions.ravel()
        by_target = np.argsort(targets, kind="stable")
        sources = (by_target // max(1, self.num_letters)).tolist()
        first = np.searchsorted(targets[by_target], np.arange(n + 1)).tolist()
        found = bytearray(self.accepting.tobytes())
        pending = np.flatnonzero(self.accepting).tolist()
        for q in pending:
            for p in sources[first[q] : first[q + 1]]:
                if not found[p]:
                    found[p] = 1
                    pending.append(p)
        live = np.frombuffer(bytes(found), dtype=np.bool_)
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
    def _tree(self) -> tuple[list[int], list[int], list[int]]:
        """The breadth-first tree: states as they are found, then parent and letter by state (-1: none)."""
        rows = self.transitions.tolist()
        parent = [-1] * self.num_states
        through = [-1] * self.num_states
        seen = bytearray(self.num_states)
        seen[self.start] = 1
        order = [self.start]
        for q in order:
            for letter, target in enumerate(rows[q]):
                if not seen[target]:
                    seen[target] = 1
                    parent[target] = q
                    through[target] = letter
                    order.append(target)
        return order, parent, through

    @functools.cached_property
    def breadth_first(self) -> IntArray:
        """The reachable states, in the order of their access words (by length, then by alphabet)."""
        order = np.array(self._tree[0], dtype=np.int32)
        order.setflags(write=False)
        return order

    def access_word(self, state: int) -> Word:
        """Returns the shortest word (first in alphabet order) that leads from the start to a state.

        Raises:
            InputError: if no word leads there.
        """
        _, parent, through = self._tree
        q = self._state(state)
        letters: list[int] = []
        while q != self.start:
            if parent[q] < 0:
                raise InputError(f"no word leads to the state {state}; `trim` removes such states")
            letters.append(through[q])
            q = parent[q]
        return tuple(reversed(letters))

    def _state(self, state: int) -> int:
        """Returns a state given by the user, or says that there is none such."""
        if not 0 <= state < self.num_states:
            raise InputError(f"the state {state} is outside the states 0…{self.num_states - 1}")
        return state


def _table_move(table: Mapping[Any, Mapping[str, Any]], alphabet: Alphabet) -> Callable[[Any, str], Any]:
    """Returns the step function of a table whose symbols are all in the alphabet."""
    for row in table.values():
        for symbol in row:
            alphabet.index(symbol)
    return lambda state, symbol: table.get(state, {}).get(symbol)
