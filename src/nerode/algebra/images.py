"""Images of a set of states under all words, as bitmasks, and the groups that words induce on them.

The monoid of an automaton can have n^n elements while the sets Q·w are few. Two images lie in one class
when words lead from each to the other; the words that lead from an image back to itself permute it, and
these permutations form a group that is the same for the whole class. A language has a group in its
syntactic monoid exactly when one of these groups is not trivial.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter

from nerode.algebra.components import OUTSIDE, PartialAction, strong_components
from nerode.algebra.permutations import Permutation, compose
from nerode.core import Budget, BudgetExceeded, started

Points = tuple[int, ...]
Edge = tuple[int, int, int]
"""Source image, number of the map, target image."""

_TIME_CHECK = 16
_POINT_BYTES = 8
_MOST_POINTS_MOVED = 100_000_000
_FEWEST_IMAGES = 1000


class ImageOrbit:
    """The images with at least two points of the whole set of a partial action.

    Only the edges between images of equal size are kept: no group needs the others.

    Attributes:
        action: how letters act on the points.
        sets: the images found so far, each a sorted tuple of points; the whole set comes first.
        edges: for each explored image, pairs (map, image) for the maps that are injective on it.
    """

    def __init__(self, action: PartialAction, budget: Budget | None = None) -> None:
        self.action = action
        self.budget = started(budget)
        n = action.num_points
        self._bits = [tuple(0 if target == OUTSIDE else 1 << target for target in row) for row in action.maps]
        self.sets: list[Points] = [tuple(range(n))] if n > 1 else []
        self.edges: list[list[tuple[int, int]]] = []
        self._number = {(1 << n) - 1: 0}
        self._points_kept = n

    def explore(self, limit: int) -> bool:
        """Finds images until there are no more (True) or until more than `limit` are known (False)."""
        sets, number = self.sets, self._number
        while len(self.edges) < len(sets):
            if len(sets) > limit:
                return False
            if len(self.edges) % _TIME_CHECK == 0:
                self.budget.check("bytes", _POINT_BYTES * self._points_kept, images=len(sets))
            points = sets[len(self.edges)]
            pick = itemgetter(*points)
            injective = []
            for j, row in enumerate(self._bits):
                image = set(pick(row))
                image.discard(0)
                if len(image) < 2:
                    continue
                # Distinct powers of two: their sum is their union.
                mask = sum(image)
                target = number.get(mask)
                if target is None:
                    target = number[mask] = len(sets)
                    sets.append(tuple(bit.bit_length() - 1 for bit in sorted(image)))
                    self._points_kept += len(image)
                if len(image) == len(points):
                    injective.append((j, target))
            self.edges.append(injective)
        return True

    def explore_all(self) -> None:
        """Finds all images or raises BudgetExceeded."""
        if not self.explore(self.budget.images):
            self.budget.check("images", len(self.sets), states=self.action.num_points)

    def explore_affordable(self) -> None:
        """Finds all images or raises BudgetExceeded, sooner where each image is large."""
        work = self.action.num_points * max(1, len(self.action.maps))
        limit = min(self.budget.images, max(_FEWEST_IMAGES, _MOST_POINTS_MOVED // work))
        if not self.explore(limit):
            raise BudgetExceeded("images", limit, known_so_far={"states": self.action.num_points})

    def classes(self) -> Iterator[ImageClass]:
        """Yields the classes of images that words lead back to, once the orbit is complete."""
        for members in strong_components([[target for _, target in edges] for edges in self.edges]):
            inside = set(members)
            root = min(members)
            if len(members) > 1 or any(target == root for _, target in self.edges[root]):
                yield ImageClass(orbit=self, root=root, members=frozenset(inside))


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageClass:
    """Images that words lead to from each other.

    Positions: the points of the root are numbered in order, and `transport[i]` lists where a fixed word
    takes them in image i. A permutation of the root is a permutation of positions.
    """

    orbit: ImageOrbit
    root: int
    members: frozenset[int]

    @property
    def points(self) -> Points:
        """The points of the root."""
        return self.orbit.sets[self.root]

    @property
    def degree(self) -> int:
        """The number of points of each image."""
        return len(self.points)

    def edges(self) -> Iterator[Edge]:
        """Yields the edges inside the class."""
        for source in self._tree:
            for j, target in self.orbit.edges[source]:
                if target in self.members:
                    yield source, j, target

    @functools.cached_property
    def _tree(self) -> dict[int, tuple[int, int]]:
        """Breadth-first tree from the root: image → (the one before, map); the root maps to itself."""
        tree = {self.root: (self.root, -1)}
        for source in (order := [self.root]):
            for j, target in self.orbit.edges[source]:
                if target in self.members and target not in tree:
                    tree[target] = (source, j)
                    order.append(target)
        return tree

    @functools.cached_property
    def transport(self) -> dict[int, Points]:
        """For each image where the tree takes the positions of the root."""
        maps = self.orbit.action.maps
        found = {self.root: self.points}
        for image, (before, j) in self._tree.items():
            if image != self.root:
                found[image] = itemgetter(*found[before])(maps[j])
        return found

    @functools.cached_property
    def depth(self) -> dict[int, int]:
        """For each image the length of the word of the tree that leads to it."""
        found = {self.root: 0}
        for image, (before, _) in self._tree.items():
            if image != self.root:
                found[image] = found[before] + 1
        return found

    @functools.cached_property
    def _ways_back(self) -> dict[int, tuple[int, int, Permutation]]:
        """Shortest ways to the root: image → (map, next image, how tree and way back permute the root)."""
        incoming: dict[int, list[Edge]] = {}
        for edge in self.edges():
            incoming.setdefault(edge[2], []).append(edge)
        ways = {self.root: (-1, self.root, tuple(range(self.degree)))}
        for image in (order := [self.root]):
            for edge in incoming.get(image, ()):
                if edge[0] not in ways:
                    ways[edge[0]] = (edge[1], image, compose(self.generator(edge), ways[image][2]))
                    order.append(edge[0])
        return ways

    def moving_edge(self) -> Edge | None:
        """Returns an edge that disagrees with the tree; None exactly when the group is trivial."""
        maps, transport = self.orbit.action.maps, self.transport
        for source, j, target in self.edges():
            if itemgetter(*transport[source])(maps[j]) != transport[target]:
                return source, j, target
        return None

    def generator(self, edge: Edge) -> Permutation:
        """Returns the Schreier generator of an edge: along the tree, the edge, back along the tree.

        The generators of all edges generate the group of the class. Tree edges give the identity.
        """
        source, j, target = edge
        position = {point: i for i, point in enumerate(self.transport[target])}
        row = self.orbit.action.maps[j]
        return tuple(position[row[point]] for point in self.transport[source])

    def circuit(self, edge: Edge) -> tuple[tuple[int, ...], Permutation]:
        """Returns a real word, as map numbers, that uses an edge and permutes the root, and how it acts.

        The way back is a word too, not the inverse of one. Over all edges, tree edges included, these
        words generate the group of the class.
        """
        source, j, target = edge
        way = [*self._tree_word(source), j]
        permutation = compose(self.generator(edge), self._ways_back[target][2])
        while target != self.root:
            j, target, _ = self._ways_back[target]
            way.append(j)
        return tuple(way), permutation

    def _tree_word(self, image: int) -> list[int]:
        way = []
        while image != self.root:
            image, j = self._tree[image]
            way.append(j)
        return way[::-1]
