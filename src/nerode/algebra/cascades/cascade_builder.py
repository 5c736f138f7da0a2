"""From the stages of chains to the record: levels, contexts and readings as lookups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from nerode.algebra.cascades.chains import (
    Choice,
    Component,
    ContextNode,
    ImageChoice,
    LetterContext,
    StageBlock,
)
from nerode.algebra.cascades.lookups import LETTER, Lookup, LookupRow, Source, lookup, new, old
from nerode.algebra.cascades.records import Cascade, Level

Leaf = tuple[tuple[tuple[Source, int], ...], int]
"""Literals (source, value) and the result where all of them hold."""

Tree = list[Leaf]
"""Leaves of a decision tree: one and only one of them holds; their first literals read one source."""

Place = tuple[int, int, int]
"""A level of a chain: number of the block, of the stage in it, of the component in it."""

Decision = int | tuple[Place, tuple["Decision | None", ...]]
"""A result, or the level whose label decides and what follows by label (None if it cannot occur)."""


class DecodedLookup(NamedTuple):
    """A lookup (None for a constant) and what each of its values stands for."""

    number: int | None
    meanings: tuple[int, ...]


class CascadeBuilder:
    """Builder of a `Cascade`: levels and lookups, added in order."""

    def __init__(self, num_letters: int) -> None:
        self.num_letters = num_letters
        self.levels: list[Level] = []
        self.lookups: list[Lookup] = []
        self.level_depths: list[int] = []
        self.lookup_depths: list[int] = []

    def add_lookup(self, table: Lookup) -> int:
        """Adds a lookup and returns its number."""
        self.lookups.append(table)
        self.lookup_depths.append(max(map(self.source_depth, table.reads), default=0))
        return len(self.lookups) - 1

    def add_level(self, level: Level) -> int:
        """Adds a level and returns its number."""
        self.levels.append(level)
        self.level_depths.append(1 + self.lookup_depths[level.context])
        return len(self.levels) - 1

    def source_depth(self, source: Source) -> int:
        """Returns the layer after which a source is known."""
        if source.kind == "letter":
            return 0
        return (self.lookup_depths if source.kind == "lookup" else self.level_depths)[source.number]

    def build(self, *, state: DecodedLookup, num_states: int, route: str) -> Cascade:
        """Returns the record; `state` must mean states of the automaton."""
        number = self._add_state(state, num_states)
        return Cascade(
            num_letters=self.num_letters,
            levels=tuple(self.levels),
            lookups=tuple(self.lookups),
            state=number,
            num_states=num_states,
            route=route,
        )

    def _add_state(self, state: DecodedLookup, num_states: int) -> int:
        if state.number is None:
            table = Lookup(name="state", num_values=num_states, reads=(), otherwise=state.meanings)
            return self.add_lookup(table)
        table = self.lookups[state.number]
        self.lookups[state.number] = Lookup(
            name="state",
            num_values=num_states,
            reads=table.reads,
            otherwise=tuple(state.meanings[v] for v in table.otherwise),
            rows=tuple(LookupRow(row.literals, state.meanings[row.value]) for row in table.rows),
        )
        return state.number

    def add_letter_classes(self, name: str, meanings: Sequence[int]) -> DecodedLookup:
        """Adds the lookup from the letter to a meaning for each letter."""
        values = {meaning: value for value, meaning in enumerate(dict.fromkeys(meanings))}
        table = Lookup(
            name=name,
            num_values=len(values),
            reads=(LETTER,),
            otherwise=tuple(values[meaning] for meaning in meanings),
        )
        return DecodedLookup(self.add_lookup(table), tuple(values))

    def follow(self, name: str, decoded: DecodedLookup, trees: Sequence[Tree]) -> DecodedLookup:
        """Returns the lookup of the results of decision trees, one tree for each value of a lookup.

        A new lookup is added only if some tree has more than one leaf.
        """
        if all(len(tree) == 1 for tree in trees):
            return DecodedLookup(decoded.number, tuple(tree[0][1] for tree in trees))
        if decoded.number is not None:
            return self.add_trees(name, lookup(decoded.number), dict(enumerate(trees)))
        (tree,) = trees
        first = tree[0][0][0][0]
        by_value: dict[int, Tree] = {}
        for literals, result in tree:
            by_value.setdefault(literals[0][1], []).append((literals[1:], result))
        missing = set(range(self.levels[first.number].num_labels)) - by_value.keys()
        by_value.update({value: [((), tree[0][1])] for value in missing})
        return self.add_trees(name, first, by_value)

    def add_trees(self, name: str, first: Source, trees: Mapping[int, Tree]) -> DecodedLookup:
        """Adds the lookup that goes through a decision tree for each value of its first source."""
        meanings: dict[int, int] = {}
        sources = dict.fromkeys(s for v in sorted(trees) for literals, _ in trees[v] for s, _ in literals)
        position = {source: i for i, source in enumerate([first, *sources])}
        otherwise: list[int] = []
        rows: list[LookupRow] = []
        for value in sorted(trees):
            common = Counter(result for _, result in trees[value]).most_common(1)[0][0]
            otherwise.append(meanings.setdefault(common, len(meanings)))
            for literals, result in trees[value]:
                if result != common:
                    placed = sorted((position[source], wanted) for source, wanted in literals)
                    rows.append(LookupRow(((0, value), *placed), meanings.setdefault(result, len(meanings))))
        table = Lookup(
            name=name,
            num_values=len(meanings),
            reads=tuple(position),
            otherwise=tuple(otherwise),
            rows=tuple(rows),
        )
        return DecodedLookup(self.add_lookup(table), tuple(meanings))


class ChainWriter:
    """Puts the blocks of one chain into a builder.

    Leaders that command the same now and in all later blocks are one value of a context lookup.

    Args:
        builder: what to add to.
        blocks: top first.
        name: what to call the chain in the names of its levels.
    """

    def __init__(self, builder: CascadeBuilder, blocks: Sequence[StageBlock], name: str = "") -> None:
        self.builder = builder
        self.blocks = blocks
        self.name = name
        self.level_of: dict[Place, int] = {}
        self._kinds, self._moves = _merge_leaders(blocks)

    def kind(self, context: LetterContext) -> int:
        """Returns a number that contexts at the top share if they are alike."""
        return self._kinds[0][self.blocks[0].leaders.index(context)] if self.blocks else 0

    @property
    def has_levels(self) -> bool:
        """Whether there is a level at all."""
        return any(
            c.num_labels > 1 for block in self.blocks for stage in block.stages for c in stage.components
        )

    def add_levels(self, decoded: DecodedLookup) -> None:
        """Adds the levels and their contexts; `decoded` stands for kinds of contexts at the top."""
        for b, block in enumerate(self.blocks):
            leader = {kind: i for i, kind in reversed(list(enumerate(self._kinds[b])))}
            leaders = [leader[kind] for kind in decoded.meanings]
            for s, stage in enumerate(block.stages):
                for c, component in enumerate(stage.components):
                    if component.num_labels > 1:
                        self.level_of[b, s, c] = self._add_level(component, decoded, leaders)
            if b + 1 < len(self.blocks):
                trees = [self._leaves(self._moves[b][i], old) for i in leaders]
                decoded = self.builder.follow(
                    f"{self.name}context after level {len(self.level_of)}", decoded, trees
                )

    def _add_level(self, component: Component, decoded: DecodedLookup, leaders: Sequence[int]) -> int:
        if decoded.number is None:
            raise AssertionError("a level without a context")
        return self.builder.add_level(
            Level(
                name=f"{self.name}{len(self.level_of) + 1}",
                num_labels=component.num_labels,
                start=component.start,
                context=decoded.number,
                commands=tuple(component.commands[i] for i in leaders),
            )
        )

    def _leaves(self, decision: Decision, source: Callable[[int], Source]) -> Tree:
        """Returns a decision as leaves with literals on levels of the cascade."""
        leaves: Tree = []
        pending: list[tuple[tuple[tuple[Source, int], ...], Decision]] = [((), decision)]
        while pending:
            literals, current = pending.pop()
            if isinstance(current, int):
                leaves.append((literals, current))
                continue
            place, options = current
            level = source(self.level_of[place])
            for label, option in reversed(list(enumerate(options))):
                if option is not None:
                    pending.append(((*literals, (level, label)), option))
        return leaves

    def add_reading(self, decoded: DecodedLookup, source: Callable[[int], Source] = new) -> DecodedLookup:
        """Adds the lookups that follow the labels from image to image; returns the lookup of the last image.

        Args:
            decoded: the lookup of the image where decoding begins.
            source: `new` to read labels after the letter, `old` to read them before it.
        """
        decoded, trees = self.add_most_of_reading(decoded, source)
        return self.builder.follow(f"{self.name}{source(0).kind} point", decoded, trees)

    def add_most_of_reading(
        self, decoded: DecodedLookup, source: Callable[[int], Source]
    ) -> tuple[DecodedLookup, list[Tree]]:
        """Adds all lookups of a reading but the last; returns the arguments of the last one."""
        trees: list[Tree] = [[((), image)] for image in decoded.meanings]
        depth = 0
        for b, block in enumerate(self.blocks):
            depths = [
                self.builder.level_depths[level] for place, level in self.level_of.items() if place[0] == b
            ]
            if max(depths, default=0) > depth:
                decoded = self.builder.follow(
                    f"{self.name}{source(0).kind} image before block {b + 1}", decoded, trees
                )
                trees = [[((), image)] for image in decoded.meanings]
                depth = max(depths)
            leaves = self._reading_leaves(b, block, source)
            trees = [
                [((*literals, *more), result) for literals, image in tree for more, result in leaves[image]]
                for tree in trees
            ]
        return decoded, trees

    def _reading_leaves(self, b: int, block: StageBlock, source: Callable[[int], Source]) -> dict[int, Tree]:
        """Returns for each image at the beginning of a block the images at its end."""
        decisions: dict[int, Decision | None] = {}
        for s, stage in reversed(list(enumerate(block.stages))):
            result = decisions.__getitem__ if decisions else int
            decisions = {image: _decide((b, s), reading, result) for image, reading in stage.readings.items()}
        return {image: self._leaves(d, source) for image, d in decisions.items() if d is not None}


def _decide(
    place: tuple[int, int], choice: Choice | ImageChoice, result: Callable[[Any], Decision | None]
) -> Decision | None:
    """Returns the decision by the label of a component at a place; what cannot occur is left out.

    If all labels that can occur lead to one result, there is nothing to decide.
    """
    options = [None if f is None else result(f) for f in choice.following]
    known = {option for option in options if option is not None}
    if len(known) == 1:
        return known.pop()
    if not known:
        return None
    if choice.component is None:
        raise AssertionError("a choice without a level that decides it")
    return (*place, choice.component), tuple(options)


def _merge_leaders(blocks: Sequence[StageBlock]) -> tuple[list[list[int]], list[list[Decision]]]:
    """Returns for each block the kinds of its leaders, and the decisions to which kinds they lead.

    Two leaders are of one kind if all commands from there on are the same.
    """
    kinds: list[list[int]] = [[] for _ in blocks]
    moves: list[list[Decision]] = [[] for _ in blocks]
    following: list[int] = []
    for b in range(len(blocks) - 1, -1, -1):
        block = blocks[b]
        decisions: dict[ContextNode, Decision | None] = {}
        for s, stage in reversed(list(enumerate(block.stages))):
            result = decisions.__getitem__ if s + 1 < len(block.stages) else partial(_leader_kind, following)
            decisions = {node: _decide((b, s), choice, result) for node, choice in stage.moves.items()}
        levels = [c for stage in block.stages for c in stage.components if c.num_labels > 1]
        numbers: dict[Hashable, int] = {}
        for i, context in enumerate(block.leaders):
            move = decisions.get(ContextNode(i, context))
            commands = tuple(level.commands[i] for level in levels)
            kinds[b].append(numbers.setdefault((commands, move), len(numbers)))
            moves[b].append(0 if move is None else move)
        following = kinds[b]
    return kinds, moves


def _leader_kind(kinds: Sequence[int], node: ContextNode) -> int:
    return kinds[node.leader] if kinds else 0
