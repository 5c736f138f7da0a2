"""The images of an action with their tiles, and the levels of classes of images with their labels.

While a word takes an image x of a level onto another image x·a of the same level, the level keeps its label.
Inside one class this is correct by the numbering of the tiles. Between two classes it is correct if the label
is a *section*: it says one tile for each class such that every letter takes the tile of an image into the
tile of the next one. A class may therefore share the level of the classes that it leads to if every one of
its tiles belongs to a section. A class whose tiles are permuted by a group shares its level with no class
that leads to it or that it leads to.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from nerode.algebra.components import OUTSIDE, PartialAction, strong_components
from nerode.algebra.permutations import Permutation
from nerode.core import Budget, started

Congruence = tuple[int, ...]
"""The class of each state, numbered in the order of their first states."""

NOWHERE = -1
"""The image of a set whose points a letter takes outside."""

_TIME_CHECK = 256

_MANY_IMAGES = 200

_MOST_ARRAY_POINTS = 63


class Tower:
    """Congruences, each finer than the one before it, on states that are bits of a mask.

    Args:
        congruences: the class of each state, coarsest congruence first.
    """

    def __init__(self, congruences: Sequence[Congruence]) -> None:
        self.congruences = tuple(congruences)
        self._class_of: list[list[int]] = []
        for labels in congruences:
            masks = [0] * (max(labels) + 1)
            for q, label in enumerate(labels):
                masks[label] |= 1 << q
            self._class_of.append([masks[label] for label in labels])

    @property
    def classes(self) -> list[int]:
        """The classes of all congruences as masks."""
        return list(dict.fromkeys(itertools.chain.from_iterable(self._class_of)))

    def tier(self, mask: int) -> int | None:
        """Returns the first congruence of which a set meets several classes, None if there is none."""
        lowest = (mask & -mask).bit_length() - 1
        for tier, class_of in enumerate(self._class_of):
            if mask & ~class_of[lowest]:
                return tier
        return None

    def rank(self, mask: int) -> tuple[int, int]:
        """Returns what letters never raise and tiles always lower: how fine the tier is, how many classes."""
        tier = self.tier(mask)
        if tier is None:
            return 0, mask.bit_count()
        class_of = self._class_of[tier]
        count, left = 0, mask
        while left:
            left &= ~class_of[(left & -left).bit_length() - 1]
            count += 1
        return len(self._class_of) - tier, count

    def saturate(self, mask: int, tier: int | None) -> int:
        """Returns the union of the classes that a set meets; the set itself if no congruence is given."""
        if tier is None:
            return mask
        class_of = self._class_of[tier]
        union = 0
        while left := mask & ~union:
            union |= class_of[(left & -left).bit_length() - 1]
        return union


class Skeleton:
    """The sets that words make of the whole set, the singletons, and how letters act on them.

    Image 0 is the whole set. A class is a set of images that words lead to from each other. A tile of an
    image is a greatest image properly inside it. Words take the tiles of an image to the tiles of another
    image of its class, one to one, so the tiles of all images of a class can be numbered alike: along a tree
    of words. A letter that disagrees with the tree permutes the numbers, which shows a group.

    Over a tower of congruences a set that meets several classes of a congruence, but only one of the coarser
    ones, is moved as in the quotient: its image is made a union of classes. The classes are images, too.
    Then "image" means any of these sets; a letter takes it to a set that contains its image in the plain
    sense, which is all that a chain needs.

    Attributes:
        action: how letters act on the points.
        masks: the images as sets of bits.
        after: `after[j][i]` is the image to which map j takes image i, or NOWHERE.
        classes: the members of each class; a class comes after those that it leads to and after those
            of its tiles.
        class_of: the class of each image.
    """

    def __init__(
        self, action: PartialAction, budget: Budget | None = None, tower: Tower | None = None
    ) -> None:
        self.action = action
        self.tower = tower or Tower(())
        self.budget = started(budget)
        n = action.num_points
        self.masks = [(1 << n) - 1]
        self._number = {self.masks[0]: 0}
        for mask in (*self.tower.classes, *(1 << point for point in range(n))):
            self.number(mask)
        self.after: list[list[int]] = [[] for _ in action.maps]
        self._close()
        self.sizes = [mask.bit_count() for mask in self.masks]
        self.classes = self._ordered_classes()
        self.class_of = [0] * len(self.masks)
        for number, members in enumerate(self.classes):
            for image in members:
                self.class_of[image] = number
        self._tiles: dict[int, tuple[int, ...]] = {}

    def number(self, mask: int) -> int:
        """Returns the number of an image, a new one if it has none."""
        number = self._number.get(mask)
        if number is None:
            number = self._number[mask] = len(self.masks)
            self.masks.append(mask)
        return number

    def singleton(self, point: int) -> int:
        """Returns the image that is one point."""
        return self._number[1 << point]

    def point(self, image: int) -> int:
        """Returns the point of a singleton."""
        return self.masks[image].bit_length() - 1

    def _close(self) -> None:
        bits = [[0 if target == OUTSIDE else 1 << target for target in row] for row in self.action.maps]
        for image, mask in enumerate(self.masks):
            if image % _TIME_CHECK == 0:
                self.budget.check("images", len(self.masks), states=self.action.num_points)
            points = _points(mask)
            tier = self.tower.tier(mask)
            for column, row in zip(self.after, bits, strict=True):
                target = 0
                for point in points:
                    target |= row[point]
                column.append(self.number(self.tower.saturate(target, tier)) if target else NOWHERE)
        self.budget.check("images", len(self.masks), states=self.action.num_points)

    def _ordered_classes(self) -> list[list[int]]:
        rows = [[target for target in row if target != NOWHERE] for row in zip(*self.after, strict=True)]
        components = strong_components(rows or [[] for _ in self.masks])
        components.sort(key=lambda members: self.tower.rank(self.masks[members[0]]))
        return [sorted(members) for members in components]

    def contains(self, image: int, other: int) -> bool:
        """Whether the second image is a subset of the first."""
        return not self.masks[other] & ~self.masks[image]

    def tiles(self, image: int) -> tuple[int, ...]:
        """Returns the tiles of an image, in the order that its class shares."""
        if image not in self._tiles:
            self._number_tiles(self.classes[self.class_of[image]])
        return self._tiles[image]

    def _number_tiles(self, members: Sequence[int]) -> None:
        inside = set(members)
        self._tiles[members[0]] = tuple(self._maximal_inside(members[0]))
        for source in (order := [members[0]]):
            for letter, column in enumerate(self.after):
                target = column[source]
                if target in inside and target not in self._tiles:
                    self._tiles[target] = self._moved_tiles(source, letter)
                    order.append(target)

    def _moved_tiles(self, image: int, letter: int) -> tuple[int, ...]:
        """Returns where a map that stays inside the class of an image takes its tiles."""
        column, tiles = self.after[letter], self._tiles[image]
        if (tier := self.tower.tier(self.masks[image])) is None:
            return tuple(column[tile] for tile in tiles)
        return tuple(self._number[self.tower.saturate(self.masks[column[tile]], tier)] for tile in tiles)

    def _maximal_inside(self, image: int) -> list[int]:
        size = self.sizes[image]
        outside = ~self.masks[image]
        if len(self.masks) > _MANY_IMAGES and self.action.num_points <= _MOST_ARRAY_POINTS:
            free = np.int64(outside & ((1 << _MOST_ARRAY_POINTS) - 1))
            candidates = np.flatnonzero((self._mask_array & free) == 0).tolist()
        else:
            candidates = [i for i, mask in enumerate(self.masks) if not mask & outside]
        maximal: list[int] = []
        for i in sorted((i for i in candidates if self.sizes[i] < size), key=lambda i: (-self.sizes[i], i)):
            mask = self.masks[i]
            if not any(not mask & ~self.masks[larger] for larger in maximal):
                maximal.append(i)
        return maximal

    @functools.cached_property
    def _mask_array(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array(self.masks, dtype=np.int64)

    def tile_permutation(self, image: int, letter: int) -> Permutation:
        """Returns how a map that stays inside the class of an image permutes the numbers of its tiles."""
        position = {tile: i for i, tile in enumerate(self.tiles(self.after[letter][image]))}
        return tuple(position[tile] for tile in self._moved_tiles(image, letter))


def _points(mask: int) -> list[int]:
    points = []
    while mask:
        low = mask & -mask
        points.append(low.bit_length() - 1)
        mask ^= low
    return points


SECTION_STEPS = 20_000
"""Steps of the search for one section; if they do not suffice, the class gets a level of its own."""

Section = dict[int, int]
"""Class → number of the tile."""


@dataclass
class Levels:
    """The level of each class, 0 for single points, and the edges that sections must respect.

    Attributes:
        level: by class.
        has_group: by class, whether some word permutes the numbers of its tiles.
        relations: class → a class of its own level that letters lead to → for each tile of the first class
            the set of tiles (as bits) of the second that the letters take it into.
        failures: classes that could not share a level for want of sections.
    """

    skeleton: Skeleton
    share: bool = True
    level: list[int] = field(default_factory=list)
    has_group: list[bool] = field(default_factory=list)
    relations: dict[int, dict[int, list[int]]] = field(default_factory=dict)
    failures: int = 0

    def __post_init__(self) -> None:
        skeleton = self.skeleton
        self.level = [0] * len(skeleton.classes)
        self.has_group = [False] * len(skeleton.classes)
        for number, members in enumerate(skeleton.classes):
            if skeleton.sizes[members[0]] > 1:
                skeleton.budget.check_time(images=len(skeleton.masks))
                self._assign(number, members)

    @property
    def top(self) -> int:
        """The greatest level."""
        return max(self.level)

    def of(self, image: int) -> int:
        """Returns the level of an image."""
        return self.level[self.skeleton.class_of[image]]

    def _assign(self, number: int, members: list[int]) -> None:
        skeleton = self.skeleton
        self.has_group[number] = self._permutes_tiles(number, members)
        # Over a tower the tiles of one member may be larger than those of another.
        looked_at = members if skeleton.tower.congruences else members[:1]
        level = 1 + max(self.of(tile) for image in looked_at for tile in skeleton.tiles(image))
        one_way = set()
        for column in skeleton.after:
            for image in members:
                target = column[image]
                if target != NOWHERE and skeleton.class_of[target] != number:
                    one_way.add(skeleton.class_of[target])
        alone = self.has_group[number] or not self.share
        for other in one_way:
            if self.level[other]:
                level = max(level, self.level[other] + (alone or self.has_group[other]))
        same = {other for other in one_way if self.level[other] == level}
        if same:
            self.relations[number] = self._relations(members, same)
            tiles = range(len(skeleton.tiles(members[0])))
            if any(self.extend({}, number, tile) is None for tile in tiles):
                self.failures += 1
                del self.relations[number]
                level += 1
        self.level[number] = level

    def _permutes_tiles(self, number: int, members: list[int]) -> bool:
        skeleton = self.skeleton
        identity = tuple(range(len(skeleton.tiles(members[0]))))
        return any(
            skeleton.tile_permutation(image, letter) != identity
            for letter, column in enumerate(skeleton.after)
            for image in members
            if column[image] != NOWHERE and skeleton.class_of[column[image]] == number
        )

    def _relations(self, members: list[int], same: set[int]) -> dict[int, list[int]]:
        skeleton = self.skeleton
        found: dict[int, list[int]] = {}
        for column in skeleton.after:
            for image in members:
                target = column[image]
                if target == NOWHERE or skeleton.class_of[target] not in same:
                    continue
                tiles = skeleton.tiles(image)
                targets = [skeleton.masks[tile] for tile in skeleton.tiles(target)]
                relation = found.setdefault(skeleton.class_of[target], [(1 << len(targets)) - 1] * len(tiles))
                for i, tile in enumerate(tiles):
                    moved = column[tile]
                    if moved != NOWHERE:
                        mask = skeleton.masks[moved]
                        relation[i] &= sum(1 << t for t, whole in enumerate(targets) if not mask & ~whole)
        return found

    def extend(self, section: Mapping[int, int], number: int, tile: int) -> Section | None:
        """Returns the section with a tile for one more class and for all that it leads to, or None.

        The tiles of the other classes are found by backtracking; SECTION_STEPS bounds it.
        """
        order = self._undecided(number, section)
        choices: Section = {}
        candidates = [[tile]]
        for _ in range(SECTION_STEPS):
            while not candidates[-1]:
                candidates.pop()
                if not candidates:
                    return None
            current = order[len(candidates) - 1]
            choices[current] = candidates[-1].pop()
            if self._fits(current, choices[current], section):
                if len(candidates) == len(order):
                    return {**section, **choices}
                candidates.append(self._candidates(order[: len(candidates)], order[len(candidates)], choices))
        return None

    def _undecided(self, number: int, section: Mapping[int, int]) -> list[int]:
        """Returns a class and those it leads to without a tile yet, each before those that it leads to."""
        found = {number}
        for current in (pending := [number]):
            for other in self.relations.get(current, ()):
                if other not in found and other not in section:
                    found.add(other)
                    pending.append(other)
        return sorted(found, reverse=True)

    def _fits(self, number: int, tile: int, section: Mapping[int, int]) -> bool:
        relations = self.relations.get(number, {})
        return all(
            relation[tile] >> section[other] & 1 for other, relation in relations.items() if other in section
        )

    def _candidates(self, before: Iterable[int], number: int, choices: Section) -> list[int]:
        allowed = -1
        for other in before:
            relation = self.relations.get(other, {}).get(number)
            if relation is not None:
                allowed &= relation[choices[other]]
        return [tile for tile in range(allowed.bit_length()) if allowed >> tile & 1][::-1]


def join_sections(levels: Levels, wanted: Mapping[int, Iterable[int]]) -> list[Section]:
    """Returns few sections such that each class has each of its wanted tiles in one of them.

    Classes are taken in order, those that they lead to first. The wanted tiles of a class are matched with
    the sections found so far that can be extended by them; a tile without a match opens a new section.
    """
    sections: list[Section] = []
    for number in sorted(wanted):
        tiles = sorted(set(wanted[number]))
        have = {section.get(number) for section in sections}
        missing = [tile for tile in tiles if tile not in have]
        options = [
            {
                s: extended
                for s, section in enumerate(sections)
                if number not in section and (extended := levels.extend(section, number, tile)) is not None
            }
            for tile in missing
        ]
        matching = largest_matching([sorted(option) for option in options])
        for tile, option, match in zip(missing, options, matching, strict=True):
            if match is not None:
                sections[match] = option[match]
            else:
                fresh = levels.extend({}, number, tile)
                if fresh is None:
                    raise AssertionError("a tile that had a section has none")
                sections.append(fresh)
    return sections


def largest_matching(options: list[list[int]]) -> list[int | None]:
    """Returns a largest matching: for each row one of its options or None, no option twice."""
    owner: dict[int, int] = {}
    for row in range(len(options)):
        seen: set[int] = set()
        predecessor: dict[int, int] = {}
        pending = [row]
        free = None
        for current in pending:
            for option in options[current]:
                if option in seen:
                    continue
                seen.add(option)
                predecessor[option] = current
                if option not in owner:
                    free = option
                    break
                pending.append(owner[option])
            if free is not None:
                break
        while free is not None:
            current = predecessor[free]
            previous = next((o for o, r in owner.items() if r == current), None)
            owner[free] = current
            free = previous
    matched: list[int | None] = [None] * len(options)
    for option, row in owner.items():
        matched[row] = option
    return matched
