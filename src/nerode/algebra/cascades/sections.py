"""Levels of classes of images: which classes may share a level, and the labels of a shared level.

While a word takes an image x of a level onto another image x·a of the same level, the level keeps its label.
Inside one class this is right by the numbering of the tiles. Between two classes it is right if the label is
a *section*: it says one tile for each class such that every letter takes the tile of an image into the tile
of the next one. A class may therefore share the level of the classes that it leads to if every one of its
tiles belongs to a section. A class whose tiles are permuted by a group shares its level with no class that
leads to it or that it leads to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from nerode.algebra.cascades.skeleton import NOWHERE, Skeleton

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
        came_from: dict[int, int] = {}
        pending = [row]
        free = None
        for current in pending:
            for option in options[current]:
                if option in seen:
                    continue
                seen.add(option)
                came_from[option] = current
                if option not in owner:
                    free = option
                    break
                pending.append(owner[option])
            if free is not None:
                break
        while free is not None:
            current = came_from[free]
            previous = next((o for o, r in owner.items() if r == current), None)
            owner[free] = current
            free = previous
    matched: list[int | None] = [None] * len(options)
    for option, row in owner.items():
        matched[row] = option
    return matched
