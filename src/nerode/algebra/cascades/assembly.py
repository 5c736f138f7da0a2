"""From the stages of chains to the record: levels, contexts and readings as lookups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

from nerode.algebra.cascades.chains import Context, Stage
from nerode.algebra.cascades.lookups import Lookup, Row, Source, lookup, new, old
from nerode.algebra.cascades.records import Cascade, Level

Leaf = tuple[tuple[tuple[Source, int], ...], int]
"""Literals (source, value) and the result where all of them hold."""

Tree = list[Leaf]
"""Leaves of a decision tree: one and only one of them holds; their first literals read one source."""


class Carrier(NamedTuple):
    """Where a meaning can be read: a lookup (None for a constant) and the meaning of each of its values."""

    number: int | None
    meanings: tuple[int, ...]


class CascadeBuilder:
    """Collects levels and lookups; see `Cascade` for what they are."""

    def __init__(self, num_letters: int, window: int = 0) -> None:
        self.num_letters = num_letters
        self.window = window
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

    def build(self, *, state: Carrier, num_states: int, route: str) -> Cascade:
        """Returns the record; `state` must mean states of the automaton."""
        number = self._add_state(state, num_states)
        return Cascade(
            num_letters=self.num_letters,
            window=self.window,
            levels=tuple(self.levels),
            lookups=tuple(self.lookups),
            state=number,
            num_states=num_states,
            route=route,
        )

    def _add_state(self, state: Carrier, num_states: int) -> int:
        if state.number is None:
            table = Lookup(name="state", num_values=num_states, reads=(), otherwise=state.meanings)
            return self.add_lookup(table)
        table = self.lookups[state.number]
        self.lookups[state.number] = Lookup(
            name="state",
            num_values=num_states,
            reads=table.reads,
            otherwise=tuple(state.meanings[v] for v in table.otherwise),
            rows=tuple(Row(row.literals, state.meanings[row.value]) for row in table.rows),
        )
        return state.number

    def follow(self, name: str, carrier: Carrier, trees: Sequence[Tree]) -> Carrier:
        """Returns where the results of decision trees are said, one tree for each value of a carrier.

        A new lookup is added only if some tree has more than one leaf.
        """
        if all(len(tree) == 1 for tree in trees):
            return Carrier(carrier.number, tuple(tree[0][1] for tree in trees))
        if carrier.number is not None:
            return self.add_trees(name, lookup(carrier.number), dict(enumerate(trees)))
        (tree,) = trees
        first = tree[0][0][0][0]
        by_value: dict[int, Tree] = {}
        for literals, result in tree:
            by_value.setdefault(literals[0][1], []).append((literals[1:], result))
        missing = set(range(self.levels[first.number].num_labels)) - by_value.keys()
        by_value.update({value: [((), tree[0][1])] for value in missing})
        return self.add_trees(name, first, by_value)

    def add_trees(self, name: str, first: Source, trees: Mapping[int, Tree]) -> Carrier:
        """Adds the lookup that goes through a decision tree for each value of its first source."""
        meanings: dict[int, int] = {}
        sources = dict.fromkeys(s for v in sorted(trees) for literals, _ in trees[v] for s, _ in literals)
        position = {source: i for i, source in enumerate([first, *sources])}
        otherwise: list[int] = []
        rows: list[Row] = []
        for value in sorted(trees):
            common = Counter(result for _, result in trees[value]).most_common(1)[0][0]
            otherwise.append(meanings.setdefault(common, len(meanings)))
            for literals, result in trees[value]:
                if result != common:
                    placed = sorted((position[source], wanted) for source, wanted in literals)
                    rows.append(Row(((0, value), *placed), meanings.setdefault(result, len(meanings))))
        table = Lookup(
            name=name,
            num_values=len(meanings),
            reads=tuple(position),
            otherwise=tuple(otherwise),
            rows=tuple(rows),
        )
        return Carrier(self.add_lookup(table), tuple(meanings))


class ChainAssembly:
    """Puts the stages of one chain into a builder.

    Contexts that command the same now and at all later stages are one value of a context lookup.

    Args:
        builder: what to add to.
        stages: top first.
        name: what to call the chain in the names of its levels.
    """

    def __init__(self, builder: CascadeBuilder, stages: Sequence[Stage], name: str = "") -> None:
        self.builder = builder
        self.stages = stages
        self.name = name
        self._kinds = _merge_contexts(stages)
        self.level_of: dict[tuple[int, int], int] = {}

    def kind(self, context: Context) -> int:
        """Returns a number that contexts at the top share if they are alike."""
        return self._kinds[0][context] if self.stages else 0

    def add_levels(self, carrier: Carrier) -> None:
        """Adds the levels and their contexts; the carrier means kinds of contexts at the top."""
        for s, stage in enumerate(self.stages):
            example: dict[int, int] = {}
            for i, context in enumerate(stage.contexts):
                example.setdefault(self._kinds[s][context], i)
            for c, component in enumerate(stage.components):
                if component.num_labels > 1:
                    self.level_of[s, c] = self._add_level(s, c, carrier, example)
            if s + 1 < len(self.stages):
                carrier = self._next_contexts(s, carrier, example)

    def _add_level(self, s: int, c: int, carrier: Carrier, example: Mapping[int, int]) -> int:
        if carrier.number is None:
            raise AssertionError("a level without a context")
        component = self.stages[s].components[c]
        return self.builder.add_level(
            Level(
                name=f"{self.name}{len(self.level_of) + 1}",
                num_labels=component.num_labels,
                start=component.start,
                context=carrier.number,
                commands=tuple(component.commands[example[kind]] for kind in carrier.meanings),
            )
        )

    def _next_contexts(self, s: int, carrier: Carrier, example: Mapping[int, int]) -> Carrier:
        stage, kinds = self.stages[s], self._kinds[s + 1]
        trees = []
        for kind in carrier.meanings:
            c, following = stage.moves[example[kind]]
            results = [None if context is None else kinds[context] for context in following]
            trees.append(self._tree(s, c, results, old))
        return self.builder.follow(f"context after {self.name}{len(self.level_of)}", carrier, trees)

    def _tree(
        self, s: int, c: int | None, results: Sequence[int | None], source: Callable[[int], Source]
    ) -> Tree:
        """Returns the decision by the label of a component; a single leaf if the label does not matter."""
        known = [(label, result) for label, result in enumerate(results) if result is not None]
        if len({result for _, result in known}) == 1:
            return [((), known[0][1])]
        if c is None or (s, c) not in self.level_of:
            raise AssertionError("a choice without a level that decides it")
        level = source(self.level_of[s, c])
        return [(((level, label),), result) for label, result in known]

    def add_reading(self, carrier: Carrier, source: Callable[[int], Source] = new) -> Carrier:
        """Adds the lookups that follow the labels from image to image; returns where the last image is said.

        Args:
            carrier: means images where decoding begins.
            source: `new` to read labels after the letter, `old` to read them before it.
        """
        carrier, trees = self.add_most_of_reading(carrier, source)
        return self.builder.follow(f"{self.name}point", carrier, trees)

    def add_most_of_reading(
        self, carrier: Carrier, source: Callable[[int], Source]
    ) -> tuple[Carrier, list[Tree]]:
        """Adds all lookups of a reading but the last; returns what the last one would follow.

        Stages whose levels have one depth share a lookup.
        """
        trees: list[Tree] = [[((), image)] for image in carrier.meanings]
        depth = 0
        for s, stage in enumerate(self.stages):
            reached = [self.builder.level_depths[level] for (t, _), level in self.level_of.items() if t == s]
            if max(reached, default=0) > depth:
                carrier = self.builder.follow(f"image before {self.name}{s + 1}", carrier, trees)
                trees = [[((), image)] for image in carrier.meanings]
                depth = max(reached)
            position = {image: i for i, image in enumerate(stage.images)}
            for i, tree in enumerate(trees):
                trees[i] = []
                for literals, image in tree:
                    c, following = stage.readings[position[image]]
                    for more, result in self._tree(s, c, following, source):
                        trees[i].append(((*literals, *more), result))
        return carrier, trees


def _merge_contexts(stages: Sequence[Stage]) -> list[dict[Context, int]]:
    """Returns for each stage a number for each context, equal where all commands from there on are."""
    kinds: list[dict[Context, int]] = [{} for _ in stages]
    below: dict[Context, int] = {}
    for s in range(len(stages) - 1, -1, -1):
        stage = stages[s]
        numbers: dict[Hashable, int] = {}
        for i, context in enumerate(stage.contexts):
            commands = tuple(component.commands[i] for component in stage.components if component.num_labels > 1)
            c, following = stage.moves[i]
            after = [None if f is None else below.get(f, 0) for f in following]
            known = [kind for kind in after if kind is not None]
            common = Counter(known).most_common(1)[0][0]
            filled = tuple(common if kind is None else kind for kind in after)
            move = (None, common) if len(set(filled)) == 1 else (c, filled)
            kinds[s][context] = numbers.setdefault((commands, move), len(numbers))
        below = kinds[s]
    return kinds
