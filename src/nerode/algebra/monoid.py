"""The transition monoid of an automaton, element by element."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.algebra.maps import MapIndex, Numbers, Rows, enumerate_maps
from nerode.core import Budget, InputError, started
from nerode.languages import Dfa, Word

_CHUNK_BYTES = 1 << 24
_LEAST_CHUNK = 16


@dataclass(frozen=True, kw_only=True, eq=False)
class TransitionMonoid:
    """All maps that words induce on n points, in the shortlex order of their least words.

    Element 0 is the identity, the map of the empty word. A product xy means first x, then y, as in words.
    Letters that induce the same map share a column of `distinct_right`.

    Attributes:
        generators: `generators[a, q]` is the image of q under letter a; shape (k, n).
        letters: the first letter of each distinct map, increasing; these u letters are used in words.
        column: for each of the k letters the position of its map in `letters`.
        parent: for each element the one whose least word is one letter shorter; 0 for the identity.
        last: the last letter of the least word, as a position in `letters`; 0 for the identity.
        length: the length of the least word.
        distinct_right: `distinct_right[x, c]` is x followed by `letters[c]`; shape (m, u).
        distinct_left: `distinct_left[x, c]` is `letters[c]` followed by x; shape (m, u).
        index: the maps themselves.
    """

    generators: npt.NDArray[np.integer[Any]]
    letters: Numbers
    column: Numbers
    parent: Numbers
    last: Numbers
    length: Numbers
    distinct_right: Numbers
    distinct_left: Numbers
    index: MapIndex

    def __len__(self) -> int:
        return len(self.parent)

    def __repr__(self) -> str:
        return (
            f"TransitionMonoid({len(self)} maps of {self.num_points} points, {len(self.generators)} letters)"
        )

    @property
    def num_points(self) -> int:
        """Number of points that are mapped."""
        return int(self.generators.shape[1])

    @property
    def elements(self) -> Rows:
        """The maps: `elements[x, q]` is the image of q; shape (m, n), read-only."""
        view = self.index.rows[:, : self.num_points]
        view.setflags(write=False)
        return view

    @functools.cached_property
    def right(self) -> Numbers:
        """The right Cayley graph: `right[x, a]` is x followed by letter a; shape (m, k)."""
        return (
            self.distinct_right
            if len(self.letters) == len(self.column)
            else self.distinct_right[:, self.column]
        )

    @functools.cached_property
    def left(self) -> Numbers:
        """The left Cayley graph: `left[x, a]` is letter a followed by x; shape (m, k)."""
        return (
            self.distinct_left
            if len(self.letters) == len(self.column)
            else self.distinct_left[:, self.column]
        )

    @functools.cached_property
    def in_semigroup(self) -> npt.NDArray[np.bool_]:
        """For each element, whether a word of at least one letter has this map: all, or all but 1."""
        inside = np.ones(len(self), dtype=np.bool_)
        inside[0] = bool((self.distinct_right == 0).any())
        return inside

    @functools.cached_property
    def is_idempotent(self) -> npt.NDArray[np.bool_]:
        """For each element e, whether ee = e."""
        found = np.empty(len(self), dtype=np.bool_)
        for part in _chunks(len(self), self.num_points):
            rows = self.elements[part].astype(np.intp)
            found[part] = (np.take_along_axis(rows, rows, axis=1) == rows).all(axis=1)
        return found

    def word(self, x: int) -> Word:
        """Returns the shortlex-least word that induces element x; for the identity the empty word."""
        letters = []
        while x:
            letters.append(int(self.letters[self.last[x]]))
            x = int(self.parent[x])
        return tuple(reversed(letters))

    def element_of(self, word: Sequence[int]) -> int:
        """Returns the element that a word induces."""
        x = 0
        for letter in word:
            x = int(self.distinct_right[x, self.column[letter]])
        return x

    def index_of(self, images: Sequence[int] | npt.NDArray[np.integer[Any]]) -> int | None:
        """Returns the number of a map, None if no word induces it."""
        row = np.asarray(images)
        n = self.num_points
        if row.shape != (n,) or row.dtype.kind not in "iu" or (n and (row.min() < 0 or row.max() >= n)):
            raise InputError(f"a map of this monoid is a list of {n} points 0…{n - 1}; got {images!r}")
        number = int(self.index.find(self.index.layout.pack(row[None, :]))[0])
        return None if number < 0 else number

    def product(self, x: int, y: int) -> int:
        """Returns x followed by y."""
        return int(self.products(np.array([x]), np.array([y]))[0])

    def products(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Numbers:
        """Returns x[i] followed by y[i], for arrays of elements that broadcast together."""
        first, then = np.broadcast_arrays(np.asarray(x), np.asarray(y))
        flat_first, flat_then = first.ravel(), then.ravel()
        found = np.empty(first.size, dtype=np.int32)
        rows = self.index.rows
        for part in _chunks(first.size, self.num_points):
            found[part] = self.index.find(
                self.index.layout.compose(rows[flat_first[part]], rows[flat_then[part]])
            )
        return found.reshape(first.shape)

    def multiplication_table(self, budget: Budget | None = None) -> Numbers:
        """Returns the table of all products: `table[x, y]` is x followed by y; shape (m, m).

        Raises:
            BudgetExceeded: if the table takes more than the bytes of the budget.
        """
        size = len(self)
        started(budget).check("bytes", 4 * size * size, **{"elements of the monoid": size})
        by_second = np.empty((size, size), dtype=np.int32)
        by_second[0] = np.arange(size)
        for y in range(1, size):
            by_second[y] = self.distinct_right[by_second[self.parent[y]], self.last[y]]
        return by_second.T


def _chunks(size: int, num_points: int) -> list[slice]:
    """Returns slices of so many rows that their intermediate arrays stay small."""
    step = max(_LEAST_CHUNK, _CHUNK_BYTES // (8 * max(1, num_points)))
    return [slice(start, min(start + step, size)) for start in range(0, size, step)]


def transition_monoid(
    source: Dfa | Sequence[Sequence[int]] | npt.NDArray[np.integer[Any]], budget: Budget | None = None
) -> TransitionMonoid:
    """Returns the monoid of all maps that words induce on the states.

    Products of known elements with letters are taken breadth first and many at a time; those that may be new
    are looked up by a 64-bit key and compared in full wherever the key does not determine the map.

    Args:
        source: an automaton, or one row of images for each letter.
        budget: its elements, bytes and seconds bound the search.

    Raises:
        BudgetExceeded: `known_so_far["elements found"]` says how many there are at least.

    Implements: [FroidurePin1997]
    """
    generators = _generators(source)
    distinct, first, column = np.unique(generators, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order))
    found = enumerate_maps(distinct[order], started(budget))
    return TransitionMonoid(
        generators=generators,
        letters=first[order].astype(np.int32),
        column=rank[column.reshape(-1)],
        parent=found.parent,
        last=found.last,
        length=found.length,
        distinct_right=found.right,
        distinct_left=found.left,
        index=found.index,
    )


def _generators(
    source: Dfa | Sequence[Sequence[int]] | npt.NDArray[np.integer[Any]],
) -> npt.NDArray[np.integer[Any]]:
    if isinstance(source, Dfa):
        return source.transitions.T
    maps = np.asarray(source)
    if maps.ndim != 2 or not maps.shape[1] or maps.dtype.kind not in "iu":
        raise InputError(
            f"the letters have shape {maps.shape} and type {maps.dtype}; give one row of images, integers, "
            "for each letter (for no letters an array of shape (0, n))"
        )
    n = maps.shape[1]
    if maps.size and (maps.min() < 0 or maps.max() >= n):
        raise InputError(f"a letter maps a point outside 0…{n - 1}; images are numbers of points")
    return maps
