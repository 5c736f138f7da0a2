"""All elements of a small permutation group as rows of one array."""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt

from nerode.algebra.permutation_groups import PermutationGroup
from nerode.algebra.permutations import Permutation, invert
from nerode.core import BudgetExceeded, stream

Indices = npt.NDArray[np.intp]

MOST_ELEMENTS = 5_040
"""Groups above this order are never listed element by element."""


class ElementTable:
    """The elements of a group, numbered; element 0 is the identity.

    An element is known by the images of a base. These are folded into one 64-bit number with weights that
    are drawn until no two elements share a number, so that looking up an element is exact.

    Args:
        group: a group of at most MOST_ELEMENTS elements.
    """

    def __init__(self, group: PermutationGroup) -> None:
        if group.order > MOST_ELEMENTS:
            raise BudgetExceeded(
                "elements", MOST_ELEMENTS, known_so_far={"order": group.order}, remedy="use a smaller group"
            )
        self.group = group
        self.order = group.order
        self.rows = np.array(group.chain.elements(), dtype=np.int32).reshape(self.order, group.degree)
        self._base = np.array(group.chain.base, dtype=np.intp)
        for attempt in range(64):
            random = stream(attempt, "weights of a base")
            self._weights = random.integers(1, 1 << 62, size=len(self._base), dtype=np.uint64)
            keys = self._keys(self.rows[:, self._base])
            self._by_key = np.argsort(keys)
            self._sorted_keys = keys[self._by_key]
            if not (self._sorted_keys[1:] == self._sorted_keys[:-1]).any():
                return
        raise AssertionError("no weights tell the elements of a small group apart")

    def _keys(self, images: npt.NDArray[np.int32]) -> npt.NDArray[np.uint64]:
        folded: npt.NDArray[np.uint64] = (images.astype(np.uint64) * self._weights).sum(
            axis=-1, dtype=np.uint64
        )
        return folded

    def find(self, images: npt.NDArray[np.int32]) -> Indices:
        """Returns the numbers of elements of the group from the images of the base (last axis)."""
        return self._by_key[np.searchsorted(self._sorted_keys, self._keys(images))]

    def index(self, g: Permutation) -> int:
        """Returns the number of an element of the group."""
        return int(self.find(np.array(g, dtype=np.int32)[self._base]))

    def element(self, index: int) -> Permutation:
        """Returns an element as a tuple."""
        return tuple(self.rows[index].tolist())

    def products(self, left: Indices, right: Indices) -> Indices:
        """Returns the numbers of the products left[i]·right[i], for arrays that broadcast together."""
        left, right = np.broadcast_arrays(left, right)
        return self.find(self.rows[right[..., None], self.rows[left][..., self._base]])

    def powers(self, elements: Indices, exponent: int) -> Indices:
        """Returns the numbers of the elements to a power that is not negative."""
        result = np.zeros_like(elements)
        square = elements
        while exponent:
            if exponent & 1:
                result = self.products(result, square)
            exponent >>= 1
            if exponent:
                square = self.products(square, square)
        return result

    @functools.cached_property
    def orders(self) -> Indices:
        """The order of each element."""
        orders = np.ones(self.order, dtype=np.intp)
        for prime, multiplicity in prime_factors(self.order).items():
            part = self.powers(np.arange(self.order), self.order // prime**multiplicity)
            while (moving := part != 0).any():
                orders[moving] *= prime
                part = self.powers(part, prime)
        return orders

    @functools.cached_property
    def exponent(self) -> int:
        """The least e > 0 with gᵉ = 1 for all elements g."""
        return math.lcm(*np.unique(self.orders).tolist())

    @functools.cached_property
    def classes(self) -> Indices:
        """For each element the least number of an element conjugate to it."""
        label = np.arange(self.order)
        maps = [self._conjugates(g) for g in self.group.generators]
        while True:
            following = label
            for images in maps:
                np.minimum.at(smaller := following.copy(), images, following)
                following = np.minimum(smaller, smaller[images])
            following = following[following]
            if (following == label).all():
                return label
            label = following

    def _conjugates(self, g: Permutation) -> Indices:
        """Returns for each x the number of g⁻¹xg."""
        inverse = np.array(invert(g), dtype=np.intp)
        return self.find(np.array(g, dtype=np.int32)[self.rows[:, inverse[self._base]]])

    @functools.cached_property
    def class_sizes(self) -> Indices:
        """For each element the number of elements conjugate to it."""
        return np.bincount(self.classes, minlength=self.order)[self.classes]

    @functools.cached_property
    def class_representatives(self) -> Indices:
        """One element of each conjugacy class, the identity first."""
        return np.unique(self.classes)

    @property
    def has_trivial_centre(self) -> bool:
        """Whether only the identity commutes with everything."""
        return int((self.class_sizes == 1).sum()) == 1

    @functools.cached_property
    def statistics(self) -> tuple[tuple[int, int, int], ...]:
        """How many elements have which order and which size of class; equal for isomorphic groups."""
        kinds, counts = np.unique(
            np.stack([self.orders, self.class_sizes], axis=1), axis=0, return_counts=True
        )
        return tuple((int(o), int(s), int(c)) for (o, s), c in zip(kinds, counts, strict=True))


def element_table(group: PermutationGroup) -> ElementTable:
    """Returns the elements of a group; asked again with the same object, the same table."""
    memory = group.__dict__
    if "element_table" not in memory:
        memory["element_table"] = ElementTable(group)
    table: ElementTable = memory["element_table"]
    return table


def prime_factors(n: int) -> dict[int, int]:
    """Returns the primes that divide n with their multiplicities."""
    factors: dict[int, int] = {}
    prime = 2
    while n > 1:
        if prime * prime > n:
            prime = n
        while n % prime == 0:
            factors[prime] = factors.get(prime, 0) + 1
            n //= prime
        prime += 1
    return factors
