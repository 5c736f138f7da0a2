"""From levels of images to stages of labels: the contexts of a holonomy cascade and what they command.

A context at a stage is a letter with a set x of states before it and a set y after it, x·a inside y; both
start as the whole set and each stage may replace them by one of their tiles: x by the old label of the stage,
y by the new one. When all stages are passed both are single states, so y is the state after the letter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nerode.algebra.cascades.commands import HOLD, Command, Permute, Reset
from nerode.algebra.cascades.sections import Levels, Section, join_sections
from nerode.algebra.cascades.skeleton import NOWHERE

ENTER = -1
"""In place of the letter: the set before it is not known, the set of a context is where the letter leads."""


class Context(NamedTuple):
    """A letter (a map of the skeleton, or ENTER), the image before it and the image after it.

    `before` is NOWHERE when the letter leaves the points of the skeleton; nothing matters then.
    """

    letter: int
    before: int
    after: int


LEFT = Context(ENTER, NOWHERE, NOWHERE)


@dataclass(kw_only=True)
class Component:
    """The labels of one level.

    Attributes:
        tile: (class, label) → number of the tile that the label means in images of the class.
        num_labels: how many labels there are.
        start: the label at the start.
        commands: for each context of the stage.
    """

    tile: dict[tuple[int, int], int]
    num_labels: int
    start: int
    commands: list[Command]


@dataclass(kw_only=True)
class Stage:
    """What happens at one level of the images.

    Attributes:
        level: the level of the images that it splits.
        contexts: the contexts that come from the stage above.
        components: the levels of the cascade at this stage; they do not read each other.
        moves: for each context the component whose old label decides how it goes on (None if none does) and
            the contexts that follow, by label (None for a label that cannot occur), or the only one.
        images: the images that decoding meets at this stage.
        readings: for each of these images the component whose new label says the tile, and the images that
            follow, as in `moves`.
    """

    level: int
    contexts: list[Context]
    components: list[Component]
    moves: list[tuple[int | None, list[Context | None]]]
    images: list[int]
    readings: list[tuple[int | None, list[int | None]]]


class ChainBuilder:
    """Makes the stages of a cascade from the levels of its images.

    Args:
        levels: of the images.
        contexts: those at the top.
        images: where decoding can begin.
        start: the state at the start, and the image where decoding begins then.
    """

    def __init__(
        self,
        levels: Levels,
        *,
        contexts: Iterable[Context],
        images: Iterable[int],
        start: tuple[int, int],
    ) -> None:
        self.levels = levels
        self.skeleton = levels.skeleton
        self._contexts = list(dict.fromkeys(contexts))
        self._images = list(dict.fromkeys(images))
        self._start_state, self._start_image = start

    def build(self) -> list[Stage]:
        """Returns the stages, top first."""
        stages = [self._stage(level) for level in range(self.levels.top, 0, -1)]
        _drop_impossible(stages)
        return stages

    def _stage(self, level: int) -> Stage:
        self.skeleton.budget.check_time(contexts=len(self._contexts))
        components, owner = self._components(level)
        for component in components:
            component.commands = [HOLD] * len(self._contexts)
        for number, context in enumerate(self._contexts):
            for c, component in enumerate(components):
                component.commands[number] = self._command(context, component, owner, c)
        moves = [self._move(context, components, owner) for context in self._contexts]
        readings = [self._reading(image, components, owner) for image in self._images]
        stage = Stage(
            level=level,
            contexts=self._contexts,
            components=components,
            moves=moves,
            images=self._images,
            readings=readings,
        )
        self._contexts = list(dict.fromkeys(c for _, following in moves for c in following if c is not None))
        self._images = list(dict.fromkeys(i for _, following in readings for i in following if i is not None))
        if (c := owner.get(self.skeleton.class_of[self._start_image])) is not None:
            self._start_image = self._tile(components[c], self._start_image, components[c].start)
        return stage

    def _target(self, context: Context) -> int:
        """Returns the image that is known to contain the state after the letter: x·a."""
        if context.letter == ENTER:
            return context.before
        return self.skeleton.after[context.letter][context.before]

    def _components(self, level: int) -> tuple[list[Component], dict[int, int]]:
        """Returns the components of a level and for each class of the level which one it belongs to."""
        class_of, has_group = self.skeleton.class_of, self.levels.has_group
        demands: dict[int, list[int]] = {}
        for context in self._contexts:
            if context is not LEFT and self.levels.of(context.after) == level:
                demands.setdefault(class_of[context.after], [])
                if (target := self._target(context)) != context.after:
                    demands[class_of[context.after]].append(self._covering(context.after, target))
        for image in self._images:
            if self.levels.of(image) == level:
                demands.setdefault(class_of[image], [])
        if self.levels.of(self._start_image) == level:
            singleton = self.skeleton.singleton(self._start_state)
            demands[class_of[self._start_image]].append(self._covering(self._start_image, singleton))
        plain = {number: _hit(sets) for number, sets in demands.items() if not has_group[number]}
        components = []
        owner: dict[int, int] = {}
        if plain:
            sections = join_sections(self.levels, plain)
            owner.update(dict.fromkeys(plain, len(components)))
            components.append(_section_component(sections))
        for number in sorted(demands):
            if has_group[number]:
                owner[number] = len(components)
                tiles = len(self.skeleton.tiles(self.skeleton.classes[number][0]))
                tile = {(number, label): label for label in range(tiles)}
                components.append(Component(tile=tile, num_labels=tiles, start=0, commands=[]))
        if (c := owner.get(class_of[self._start_image])) is not None:
            singleton = self.skeleton.singleton(self._start_state)
            components[c].start = self._label(components[c], self._start_image, singleton)
        return components, owner

    def _covering(self, image: int, inside: int) -> int:
        """Returns the tiles of an image that contain a smaller image, as bits."""
        mask, masks = self.skeleton.masks[inside], self.skeleton.masks
        return sum(1 << i for i, tile in enumerate(self.skeleton.tiles(image)) if not mask & ~masks[tile])

    def _label(self, component: Component, image: int, inside: int) -> int:
        """Returns the first label that means a tile of the image around a smaller image."""
        covering = self._covering(image, inside)
        number = self.skeleton.class_of[image]
        for label in range(component.num_labels):
            tile = component.tile.get((number, label))
            if tile is not None and covering >> tile & 1:
                return label
        raise AssertionError("no label means a tile that is wanted")

    def _tile(self, component: Component, image: int, label: int) -> int:
        tile = component.tile[self.skeleton.class_of[image], label]
        return self.skeleton.tiles(image)[tile]

    def _command(self, context: Context, component: Component, owner: dict[int, int], c: int) -> Command:
        if context is LEFT or owner.get(self.skeleton.class_of[context.after]) != c:
            return Reset(0)
        target = self._target(context)
        if target != context.after:
            return Reset(self._label(component, context.after, target))
        number = self.skeleton.class_of[context.after]
        if not self.levels.has_group[number]:
            return HOLD
        images = self.skeleton.tile_permutation(context.before, context.letter)
        return HOLD if images == tuple(range(len(images))) else Permute(images)

    def _move(
        self, context: Context, components: list[Component], owner: dict[int, int]
    ) -> tuple[int | None, list[Context | None]]:
        if context is LEFT:
            return None, [LEFT]
        class_of = self.skeleton.class_of
        c_after = owner.get(class_of[context.after])
        c_before = None if context.letter == ENTER else owner.get(class_of[context.before])
        if c_before is None:
            after = context.after
            if c_after is not None:
                target = self._target(context)
                after = self._tile(components[c_after], after, self._label(components[c_after], after, target))
            return None, [context._replace(after=after)]
        following: list[Context | None] = []
        component = components[c_before]
        for label in range(component.num_labels):
            if (class_of[context.before], label) not in component.tile:
                following.append(None)
                continue
            before = self._tile(component, context.before, label)
            after = context.after
            if c_after is not None:
                command = self._command(context, components[c_after], owner, c_after)
                changed = command.apply(label, components[c_after].num_labels)
                after = self._tile(components[c_after], after, changed)
            gone = self.skeleton.after[context.letter][before] == NOWHERE
            following.append(LEFT if gone else Context(context.letter, before, after))
        return c_before, following

    def _reading(
        self, image: int, components: list[Component], owner: dict[int, int]
    ) -> tuple[int | None, list[int | None]]:
        c = owner.get(self.skeleton.class_of[image])
        if c is None:
            return None, [image]
        number = self.skeleton.class_of[image]
        return c, [
            self._tile(components[c], image, label) if (number, label) in components[c].tile else None
            for label in range(components[c].num_labels)
        ]


def _section_component(sections: Sequence[Section]) -> Component:
    tile = {(number, s): t for s, section in enumerate(sections) for number, t in section.items()}
    return Component(tile=tile, num_labels=max(1, len(sections)), start=0, commands=[])


def _drop_impossible(stages: Sequence[Stage]) -> None:
    """Removes contexts and images after which no label can occur, from the last stage upwards."""
    contexts: set[Context] | None = None
    images: set[int] | None = None
    for stage in reversed(stages):
        if contexts is not None and images is not None:
            for _, following in stage.moves:
                following[:] = [f if f in contexts else None for f in following]
            for _, results in stage.readings:
                results[:] = [r if r in images else None for r in results]
        kept = [i for i, (_, following) in enumerate(stage.moves) if any(f is not None for f in following)]
        stage.contexts = [stage.contexts[i] for i in kept]
        stage.moves = [stage.moves[i] for i in kept]
        for component in stage.components:
            component.commands = [component.commands[i] for i in kept]
        kept = [i for i, (_, results) in enumerate(stage.readings) if any(r is not None for r in results)]
        stage.images = [stage.images[i] for i in kept]
        stage.readings = [stage.readings[i] for i in kept]
        contexts, images = set(stage.contexts), set(stage.images)


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


