"""The images of an action with their tiles: what every holonomy decomposition is made from."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

import numpy as np

from nerode.algebra.components import OUTSIDE, PartialAction, strong_components
from nerode.algebra.permutations import Permutation
from nerode.core import Budget

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
        self.budget = budget or Budget()
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
