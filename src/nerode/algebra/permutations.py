"""Permutations as tuples of images, composed from left to right."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from nerode.core import stream

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
