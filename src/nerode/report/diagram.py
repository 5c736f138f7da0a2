"""The part of an automaton that is drawn: states, arrows with merged letters, ranks from the start."""

from __future__ import annotations

from dataclasses import dataclass

from nerode.languages import Dfa


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """All transitions from one state to another."""

    source: int
    target: int
    letters: tuple[int, ...]

    @property
    def is_loop(self) -> bool:
        """Whether it leads back to its own state."""
        return self.source == self.target


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagram:
    """The states of a Dfa that are drawn, and the arrows between them.

    Attributes:
        dfa: the automaton.
        rank: distance from the start for each drawn state, in the order of discovery.
        arrows: sorted by source and target.
        hidden: the dead states that are left out.
    """

    dfa: Dfa
    rank: dict[int, int]
    arrows: tuple[Arrow, ...]
    hidden: tuple[int, ...]

    @classmethod
    def of(cls, dfa: Dfa, *, show_dead: bool = False) -> Diagram:
        """Returns what is drawn of an automaton.

        States that the start does not reach are never drawn. Dead states, from which no word is accepted,
        are drawn if `show_dead` asks for it or if the start itself is dead.
        """
        keep_dead = show_dead or not dfa.live[dfa.start]
        rows = dfa.transitions.tolist()
        rank = {dfa.start: 0}
        order = [dfa.start]
        hidden = set()
        for q in order:
            for target in rows[q]:
                if not keep_dead and not dfa.live[target]:
                    hidden.add(target)
                elif target not in rank:
                    rank[target] = rank[q] + 1
                    order.append(target)
        letters: dict[tuple[int, int], list[int]] = {}
        for q in order:
            for letter, target in enumerate(rows[q]):
                if target in rank:
                    letters.setdefault((q, target), []).append(letter)
        arrows = tuple(
            Arrow(source=q, target=p, letters=tuple(found)) for (q, p), found in sorted(letters.items())
        )
        return cls(dfa=dfa, rank=rank, arrows=arrows, hidden=tuple(sorted(hidden)))

    @property
    def states(self) -> tuple[int, ...]:
        """The drawn states, nearest to the start first."""
        return tuple(self.rank)

    @property
    def loops(self) -> frozenset[int]:
        """The states with an arrow to themselves."""
        return frozenset(arrow.source for arrow in self.arrows if arrow.is_loop)

    def has_arrow(self, source: int, target: int) -> bool:
        """Whether there is an arrow between two states in this direction."""
        return any(arrow.source == source and arrow.target == target for arrow in self.arrows)
