"""The part of an automaton that is drawn: states, arrows with their letters as text, ranks from the start."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from nerode.languages import Alphabet, Dfa
from nerode.study import shorten


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
        names: of the states; empty where they are called by their numbers.
    """

    dfa: Dfa
    rank: dict[int, int]
    arrows: tuple[Arrow, ...]
    hidden: tuple[int, ...]
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, dfa: Dfa, *, show_dead: bool = False, names: Sequence[str] = ()) -> Diagram:
        """Returns what is drawn of an automaton.

        States that the start does not reach are never drawn. Dead states, from which no word is accepted,
        are drawn if `show_dead` asks for it or if the start itself is dead.
        """
        live = dfa.live.tolist()
        keep_dead = show_dead or not live[dfa.start]
        rows = dfa.transitions.tolist()
        rank = {dfa.start: 0}
        order = [dfa.start]
        hidden = set()
        for q in order:
            for target in rows[q]:
                if not keep_dead and not live[target]:
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
            [Arrow(source=q, target=p, letters=tuple(found)) for (q, p), found in sorted(letters.items())]
        )
        return cls(dfa=dfa, rank=rank, arrows=arrows, hidden=tuple(sorted(hidden)), names=tuple(names))

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


def letters_label(alphabet: Alphabet, letters: Collection[int], *, limit: int = 14) -> str:
    """Returns a short text for a set of letters: "a, b", "all but c", "Σ" or a cut list.

    "Σ" stands for the whole alphabet when it has more than three letters; the caller explains it. Where Σ
    is itself a letter, the text is "all".

    Args:
        alphabet: the whole alphabet.
        letters: numbers of the letters on the arrow.
        limit: how many characters the text may take.
    """
    chosen = sorted(letters)
    listed = ", ".join(alphabet.symbols[a] for a in chosen)
    if len(chosen) == len(alphabet) and len(chosen) > 3:
        return "all" if "Σ" in alphabet else "Σ"
    missing = [alphabet.symbols[a] for a in range(len(alphabet)) if a not in set(chosen)]
    if len(chosen) > 3 and 0 < len(missing) <= 2:
        text = "all but " + ", ".join(missing)
        if len(text) <= limit + 8 and len(text) < len(listed):
            return text
    if len(listed) <= limit:
        return listed
    if len(chosen) == 1:
        return shorten(listed, limit)
    kept: list[str] = []
    for a in chosen:
        symbol = alphabet.symbols[a]
        if len(", ".join([*kept, symbol])) > limit - 4:
            break
        kept.append(symbol)
    kept = kept or [shorten(alphabet.symbols[chosen[0]], limit - 4)]
    return f"{', '.join(kept)}, … +{len(chosen) - len(kept)}"
