"""Section-labelled holonomy: one chain of levels for a whole automaton, with or without a window of letters.

With a window of the last j letters w the chain begins at the set Q·w instead of Q, so the levels above it
are not needed. Before the word has j letters the state is known exactly.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from nerode.algebra.cascades.assembly import Carrier, CascadeBuilder, ChainAssembly
from nerode.algebra.cascades.chains import ChainBuilder, Context
from nerode.algebra.cascades.lookups import Lookup, Row, letter
from nerode.algebra.cascades.records import Cascade
from nerode.algebra.cascades.sections import Levels
from nerode.algebra.cascades.skeleton import Skeleton
from nerode.algebra.components import whole_action
from nerode.core.budget import Budget
from nerode.languages.dfa import Dfa


def holonomy_cascade(dfa: Dfa, budget: Budget | None = None, *, window: int = 0) -> Cascade:
    """Returns the cascade of one chain over all states.

    A level is a set-reset component, or a permutation component where a group permutes the tiles.

    Args:
        dfa: any automaton; the states of the cascade are its states.
        budget: its `images` bound the images and its `elements` the windows.
        window: how many letters before the current one may be read.

    Raises:
        BudgetExceeded: if there are too many images or windows.

    Implements: [Eilenberg1976], [EgriNagyNehaniv2015], with sections.
    """
    builder = CascadeBuilder(dfa.num_letters, window)
    levels = Levels(Skeleton(whole_action(dfa), budget))
    state = add_holonomy(builder, dfa, levels)
    kind = "section-labelled holonomy" if not any(levels.has_group) else "permutation-reset holonomy"
    front = f" behind a window of {window} letter{'s' * (window > 1)}" if window else ""
    return builder.build(state=state, num_states=dfa.num_states, route=f"{kind} of the whole automaton{front}")


def add_holonomy(builder: CascadeBuilder, dfa: Dfa, levels: Levels, name: str = "") -> Carrier:
    """Adds the chain of an automaton to a builder; returns where its state is said.

    Args:
        builder: what to add to; its window is used.
        dfa: the automaton.
        levels: of the images of all its states.
        name: what to call the chain in the names of levels.
    """
    front = _Front(dfa, levels.skeleton, builder.window)
    contexts = {w: front.context(w) for w in front.words(1, builder.window + 1)}
    images = {w: front.image(w) for w in front.words(0, builder.window)}
    chain = ChainBuilder(
        levels,
        contexts=contexts.values(),
        images=images.values(),
        start=(dfa.start, images[()]),
    )
    assembly = ChainAssembly(builder, chain.build(), name)
    if any(stage.components for stage in assembly.stages):
        kinds = {w: assembly.kind(context) for w, context in contexts.items()}
        assembly.add_levels(front.add(builder, f"{name}front", kinds, builder.window + 1))
    state = assembly.add_reading(front.add(builder, f"{name}window", images, builder.window))
    return Carrier(state.number, tuple(levels.skeleton.point(image) for image in state.meanings))


@dataclass(frozen=True, kw_only=True)
class _Leaf:
    """Letters that settle a result, latest first."""

    letters: tuple[int, ...]
    result: int


class _Front:
    """What the last letters say: sets of states and contexts."""

    def __init__(self, dfa: Dfa, skeleton: Skeleton, window: int) -> None:
        self.dfa = dfa
        self.skeleton = skeleton
        self.window = window
        columns = [tuple(column) for column in dfa.transitions.T.tolist()]
        number = {row: j for j, row in enumerate(skeleton.action.maps)}
        self.map_of = [number[column] for column in columns]

    def words(self, least: int, most: int) -> Iterator[tuple[int, ...]]:
        """Yields the words of a range of lengths, as what looking back shows: latest letter first."""
        count = 0
        for length in range(least, most + 1):
            for word in itertools.product(range(self.dfa.num_letters), repeat=length):
                count += 1
                self.skeleton.budget.check("elements", count, window=self.window)
                yield word

    def image(self, recent: Sequence[int]) -> int:
        """Returns the set of states in which the automaton can be after the last letters, latest first.

        If they are fewer than the window they are the whole word.
        """
        image = 0 if len(recent) == self.window else self.skeleton.singleton(self.dfa.start)
        for symbol in reversed(recent):
            image = self.skeleton.after[self.map_of[symbol]][image]
        return image

    def context(self, recent: Sequence[int]) -> Context:
        """Returns the context of a letter (the latest) after the others."""
        before = self.image(recent[1:])
        return Context(self.map_of[recent[0]], before, self.image(recent[: self.window]))

    def add(
        self, builder: CascadeBuilder, name: str, results: dict[tuple[int, ...], int], length: int
    ) -> Carrier:
        """Adds the lookup from the last letters to a result for each view of a word; a constant needs none."""
        meanings = list(dict.fromkeys(results.values()))
        if len(meanings) == 1:
            return Carrier(self._constant(builder, name) if length > self.window else None, tuple(meanings))
        number = {meaning: i for i, meaning in enumerate(meanings)}
        leaves = self._leaves(results, length)
        otherwise: list[int] = []
        rows: list[Row] = []
        for first in range(self.dfa.num_letters + 1):
            mine = [leaf for leaf in leaves if leaf.letters[0] == first]
            counts: dict[Hashable, int] = {}
            for leaf in mine:
                counts[leaf.result] = counts.get(leaf.result, 0) + 1
            common = max(counts, key=counts.__getitem__) if counts else meanings[0]
            otherwise.append(number[common])  # type: ignore[index]
            for leaf in mine:
                if leaf.result != common:
                    rows.append(Row(tuple(enumerate(leaf.letters)), number[leaf.result]))
        depth = 1 + max((position for row in rows for position, _ in row.literals), default=0)
        table = Lookup(
            name=name,
            num_values=len(meanings),
            reads=tuple(letter(i) for i in range(depth)),
            otherwise=tuple(otherwise),
            rows=tuple(rows),
        )
        return Carrier(builder.add_lookup(table), tuple(meanings))

    def _constant(self, builder: CascadeBuilder, name: str) -> int:
        return builder.add_lookup(Lookup(name=name, num_values=1, reads=(), otherwise=(0,)))

    def _leaves(self, results: dict[tuple[int, ...], int], length: int) -> list[_Leaf]:
        """Returns the shortest looks back that settle the result, the value before the word included."""
        missing = self.dfa.num_letters
        padded = {(*w, *(missing,) * (length - len(w))): result for w, result in results.items()}
        leaves = []
        pending = [((), padded)] if padded else []
        while pending:
            looked, inside = pending.pop()
            settled = set(inside.values())
            if len(settled) == 1 and looked:
                leaves.append(_Leaf(letters=looked, result=settled.pop()))
                continue
            split: dict[int, dict[tuple[int, ...], int]] = {}
            for w, result in inside.items():
                split.setdefault(w[len(looked)], {})[w] = result
            pending.extend(((*looked, symbol), part) for symbol, part in split.items())
        return sorted(leaves, key=lambda leaf: leaf.letters)
