"""Coordinates of a solvable group along its derived series, in which multiplication is addition.

With transversals t of each group of the series over the next, every element is a product … t₁ t₀, and so is
given by the cosets of t₀, t₁ …, elements of Abelian groups. Multiplying by s on the right adds the coset of s
to the first coordinate; what is left over, t₀ s t₀'⁻¹, lies in the next group of the series and is added to
the next coordinate in the same way. It depends on s and on the first coordinate only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from nerode.algebra.permutation_groups import PermutationGroup
from nerode.algebra.permutations import Permutation, compose, invert
from nerode.core import Budget, BudgetExceeded, InputError

Vector = tuple[int, ...]

MOST_ELEMENTS = 20_000
"""The largest group whose elements are listed."""


class AbelianFactor:
    """A group over a normal subgroup with Abelian quotient: cosets as vectors over cyclic groups.

    Attributes:
        orders: the orders of the cyclic groups, prime powers.
    """

    def __init__(self, elements: Sequence[Permutation], normal: Sequence[Permutation]) -> None:
        self._coset: dict[Permutation, int] = {}
        self._leaders: list[Permutation] = []
        for g in elements:
            if g not in self._coset:
                for e in normal:
                    self._coset[compose(e, g)] = len(self._leaders)
                self._leaders.append(g)
        basis = self._basis()
        self.orders = tuple(order for _, order in basis)
        self._vectors: dict[int, Vector] = {}
        self._representatives: dict[Vector, Permutation] = {}
        for vector in itertools.product(*(range(order) for order in self.orders)):
            coset = self._identity
            for (generator, _), times in zip(basis, vector, strict=True):
                for _ in range(times):
                    coset = self._times(coset, generator)
            self._vectors[coset] = vector
            self._representatives[vector] = self._leaders[coset]
        self._representatives[(0,) * len(self.orders)] = tuple(range(len(elements[0])))

    @property
    def _identity(self) -> int:
        return self._coset[tuple(range(len(self._leaders[0])))]

    def _times(self, first: int, second: int) -> int:
        return self._coset[compose(self._leaders[first], self._leaders[second])]

    def _order(self, coset: int) -> int:
        order, power = 1, coset
        while power != self._identity:
            power = self._times(power, coset)
            order += 1
        return order

    def _basis(self) -> list[tuple[int, int]]:
        """Returns cosets whose cyclic groups have the quotient as their direct sum, with their orders.

        In an Abelian group of prime power order, an element of the greatest order among those whose cyclic
        group meets a direct summand trivially spans a larger direct summand with it.
        """
        orders = {coset: self._order(coset) for coset in range(len(self._leaders))}
        basis: list[tuple[int, int]] = []
        for p in _primes(len(self._leaders)):
            part = sorted((c for c in orders if _is_power(orders[c], p)), key=lambda c: (-orders[c], c))
            spanned = {self._identity}
            for generator in part:
                multiples = [self._identity]
                for _ in range(orders[generator] - 1):
                    multiples.append(self._times(multiples[-1], generator))
                if len(multiples) > 1 and spanned.isdisjoint(multiples[1:]):
                    spanned = {self._times(x, m) for x in spanned for m in multiples}
                    basis.append((generator, orders[generator]))
                    if len(spanned) == len(part):
                        break
        return basis

    def vector(self, g: Permutation) -> Vector:
        """Returns the coset of an element."""
        return self._vectors[self._coset[g]]

    def representative(self, vector: Vector) -> Permutation:
        """Returns a fixed element of a coset; the identity for the zero vector."""
        return self._representatives[vector]

    def add(self, first: Vector, second: Vector) -> Vector:
        """Returns the sum of two vectors."""
        return tuple((a + b) % m for a, b, m in zip(first, second, self.orders, strict=True))


class GroupCoordinates:
    """A solvable permutation group with an Abelian factor for each step of its derived series.

    Args:
        group: the group.
        budget: its `elements` bound the order of the group, up to MOST_ELEMENTS.

    Raises:
        InputError: if the group is not solvable.
        BudgetExceeded: if it is too large.

    Implements: [KaloujnineKrasner1950]
    """

    def __init__(self, group: PermutationGroup, budget: Budget | None = None) -> None:
        most = min((budget or Budget()).elements, MOST_ELEMENTS)
        if not group.is_solvable:
            raise InputError(
                f"a group of order {group.order} that is not solvable has no Abelian coordinates"
            )
        if group.order > most:
            raise BudgetExceeded("elements", most, known_so_far={"group_order": group.order})
        self.group = group
        listed = [g.chain.elements() for g in group.derived_series]
        self.factors = [AbelianFactor(big, small) for big, small in itertools.pairwise(listed)]

    def vectors(self, g: Permutation) -> tuple[Vector, ...]:
        """Returns the coordinates of an element, one vector for each step of the series."""
        found = []
        for factor in self.factors:
            vector = factor.vector(g)
            found.append(vector)
            g = compose(g, invert(factor.representative(vector)))
        return tuple(found)

    def element(self, vectors: Sequence[Vector]) -> Permutation:
        """Returns the element with these coordinates."""
        g = tuple(range(self.group.degree))
        for factor, vector in zip(self.factors, vectors, strict=True):
            g = compose(factor.representative(vector), g)
        return g

    def carry(self, step: int, vector: Vector, g: Permutation) -> Permutation:
        """Returns what is left for the next step when g is added to a coordinate: t g t'⁻¹."""
        factor = self.factors[step]
        after = factor.add(vector, factor.vector(g))
        t, following = factor.representative(vector), factor.representative(after)
        return compose(compose(t, g), invert(following))


def _primes(number: int) -> list[int]:
    return [
        p for p in range(2, number + 1) if number % p == 0 and all(p % d for d in range(2, math.isqrt(p) + 1))
    ]


def _is_power(number: int, p: int) -> bool:
    while number % p == 0:
        number //= p
    return number == 1
