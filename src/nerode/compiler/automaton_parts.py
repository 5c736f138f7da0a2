"""Parts of an automaton that are left for good, and the flags that say which of them was reached."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nerode.algebra import strong_components
from nerode.compiler.assembly import DEAD, legal_sets
from nerode.compiler.forms import Form, direction
from nerode.compiler.suffixes import Question, settling_length
from nerode.languages import Dfa, Legal


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

    def moves(self, part: int) -> Question[int]:
        """Asks into which part a letter leads from this one."""
        return Question(asked=np.array(self.of) == part, value=lambda before, after: self.of[after])

    def answers(self, part: int) -> Question[Legal]:
        """Asks what is legal in a part."""
        legal = legal_sets(self.dfa)
        return Question(
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

    def was_there(self, name: str, source: int) -> list[Form]:
        """Returns literals that say that a letter can set the flag from this source.

        Where there is one way out of the source, "not yet left" is not asked for: the flag is then set
        already. A flag "left" does not ask for it either, for the same reason.
        """
        return [
            1 - direction(old_name(flag)) if self._names[flag][1] else direction(old_name(flag))
            for flag in self._read(name, source)
        ]

    def is_there(self, part: int) -> list[Form]:
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
