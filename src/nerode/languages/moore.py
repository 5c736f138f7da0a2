"""Moore machines: automata with an output in each state; outputs are texts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core import MARK, InputError
from nerode.languages.alphabet import Alphabet, Word
from nerode.languages.determinise import refine
from nerode.languages.dfa import Dfa

IntArray = npt.NDArray[np.int32]


@dataclass(frozen=True, kw_only=True, eq=False)
class Moore:
    """A complete Moore machine; states are 0 … n-1.

    Two machines are equal when their tables are; canonical minimal machines (`minimise`) are equal exactly
    when they answer every word alike.

    Attributes:
        alphabet: letter i labels column i of the table.
        transitions: `transitions[q, a]` is the state after letter a in state q; read-only.
        start: the initial state.
        outputs: what is answered in each state.
    """

    alphabet: Alphabet
    transitions: IntArray
    start: int
    outputs: tuple[str, ...]

    def __post_init__(self) -> None:
        table = np.array(self.transitions, dtype=np.int32, copy=True, ndmin=2)
        n = len(self.outputs)
        if not n or table.shape != (n, len(self.alphabet)):
            raise InputError(
                f"the transition table has shape {table.shape}, "
                f"but there are {n} outputs and {len(self.alphabet)} letters"
            )
        if not 0 <= self.start < n or (table.size and not (table.min() >= 0 and table.max() < n)):
            raise InputError(f"the start or a transition is outside the states 0…{n - 1}")
        table.setflags(write=False)
        object.__setattr__(self, "transitions", table)

    @classmethod
    def explore(
        cls,
        alphabet: Alphabet,
        start: Hashable,
        advance: Callable[[Any, int], Hashable],
        answer: Callable[[Any], str],
    ) -> Moore:
        """Returns the machine whose states are what `advance` reaches from `start`; there must be few."""
        number = {start: 0}
        order = [start]
        rows = []
        for state in order:
            row = []
            for letter in range(len(alphabet)):
                target = advance(state, letter)
                if target not in number:
                    number[target] = len(order)
                    order.append(target)
                row.append(number[target])
            rows.append(row)
        table = np.array(rows, dtype=np.int32).reshape(len(order), len(alphabet))
        return cls(alphabet=alphabet, transitions=table, start=0, outputs=tuple(map(answer, order)))

    @property
    def num_states(self) -> int:
        """Number of states."""
        return len(self.outputs)

    @functools.cached_property
    def _key(self) -> tuple[Any, ...]:
        return (self.alphabet, self.start, self.transitions.tobytes(), self.outputs)

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Moore) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    @functools.cached_property
    def rows(self) -> list[list[int]]:
        """The transition table as lists, which are quicker to walk."""
        return self.transitions.tolist()  # type: ignore[no-any-return]

    def run(self, word: Sequence[int]) -> int:
        """Returns the state after a word."""
        state = self.start
        for letter in word:
            state = self.rows[state][letter]
        return state

    def trace(self, word: Sequence[int]) -> tuple[str, ...]:
        """Returns the outputs after each prefix of a word, the empty one first."""
        state = self.start
        found = [self.outputs[state]]
        for letter in word:
            state = self.rows[state][letter]
            found.append(self.outputs[state])
        return tuple(found)

    @functools.cached_property
    def classes(self) -> list[int]:
        """A label for each state; two states have one label when they answer all words alike."""
        numbers: dict[str, int] = {}
        answers = [numbers.setdefault(output, len(numbers)) for output in self.outputs]
        return refine(self.transitions, np.array(answers, dtype=np.int32)[:, None]).tolist()  # type: ignore[no-any-return]

    def minimise(self) -> Moore:
        """Returns the canonical minimal machine: states numbered breadth first, letters in order."""
        classes = self.classes
        member = {label: state for state, label in reversed(list(enumerate(classes)))}
        return Moore.explore(
            self.alphabet,
            classes[self.start],
            lambda label, letter: classes[self.rows[member[label]][letter]],
            lambda label: self.outputs[member[label]],
        )

    @functools.cached_property
    def access_words(self) -> list[Word | None]:
        """The shortest word to each state, None for a state that no word reaches."""
        found: list[Word | None] = [None] * self.num_states
        found[self.start] = ()
        order = [self.start]
        for state in order:
            word = found[state]
            assert word is not None
            for letter, target in enumerate(self.rows[state]):
                if found[target] is None:
                    found[target] = (*word, letter)
                    order.append(target)
        return found

    def distinguish(self, left: int, right: int) -> Word | None:
        """Returns the shortest word after which two states answer differently, None if there is none."""
        order: list[tuple[tuple[int, int], Word]] = [((left, right), ())]
        seen = {(left, right)}
        for (p, q), word in order:
            if self.outputs[p] != self.outputs[q]:
                return word
            for letter, pair in enumerate(zip(self.rows[p], self.rows[q], strict=True)):
                if pair not in seen and pair[0] != pair[1]:
                    seen.add(pair)
                    order.append((pair, (*word, letter)))
        return None

    @functools.cached_property
    def sinks(self) -> frozenset[int]:
        """The states that no letter leaves."""
        return frozenset(q for q, row in enumerate(self.rows) if all(t == q for t in row))

    def accepting(self, accepts: Callable[[str], bool]) -> Dfa:
        """Returns the automaton of the words whose last output is one of those named by a predicate."""
        return Dfa(
            alphabet=self.alphabet,
            transitions=self.transitions,
            start=self.start,
            accepting=np.array([accepts(output) for output in self.outputs]),
        )

    def to_json(self) -> dict[str, Any]:
        """Returns plain values."""
        return {
            "format": "nerode-moore",
            "alphabet": list(self.alphabet.symbols),
            "start": self.start,
            "outputs": list(self.outputs),
            "transitions": self.transitions.tolist(),
        }

    def to_dot(self) -> str:
        """Returns a graph in DOT; each state is labelled with its output."""
        lines = [f"// {MARK}", "digraph extracted {", "  rankdir=LR;", '  start [shape=point, label=""];']
        lines.append(f"  start -> {self.start};")
        for state, output in enumerate(self.outputs):
            lines.append(f"  {state} [shape=circle, label={_quoted(f'{state}: {output}')}];")
        for state, row in enumerate(self.rows):
            for target in dict.fromkeys(row):
                letters = ", ".join(self.alphabet.symbols[a] for a, t in enumerate(row) if t == target)
                lines.append(f"  {state} -> {target} [label={_quoted(letters)}];")
        return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
