"""From levels of images to blocks of stages: the contexts of a holonomy cascade and what they command.

A context is a letter with a set x of states before it and a set y after it, x·a inside y. Both start as the
whole set, and each stage may replace them by one of their tiles: x by the old label of the stage, y by the
new one. When all stages are passed both are single states, so y is the state after the letter.

A stage must tell its level what to do only while y has the level of the stage; otherwise any command will do.
A stage joins the block of the stages above it if its commands can be told from the context at the beginning
of the block, whatever the labels in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from nerode.algebra.cascades.records import HOLD, Command, Permute, Reset
from nerode.algebra.cascades.skeleton import NOWHERE, Levels, Section, join_sections

ENTER = -1
"""In place of the letter: the set before it is not known, only where the letter leads."""

_T = TypeVar("_T")

_TIME_CHECK = 1024


class LetterContext(NamedTuple):
    """A letter (a map of the skeleton, or ENTER), the image before it and the image after it.

    With ENTER `before` is the image to which the letter leads.
    """

    letter: int
    before: int
    after: int


LEFT = LetterContext(ENTER, NOWHERE, NOWHERE)
"""The context of a letter that leaves the points of the skeleton: nothing matters any more."""


class ContextNode(NamedTuple):
    """A context, and the context at the beginning of its block from which it comes (by number).

    All stages of a block look at nothing but the context at its beginning.
    """

    leader: int
    context: LetterContext


@dataclass(kw_only=True)
class Component:
    """The labels of one level of the cascade.

    Attributes:
        tile: (class of images, label) → number of the tile that the label means there.
        num_labels: how many labels there are.
        start: the label before the first letter.
        commands: for each leader of the block.
    """

    tile: dict[tuple[int, int], int]
    num_labels: int
    start: int = 0
    commands: list[Command] = field(default_factory=list)


@dataclass(kw_only=True)
class Choice:
    """The successors of a node: by the label of a component, or the same for all labels.

    Attributes:
        component: whose label decides, None if nothing has to be decided.
        following: what follows, by label (None for a label that cannot occur); one entry without a component.
    """

    component: int | None
    following: list[ContextNode | None]


@dataclass(kw_only=True)
class ImageChoice:
    """As `Choice`, for the image that decoding has reached."""

    component: int | None
    following: list[int | None]


@dataclass(kw_only=True)
class ChainStage:
    """The moves and readings at one level of the images.

    Attributes:
        components: the levels of the cascade at this stage; they do not read each other.
        moves: what follows each node.
        readings: what follows each image that decoding can have reached.
    """

    components: list[Component]
    moves: dict[ContextNode, Choice]
    readings: dict[int, ImageChoice]


@dataclass(kw_only=True)
class StageBlock:
    """Consecutive stages whose commands are functions of the context at the beginning of the block.

    Their levels have one depth. A leader is a context at the beginning; leader i starts in the node
    `ContextNode(i, leaders[i])`. What follows the last stage are nodes of the next block.

    Attributes:
        leaders: the contexts at the beginning.
        stages: at least one.
    """

    leaders: list[LetterContext]
    stages: list[ChainStage]


def drop_impossible(blocks: Sequence[StageBlock]) -> None:
    """Removes nodes and images after which no label can occur, from the last stage upwards."""
    possible: set[ContextNode] | None = None
    images: set[int] | None = None
    for block in reversed(blocks):
        for stage in reversed(block.stages):
            for choice in stage.moves.values():
                if possible is not None:
                    choice.following = [f if f in possible else None for f in choice.following]
            for reading in stage.readings.values():
                if images is not None:
                    reading.following = [f if f in images else None for f in reading.following]
            stage.moves = {n: c for n, c in stage.moves.items() if any(f is not None for f in c.following)}
            stage.readings = {
                i: r for i, r in stage.readings.items() if any(f is not None for f in r.following)
            }
            possible, images = set(stage.moves), set(stage.readings)


def build_chain(
    levels: Levels, *, contexts: Iterable[LetterContext], images: Iterable[int], start: tuple[int, int]
) -> list[StageBlock]:
    """Returns the blocks of the cascade that splits all images down to single points.

    Args:
        levels: of the images.
        contexts: those at the top.
        images: where decoding can begin.
        start: the point at the start, and the image where decoding begins then.
    """
    builder = _ChainBuilder(levels, list(dict.fromkeys(contexts)), list(dict.fromkeys(images)), start)
    for level in range(levels.top, 0, -1):
        builder.add_stage(level)
    drop_impossible(builder.blocks)
    return builder.blocks


class _ChainBuilder:
    def __init__(
        self, levels: Levels, contexts: list[LetterContext], images: list[int], start: tuple[int, int]
    ) -> None:
        self.levels = levels
        self.skeleton = levels.skeleton
        self.blocks: list[StageBlock] = []
        self.nodes = [ContextNode(i, context) for i, context in enumerate(contexts)]
        self.images = images
        self.start_point, self.start_image = start

    def add_stage(self, level: int) -> None:
        """Adds the stage of a level, to the last block if its commands can be told there."""
        self.skeleton.budget.check_time(contexts=len(self.nodes))
        components, owner = self._components(level)
        commands = self._commands(components, owner) if self.blocks else None
        if commands is None:
            leaders = list(dict.fromkeys(node.context for node in self.nodes))
            number = {context: i for i, context in enumerate(leaders)}
            if self.blocks:
                self._renumber(number)
            self.blocks.append(StageBlock(leaders=leaders, stages=[]))
            self.nodes = [ContextNode(i, context) for i, context in enumerate(leaders)]
            commands = self._commands(components, owner)
            if commands is None:
                raise AssertionError("a context with two commands")
        for component, column in zip(components, commands, strict=True):
            component.commands = column
        moves = {node: self._choice(node, components, owner) for node in self.nodes}
        readings = {image: self._reading(image, components, owner) for image in self.images}
        self.blocks[-1].stages.append(ChainStage(components=components, moves=moves, readings=readings))
        self.nodes = _distinct(f for choice in moves.values() for f in choice.following)
        self.images = _distinct(f for reading in readings.values() for f in reading.following)
        if (c := owner.get(self.skeleton.class_of[self.start_image])) is not None:
            self.start_image = self._tile(components[c], self.start_image, components[c].start)

    def _renumber(self, number: dict[LetterContext, int]) -> None:
        """Makes the last stage lead to the leaders of a new block."""
        for choice in self.blocks[-1].stages[-1].moves.values():
            choice.following = [
                None if node is None else ContextNode(number[node.context], node.context)
                for node in choice.following
            ]

    def _target(self, context: LetterContext) -> int:
        """Returns the image that is known to contain the state after the letter: x·a."""
        if context.letter == ENTER:
            return context.before
        return self.skeleton.after[context.letter][context.before]

    def _components(self, level: int) -> tuple[list[Component], dict[int, int]]:
        """Returns the components of a level and for each class of the level which one it belongs to."""
        wanted = self._wanted(level)
        class_of, has_group = self.skeleton.class_of, self.levels.has_group
        plain = {number: _hit(sets) for number, sets in wanted.items() if not has_group[number]}
        components: list[Component] = []
        owner: dict[int, int] = {}
        if plain:
            owner.update(dict.fromkeys(plain, len(components)))
            components.append(_section_component(join_sections(self.levels, plain)))
        for number in sorted(wanted):
            if has_group[number]:
                owner[number] = len(components)
                tiles = len(self.skeleton.tiles(self.skeleton.classes[number][0]))
                tile = {(number, label): label for label in range(tiles)}
                components.append(Component(tile=tile, num_labels=tiles))
        if (c := owner.get(class_of[self.start_image])) is not None:
            singleton = self.skeleton.singleton(self.start_point)
            components[c].start = self._labels(components[c], self.start_image, singleton)[0]
        return components, owner

    def _wanted(self, level: int) -> dict[int, list[int]]:
        """Returns for each class of a level the sets of tiles (as bits) of which one must have a label."""
        class_of = self.skeleton.class_of
        wanted: dict[int, list[int]] = {}
        for node in self.nodes:
            context = node.context
            if context is not LEFT and self.levels.of(context.after) == level:
                sets = wanted.setdefault(class_of[context.after], [])
                if (target := self._target(context)) != context.after:
                    sets.append(self._covering(context.after, target))
        for image in self.images:
            if self.levels.of(image) == level:
                wanted.setdefault(class_of[image], [])
        if self.levels.of(self.start_image) == level:
            singleton = self.skeleton.singleton(self.start_point)
            wanted[class_of[self.start_image]].append(self._covering(self.start_image, singleton))
        return wanted

    def _covering(self, image: int, inside: int) -> int:
        """Returns the tiles of an image that contain a smaller image, as bits."""
        mask, masks = self.skeleton.masks[inside], self.skeleton.masks
        return sum(1 << i for i, tile in enumerate(self.skeleton.tiles(image)) if not mask & ~masks[tile])

    def _labels(self, component: Component, image: int, inside: int) -> list[int]:
        """Returns the labels that mean a tile of the image around a smaller image."""
        covering = self._covering(image, inside)
        number = self.skeleton.class_of[image]
        tiles = [component.tile.get((number, label)) for label in range(component.num_labels)]
        return [label for label, tile in enumerate(tiles) if tile is not None and covering >> tile & 1]

    def _tile(self, component: Component, image: int, label: int) -> int:
        return self.skeleton.tiles(image)[component.tile[self.skeleton.class_of[image], label]]

    def _commands(self, components: list[Component], owner: dict[int, int]) -> list[list[Command]] | None:
        """Returns the commands of each component by leader; None if some leader does not say enough."""
        num_leaders = 1 + max((node.leader for node in self.nodes), default=-1)
        allowed: list[list[list[Command] | None]] = [[None] * num_leaders for _ in components]
        for count, node in enumerate(self.nodes):
            if count % _TIME_CHECK == 0:
                self.skeleton.budget.check_time(contexts=len(self.nodes))
            c = None if node.context is LEFT else owner.get(self.skeleton.class_of[node.context.after])
            if c is None or components[c].num_labels == 1:
                continue
            options = self._options(
                node.context, components[c], owner.get(self._class_before(node.context)) == c
            )
            known = allowed[c][node.leader]
            both = options if known is None else [command for command in known if command in options]
            if not both:
                return None
            allowed[c][node.leader] = both
        return [[Reset(0) if options is None else options[0] for options in column] for column in allowed]

    def _class_before(self, context: LetterContext) -> int:
        return NOWHERE if context.letter == ENTER else self.skeleton.class_of[context.before]

    def _options(self, context: LetterContext, component: Component, same: bool) -> list[Command]:
        """Returns what may be commanded when the image after the letter belongs to a component.

        Args:
            context: the context.
            component: whose labels mean tiles of the image after the letter.
            same: whether its labels also mean tiles of the image before the letter.
        """
        target = self._target(context)
        if target == context.after:
            if not self.levels.has_group[self.skeleton.class_of[target]]:
                return [HOLD]
            images = self.skeleton.tile_permutation(context.before, context.letter)
            return [HOLD if images == tuple(range(len(images))) else Permute(images)]
        options: list[Command] = [Reset(label) for label in self._labels(component, context.after, target)]
        if same and self._may_hold(context, component):
            options.append(HOLD)
        return options

    def _may_hold(self, context: LetterContext, component: Component) -> bool:
        """Whether every label means a tile before whose image lies in the tile that it means after."""
        before, after = (self.skeleton.class_of[i] for i in (context.before, context.after))
        column, masks = self.skeleton.after[context.letter], self.skeleton.masks
        for label in range(component.num_labels):
            if (before, label) not in component.tile:
                continue
            if (after, label) not in component.tile:
                return False
            moved = column[self._tile(component, context.before, label)]
            if moved != NOWHERE and masks[moved] & ~masks[self._tile(component, context.after, label)]:
                return False
        return True

    def _choice(self, node: ContextNode, components: list[Component], owner: dict[int, int]) -> Choice:
        context = node.context
        if context is LEFT:
            return Choice(component=None, following=[node])
        before = owner.get(self._class_before(context))
        if before is None:
            return Choice(component=None, following=[self._follow(node, None, components, owner)])
        number = self._class_before(context)
        following = [
            self._follow(node, label, components, owner)
            if (number, label) in components[before].tile
            else None
            for label in range(components[before].num_labels)
        ]
        return Choice(component=before, following=following)

    def _follow(
        self, node: ContextNode, label: int | None, components: list[Component], owner: dict[int, int]
    ) -> ContextNode:
        """Returns the node that follows, given the old label if the image before the letter has one."""
        letter, before, after = node.context
        if (c := owner.get(self.skeleton.class_of[after])) is not None:
            command = components[c].commands[node.leader]
            if label is None and not isinstance(command, Reset):
                raise AssertionError("a label is kept that nothing is known about")
            after = self._tile(components[c], after, command.apply(label or 0, components[c].num_labels))
        if label is None:
            return ContextNode(node.leader, LetterContext(letter, before, after))
        before = self._tile(components[owner[self.skeleton.class_of[before]]], before, label)
        gone = self.skeleton.after[letter][before] == NOWHERE
        return ContextNode(node.leader, LEFT if gone else LetterContext(letter, before, after))

    def _reading(self, image: int, components: list[Component], owner: dict[int, int]) -> ImageChoice:
        number = self.skeleton.class_of[image]
        c = owner.get(number)
        if c is None:
            return ImageChoice(component=None, following=[image])
        component = components[c]
        following = [
            self._tile(component, image, label) if (number, label) in component.tile else None
            for label in range(component.num_labels)
        ]
        return ImageChoice(component=c, following=following)


def _section_component(sections: Sequence[Section]) -> Component:
    tile = {(number, s): t for s, section in enumerate(sections) for number, t in section.items()}
    return Component(tile=tile, num_labels=max(1, len(sections)))


def _distinct(items: Iterable[_T | None]) -> list[_T]:
    return list(dict.fromkeys(item for item in items if item is not None))


def _hit(sets: list[int]) -> list[int]:
    """Returns few elements such that every set (as bits) contains one of them, the greedy way."""
    chosen = []
    left = list(dict.fromkeys(sets))
    while left:
        counts: dict[int, int] = {}
        for bits in left:
            for element in range(bits.bit_length()):
                if bits >> element & 1:
                    counts[element] = counts.get(element, 0) + 1
        best = max(counts, key=lambda element: (counts[element], -element))
        chosen.append(best)
        left = [bits for bits in left if not bits >> best & 1]
    return chosen
