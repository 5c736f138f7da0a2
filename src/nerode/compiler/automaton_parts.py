"""Parts of an automaton that are left for good, and windows that settle what it does inside them.

A window is a table of suffixes. A case is a prefix that ends in a block of states. Its window is read
backwards, the current letter first; position j holds the letter j places back, or NOTHING (the number of
letters) where the word begins later.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from nerode.algebra import strong_components
from nerode.compiler.forms import DirectionForm, direction
from nerode.compiler.network_builder import DEAD, legal_sets
from nerode.compiler.tables import ANY, DecisionTable, decision_table
from nerode.core import Budget, BudgetExceeded, started
from nerode.languages import Dfa, Legal

LONGEST_WINDOW = 64
"""Letters back from which nothing is looked for any more."""

MOST_SUFFIXES = 50_000
"""Suffixes that one table may have."""

V = TypeVar("V", bound=Hashable)
States = npt.NDArray[np.int32]
Pairs = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class WindowQuestion(Generic[V]):
    """A question about prefixes that a window has to settle.

    Attributes:
        asked: which states the prefix may have reached before its last letter (a bool for each).
        value: what is asked for, given the states before and after the last letter; None where any answer
            will do.
    """

    asked: npt.NDArray[np.bool_]
    value: Callable[[int, int], V | None]


def settling_length(dfa: Dfa, question: WindowQuestion[V], longest: int = LONGEST_WINDOW) -> int | None:
    """Returns how many of the last letters settle a question, the current one included; None if too many.

    The pairs of states that a letter leads to different answers are followed back, one letter a round, until
    no pair is left.
    """
    table = dfa.transitions
    apart = np.zeros((dfa.num_states, dfa.num_states), dtype=np.bool_)
    numbers: dict[V, int] = {}
    everything = set()
    for letter in range(dfa.num_letters):
        values = [
            question.value(q, int(table[q, letter])) if question.asked[q] else None for q in range(len(table))
        ]
        labels = np.array([-1 if v is None else numbers.setdefault(v, len(numbers)) for v in values])
        asked = labels >= 0
        everything.update(labels[asked].tolist())
        apart |= (labels[:, None] != labels[None, :]) & asked[:, None] & asked[None, :]
    if len(everything) <= 1:
        return 0
    for length in range(1, longest + 1):
        if not apart.any():
            return length
        following = apart
        apart = np.zeros_like(apart)
        for letter in range(dfa.num_letters):
            column = table[:, letter]
            apart |= following[column][:, column]
    return None


def suffix_table(
    dfa: Dfa, question: WindowQuestion[V], budget: Budget | None = None
) -> DecisionTable[V] | None:
    """Returns the answers by the letters of the window, or None if nothing is ever asked.

    The variables of the table are the positions of the window; `settling_length` must not be None.

    Raises:
        BudgetExceeded: if there are more than MOST_SUFFIXES suffixes.
    """
    budget = started(budget)
    patterns: list[tuple[int, ...]] = []
    values: list[V] = []
    nothing = dfa.num_letters
    table = dfa.transitions
    identity = np.arange(dfa.num_states, dtype=np.int32)
    pending: list[tuple[tuple[int, ...], States, States]]
    pending = [((a,), identity, table[:, a]) for a in reversed(range(dfa.num_letters))]
    while pending:
        suffix, before, after = pending.pop()
        if len(patterns) + len(pending) > MOST_SUFFIXES:
            raise BudgetExceeded("suffixes", MOST_SUFFIXES, remedy="use a construction without a window")
        budget.check_time(suffixes=len(patterns))
        found = _answers(question, before, after)
        if len(found) == 1:
            patterns.append(suffix)
            values.extend(found)
        elif found:
            start = _answers(question, before[[dfa.start]], after[[dfa.start]])
            if start:
                patterns.append((*suffix, nothing))
                values.extend(start)
            older = reversed(range(nothing))
            pending.extend(((*suffix, a), before[table[:, a]], after[table[:, a]]) for a in older)
    if not patterns:
        return None
    width = max(map(len, patterns))
    padded = [(*p, *(nothing if p[-1] == nothing else ANY,) * (width - len(p))) for p in patterns]
    return decision_table(padded, values, (nothing + 1,) * width, budget)


def _answers(question: WindowQuestion[V], before: States, after: States) -> set[V]:
    chosen = question.asked[before]
    pairs = set(zip(before[chosen].tolist(), after[chosen].tolist(), strict=True))
    return {value for p, q in pairs if (value := question.value(p, q)) is not None}


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The states of an automaton, split into parts such that no word returns to a part that was left.

    Attributes:
        dfa: the automaton.
        of: the part of each state.
        names: what each part is called.
        kind: in a few words, how the states were split.
    """

    dfa: Dfa
    of: tuple[int, ...]
    names: tuple[str, ...]
    kind: str

    @property
    def start(self) -> int:
        """The part of the start state."""
        return self.of[self.dfa.start]

    @functools.cached_property
    def following(self) -> list[list[int]]:
        """For each part the other parts that one letter leads to from it."""
        found: list[set[int]] = [set() for _ in self.names]
        for q, row in enumerate(self.dfa.transitions.tolist()):
            found[self.of[q]].update(self.of[target] for target in row)
        return [sorted(targets - {part}) for part, targets in enumerate(found)]

    def moves(self, part: int) -> WindowQuestion[int]:
        """Asks into which part a letter leads from this one."""
        return WindowQuestion(asked=np.array(self.of) == part, value=lambda before, after: self.of[after])

    def answers(self, part: int) -> WindowQuestion[Legal]:
        """Asks what is legal in a part."""
        legal = legal_sets(self.dfa)
        return WindowQuestion(
            asked=np.ones(self.dfa.num_states, dtype=np.bool_),
            value=lambda before, after: legal[after] if self.of[after] == part else None,
        )

    def window(self) -> int | None:
        """Returns how many of the last letters settle all questions; None if no window does."""
        longest = 0
        for part in range(len(self.names)):
            lengths = (
                settling_length(self.dfa, self.moves(part)),
                settling_length(self.dfa, self.answers(part)),
            )
            for length in lengths:
                if length is None:
                    return None
                longest = max(longest, length)
        return longest


def one_part(dfa: Dfa) -> Parts:
    """Returns the automaton in one piece."""
    return Parts(dfa=dfa, of=(0,) * dfa.num_states, names=("anywhere",), kind="definite")


def partitions(dfa: Dfa) -> Iterator[Parts]:
    """Yields ways to split an automaton, fewer parts first."""
    yield one_part(dfa)
    live = dfa.live.tolist()
    if not all(live):
        yield Parts(
            dfa=dfa,
            of=tuple(0 if alive else 1 for alive in live),
            names=("alive", DEAD),
            kind="strictly local",
        )
    components = strong_components(dfa.transitions.tolist())
    names = [
        (DEAD if not live[members[0]] else f"q{members[0]}") if len(members) == 1 else f"component {i}"
        for i, members in enumerate(components)
    ]
    of = [0] * dfa.num_states
    for part, members in enumerate(components):
        for q in members:
            of[q] = part
    single = all(len(members) == 1 for members in components)
    kind = "partially ordered" if single else "settled by windows inside its components"
    yield Parts(dfa=dfa, of=tuple(of), names=tuple(names), kind=kind)


class Flags:
    """Set-once flags for the parts, and the layer of each.

    A part that is not the first has a flag "reached", called like the part. A part that can be left in
    several ways also has a flag "left", so that a later letter does not seem to leave it once more in
    another way; where there is one way only, the flag of the next part says the same.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._names: dict[str, tuple[int, bool]] = {}
        for part, name in enumerate(parts.names):
            if part != parts.start:
                self._names[name] = (part, False)
            if len(parts.following[part]) > 1:
                self._names[_left(name)] = (part, True)
        self._depths: dict[str, int] = {}
        while len(self._depths) < len(self._names):
            for name in self._names:
                below = self._below(name)
                if name not in self._depths and all(flag in self._depths for flag in below):
                    self._depths[name] = 1 + max((self._depths[flag] for flag in below), default=0)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def depth(self) -> int:
        """Number of layers."""
        return max(self._depths.values(), default=0)

    def at(self, depth: int) -> list[str]:
        """Returns the flags of a layer."""
        return [name for name in self._names if self._depths[name] == depth]

    def sources(self, name: str) -> list[int]:
        """Returns the parts from which a letter can set a flag."""
        part, leaving = self._names[name]
        if leaving:
            return [part]
        return [source for source, targets in enumerate(self._parts.following) if part in targets]

    def targets(self, name: str, source: int) -> frozenset[int]:
        """Returns the parts such that moving there from a source sets a flag."""
        part, leaving = self._names[name]
        return frozenset(self._parts.following[source]) if leaving else frozenset((part,))

    def was_there(self, name: str, source: int) -> list[DirectionForm]:
        """Returns literals that say that a letter can set the flag from this source.

        Where there is one way out of the source, "not yet left" is not asked for: the flag is then set
        already. A flag "left" does not ask for it either, for the same reason.
        """
        return [
            1 - direction(old_name(flag)) if self._names[flag][1] else direction(old_name(flag))
            for flag in self._read(name, source)
        ]

    def is_there(self, part: int) -> list[DirectionForm]:
        """Returns literals that say that the automaton is in a part after the letter."""
        name = self._parts.names[part]
        found = [] if part == self._parts.start else [direction(name)]
        following = self._parts.following[part]
        if following:
            found.append(
                1 - direction(_left(name) if len(following) > 1 else self._parts.names[following[0]])
            )
        return found

    def is_read(self, name: str) -> bool:
        """Whether a later layer reads a flag's value before the letter."""
        return any(name in self._below(other) for other in self._names)

    def _below(self, name: str) -> set[str]:
        return {flag for source in self.sources(name) for flag in self._read(name, source)}

    def _read(self, name: str, source: int) -> list[str]:
        """The flags whose old values decide whether a letter sets a flag from a source."""
        _, leaving = self._names[name]
        called = self._parts.names[source]
        found = [] if source == self._parts.start else [called]
        if len(self._parts.following[source]) > 1 and not leaving:
            found.append(_left(called))
        return found


def old_name(flag: str) -> str:
    """Returns the direction of a flag's value before the letter."""
    return f"{flag}'"


def _left(name: str) -> str:
    return f"left {name}"
