"""Permutations as tuples of images, composed from left to right; and the chain of stabilisers of a group.

The chain answers order and membership.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from nerode.core import Budget, charge, stream

Permutation = tuple[int, ...]
"""The images of 0 … n-1. Words act from left to right, so gh means first g, then h."""


def compose(g: Permutation, h: Permutation) -> Permutation:
    """Returns gh: first g, then h."""
    return tuple(map(h.__getitem__, g))


def invert(g: Permutation) -> Permutation:
    """Returns the inverse of g."""
    inverse = [0] * len(g)
    for point, image in enumerate(g):
        inverse[image] = point
    return tuple(inverse)


def conjugate(g: Permutation, h: Permutation) -> Permutation:
    """Returns h⁻¹gh."""
    result = [0] * len(g)
    for point, image in enumerate(g):
        result[h[point]] = h[image]
    return tuple(result)


def commutator(g: Permutation, h: Permutation) -> Permutation:
    """Returns g⁻¹h⁻¹gh."""
    return compose(invert(g), conjugate(g, h))


def power(g: Permutation, exponent: int) -> Permutation:
    """Returns g to a power that is not negative, cycle by cycle."""
    result = list(g)
    for cycle in cycles(g):
        length = len(cycle)
        for i, point in enumerate(cycle):
            result[point] = cycle[(i + exponent) % length]
    return tuple(result)


def cycles(g: Permutation) -> list[list[int]]:
    """Returns the cycles of g, fixed points included."""
    seen = [False] * len(g)
    found = []
    for start in range(len(g)):
        if seen[start]:
            continue
        cycle = []
        point = start
        while not seen[point]:
            seen[point] = True
            cycle.append(point)
            point = g[point]
        found.append(cycle)
    return found


def permutation_order(g: Permutation) -> int:
    """Returns the least e > 0 with gᵉ = 1."""
    return math.lcm(*map(len, cycles(g)))


def is_even(g: Permutation) -> bool:
    """Whether g is a product of an even number of transpositions."""
    return (len(g) - len(cycles(g))) % 2 == 0


def random_elements(generators: Sequence[Permutation], seed: int) -> Iterator[Permutation]:
    """Yields without end elements of the group of some generators, the same ones for the same seed.

    A pool of elements that always generates the group is mixed by replacing one by its product with
    another. Nothing is proved by how likely an element is: use them to find, never to exclude.

    Implements: [Celler1995]
    """
    random = stream(seed, "product replacement")
    pool = [generators[i % len(generators)] for i in range(max(8, len(generators)))]
    product = pool[0]
    for step in range(1 << 62):
        i = int(random.integers(len(pool)))
        j = (i + 1 + int(random.integers(len(pool) - 1))) % len(pool)
        pool[i] = compose(pool[i], pool[j])
        product = compose(product, pool[i])
        if step > 16:
            yield product


_MOST_BYTE_POINTS = 256
_STEPS_BETWEEN_CHECKS = 256


class StabiliserChain:
    """A base and strong generating set, grown one generator at a time.

    Level i holds the orbit of base point i under the subgroup that fixes the base points before it, with
    one group element for each point of the orbit. The products of one element from each level, deepest
    level first, are the elements of the group, each exactly once.

    Up to 256 points a permutation is kept as a byte string, since `bytes.translate` composes two of them
    many times faster than a loop does. The right factor of a product must then be padded to 256 bytes.

    Args:
        degree: number of points.
        base: points to use first; the rest of the base is chosen as it is needed.
        budget: its seconds bound the work.

    Implements: [Sims1970]
    Implements: [Knuth1991]
    """

    def __init__(self, degree: int, base: Iterable[int] = (), budget: Budget | None = None) -> None:
        self.degree = degree
        self._budget = budget
        self._pack: Callable[[Permutation], Any]
        self._times: Callable[[Any, Any], Any]
        if degree <= _MOST_BYTE_POINTS:
            self._pack, self._times = bytes, bytes.translate
            self._padding: Any = bytes(range(degree, _MOST_BYTE_POINTS))
        else:
            self._pack, self._times, self._padding = tuple, compose, ()
        self._identity = self._pack(tuple(range(degree)))
        self.base: list[int] = []
        self._transversals: list[dict[int, Any]] = []
        self._padded_inverses: list[dict[int, Any]] = []
        self._padded_generators: list[list[Any]] = []
        for point in base:
            self._open_level(point)

    def _open_level(self, point: int) -> None:
        self.base.append(point)
        self._transversals.append({point: self._identity})
        self._padded_inverses.append({point: self._identity + self._padding})
        self._padded_generators.append([])

    def order(self, level: int = 0) -> int:
        """Returns the order of the group, or of the stabiliser of the first `level` base points."""
        product = 1
        for transversal in self._transversals[level:]:
            product *= len(transversal)
        return product

    def __contains__(self, g: Permutation) -> bool:
        return bool(self._sift(self._pack(g), 0) == self._identity)

    def _sift(self, g: Any, level: int) -> Any:
        """Returns what is left of g after dividing, on the right, by elements of the levels from `level` on.

        The rest is the identity exactly when g is in the group of that level.
        """
        times = self._times
        for i in range(level, len(self.base)):
            inverse = self._padded_inverses[i].get(g[self.base[i]])
            if inverse is None:
                return g
            g = times(g, inverse)
        return g

    def insert(self, g: Permutation) -> bool:
        """Makes the group generated by this one and g; returns whether it grew.

        The work list holds pairs (element of a transversal, generator of its level). When every pair has
        been seen, each level is closed under its generators, which is what makes the chain right.
        """
        if g in self:
            return False
        pairs: list[tuple[int, Any, Any]] = []
        self._add_generator(0, self._pack(g), pairs)
        steps = 0
        while pairs:
            steps += 1
            charge()
            if self._budget is not None and steps % _STEPS_BETWEEN_CHECKS == 0:
                self._budget.check_time(group_order_at_least=self.order())
            level, element, generator = pairs.pop()
            product = self._times(element, generator)
            point = product[self.base[level]]
            inverse = self._padded_inverses[level].get(point)
            if inverse is None:
                self._transversals[level][point] = product
                self._padded_inverses[level][point] = self._pack(invert(product)) + self._padding
                pairs.extend((level, product, other) for other in self._padded_generators[level])
                continue
            rest = self._times(product, inverse)
            if self._sift(rest, level + 1) != self._identity:
                self._add_generator(level + 1, rest, pairs)
        return True

    def _add_generator(self, level: int, g: Any, pairs: list[tuple[int, Any, Any]]) -> None:
        if level == len(self.base):
            self._open_level(next(p for p in range(self.degree) if g[p] != p))
        padded = g + self._padding
        self._padded_generators[level].append(padded)
        pairs.extend((level, element, padded) for element in self._transversals[level].values())

    def transversal(self, level: int) -> dict[int, Permutation]:
        """Returns, for each point of the orbit at a level, an element that takes the base point there."""
        return {point: tuple(g) for point, g in self._transversals[level].items()}

    def stabiliser_generators(self, level: int) -> list[Permutation]:
        """Returns generators of the subgroup that fixes the first `level` base points."""
        if level == len(self.base):
            return []
        return [tuple(g[: self.degree]) for g in self._padded_generators[level]]

    def elements(self) -> list[Permutation]:
        """Returns every element of the group once, the identity first."""
        found = [self._identity]
        for transversal in reversed(self._transversals):
            padded = [u + self._padding for u in transversal.values()]
            found = [self._times(g, u) for u in padded for g in found]
        return [tuple(g) for g in found]
