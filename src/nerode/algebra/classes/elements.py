"""The syntactic semigroup as a subject of class tests: idempotents, R- and L-classes, the sets eSf."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from nerode.algebra.components import Numbers, edge_labels
from nerode.algebra.monoid import TransitionMonoid
from nerode.languages import Word


class Elements:
    """The elements of a transition monoid that non-empty words reach, by their numbers in the monoid."""

    def __init__(self, monoid: TransitionMonoid) -> None:
        self.monoid = monoid
        self.maps = monoid.elements
        self.right = monoid.distinct_right.astype(np.int64)
        self.inside = monoid.in_semigroup

    @functools.cached_property
    def left(self) -> Numbers:
        """`left[x, c]` is the letter of column c followed by x."""
        return self.monoid.distinct_left.astype(np.int64)

    def word(self, element: int) -> Word:
        """Returns a shortest non-empty word for an element of the semigroup."""
        return self.monoid.word(element) or self._word_for_identity

    @functools.cached_property
    def _word_for_identity(self) -> Word:
        ways = [self.path(int(first), 0) for first in self.right[0]]
        words = [(int(self.monoid.letters[c]), *way) for c, way in enumerate(ways) if way is not None]
        return min(words, key=len)

    def path(self, source: int, target: int) -> Word | None:
        """Returns a shortest word w, maybe empty, with source · w = target; None if there is none."""
        return self._way(self.right, source, target)

    def path_in_front(self, source: int, target: int) -> Word | None:
        """Returns a shortest word w, maybe empty, with w · source = target; None if there is none."""
        way = self._way(self.left, source, target)
        return None if way is None else way[::-1]

    def _way(self, graph: Numbers, source: int, target: int) -> Word | None:
        came_from = {source: (source, -1)}
        for node in (order := [source]):
            if node == target:
                letters = []
                while node != source:
                    node, column = came_from[node]
                    letters.append(int(self.monoid.letters[column]))
                return tuple(reversed(letters))
            for column, following in enumerate(graph[node].tolist()):
                if following not in came_from:
                    came_from[following] = (node, column)
                    order.append(following)
        return None

    @functools.cached_property
    def r_class(self) -> Numbers:
        """For each element the number of its R-class."""
        return self._labels(self.right)

    @functools.cached_property
    def l_class(self) -> Numbers:
        """For each element the number of its L-class."""
        return self._labels(self.left)

    @functools.cached_property
    def d_class(self) -> Numbers:
        """For each element the number of its D-class."""
        return self._labels(np.hstack([self.left, self.right]))

    def _labels(self, targets: Numbers) -> Numbers:
        size, width = targets.shape
        return edge_labels(size, np.repeat(np.arange(size), width), targets.ravel())

    @functools.cached_property
    def is_idempotent(self) -> npt.NDArray[np.bool_]:
        """Which elements of the semigroup are their own squares."""
        found: npt.NDArray[np.bool_] = self.monoid.is_idempotent & self.inside
        return found

    @functools.cached_property
    def representatives(self) -> list[int]:
        """One idempotent for each regular D-class.

        Idempotents of one D-class are isomorphic objects of the category whose arrows e → f are the
        elements of eSf, so conditions on that category need no more.
        """
        idempotents = np.flatnonzero(self.is_idempotent)
        _, first = np.unique(self.d_class[idempotents], return_index=True)
        found: list[int] = idempotents[np.sort(first)].tolist()
        return found

    def between(self, e: int, f: int) -> Numbers:
        """Returns the elements of eSf, for idempotents e and f."""
        fixed_by_f = np.zeros(self.maps.shape[1], dtype=np.bool_)
        fixed_by_f[self.maps[f]] = True
        ideal = self._right_ideal(e)
        return ideal[fixed_by_f[self.maps[ideal]].all(axis=1)]

    @functools.cache  # noqa: B019 - an object lives as long as one profile
    def _right_ideal(self, e: int) -> Numbers:
        """Returns the elements of eS."""
        reached = np.zeros(len(self.maps), dtype=np.bool_)
        frontier = np.array([e])
        while len(frontier):
            reached[frontier] = True
            frontier = np.unique(self.right[frontier])
            frontier = frontier[~reached[frontier]]
        return np.flatnonzero(reached & self.inside)
