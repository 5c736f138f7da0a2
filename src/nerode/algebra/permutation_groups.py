"""Permutation groups from generators: order, membership, orbits, the usual series; elements of small ones.

`ElementTable` has all elements of a small group as rows of one array.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.algebra.permutations import (
    Permutation,
    StabiliserChain,
    commutator,
    compose,
    conjugate,
    cycles,
    invert,
    is_even,
    random_elements,
)
from nerode.core import Budget, BudgetExceeded, InputError, charge, prime_factors, stream

Points = tuple[int, ...]

_GIANT_DEGREE = 8
_GIANT_TRIALS_PER_POINT = 5


class PermutationGroup:
    """The group that some permutations of 0 … degree-1 generate.

    Equal sets of generators give equal objects; to compare the groups ask `is_subgroup_of` both ways.

    Args:
        generators: sequences of images; repetitions and the identity are dropped.
        degree: number of points; may be left out when there is a generator.
        budget: its seconds bound the work of `order` and of membership.
    """

    def __init__(
        self,
        generators: Iterable[Sequence[int] | npt.NDArray[Any]],
        degree: int | None = None,
        *,
        budget: Budget | None = None,
    ) -> None:
        rows = [tuple(map(int, g)) for g in generators]
        if degree is None:
            if not rows:
                raise InputError("a permutation group without generators needs a degree; give degree=n")
            degree = len(rows[0])
        for row in rows:
            if sorted(row) != list(range(degree)):
                shown = ", ".join(map(str, row[:20])) + (" …" if len(row) > 20 else "")
                raise InputError(
                    f"the generator ({shown}) is not a permutation of 0…{degree - 1}; "
                    "each of these points must occur once"
                )
        identity = tuple(range(degree))
        self.degree = degree
        self.generators: tuple[Permutation, ...] = tuple(dict.fromkeys(g for g in rows if g != identity))
        self.budget = budget

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PermutationGroup) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @functools.cached_property
    def _key(self) -> tuple[int, frozenset[Permutation]]:
        return self.degree, frozenset(self.generators)

    def __repr__(self) -> str:
        return f"PermutationGroup({len(self.generators)} generators on {self.degree} points)"

    def subgroup(self, generators: Iterable[Permutation]) -> PermutationGroup:
        """Returns the group that these permutations of the same points generate."""
        return PermutationGroup(generators, self.degree, budget=self.budget)

    @functools.cached_property
    def chain(self) -> StabiliserChain:
        """A chain of stabilisers of this group."""
        return self.chain_with_base(())

    def chain_with_base(self, base: Iterable[int]) -> StabiliserChain:
        """Returns a chain of stabilisers whose base begins with these points."""
        chain = StabiliserChain(self.degree, base, self.budget)
        for g in self.generators:
            chain.insert(g)
        return chain

    @functools.cached_property
    def order(self) -> int:
        """The number of elements."""
        if "chain" in self.__dict__ or self.giant is None:
            return self.chain.order()
        return math.factorial(len(self.moved)) // (1 if self.giant == "S" else 2)

    def __contains__(self, g: object) -> bool:
        if not isinstance(g, tuple) or len(g) != self.degree:
            return False
        if self.giant is None:
            return g in self.chain
        moved = frozenset(self.moved)
        inside = all(p in moved or g[p] == p for p in range(self.degree))
        return inside and (self.giant == "S" or is_even(g))

    def is_subgroup_of(self, other: PermutationGroup) -> bool:
        """Whether every element is also in `other`."""
        return all(g in other for g in self.generators)

    @functools.cached_property
    def orbits(self) -> tuple[Points, ...]:
        """The orbits, fixed points included, each sorted, in the order of their least points."""
        seen = [False] * self.degree
        found: list[Points] = []
        for start in range(self.degree):
            if seen[start]:
                continue
            orbit = [start]
            seen[start] = True
            for point in orbit:
                for g in self.generators:
                    if not seen[g[point]]:
                        seen[g[point]] = True
                        orbit.append(g[point])
            found.append(tuple(sorted(orbit)))
        return tuple(found)

    @functools.cached_property
    def moved_orbits(self) -> tuple[Points, ...]:
        """The orbits with more than one point."""
        return tuple(orbit for orbit in self.orbits if len(orbit) > 1)

    @functools.cached_property
    def moved(self) -> Points:
        """The points that some element moves, sorted."""
        return tuple(sorted(itertools.chain.from_iterable(self.moved_orbits)))

    @functools.cached_property
    def giant(self) -> str | None:
        """The letter S or A when the group is seen to be the symmetric or alternating group on `moved`.

        Asked only of groups that are transitive on at least eight moved points; None decides nothing. Such
        a group contains the alternating group if some element has a cycle of prime length p with
        n/2 < p < n-2: the group is then primitive and a power of the element is a single p-cycle.

        Implements: [Jordan1873]
        """
        n = len(self.moved)
        if n < _GIANT_DEGREE or len(self.moved_orbits) != 1 or self.is_abelian:
            return None
        wanted = {p for p in range(n // 2 + 1, n - 2) if all(p % d for d in range(2, math.isqrt(p) + 1))}
        for g in itertools.islice(random_elements(self.generators, n), _GIANT_TRIALS_PER_POINT * n):
            charge()
            if wanted.intersection(map(len, cycles(g))):
                return "A" if all(map(is_even, self.generators)) else "S"
        return None

    @functools.cached_property
    def is_abelian(self) -> bool:
        """Whether all elements commute."""
        for g, h in itertools.combinations(self.generators, 2):
            charge()
            if compose(g, h) != compose(h, g):
                return False
        return True

    @functools.cached_property
    def is_even(self) -> bool:
        """Whether every element is an even permutation."""
        return all(map(is_even, self.generators))

    def normal_closure(self, elements: Iterable[Permutation]) -> PermutationGroup:
        """Returns the least subgroup that holds these elements and is normal in this group."""
        chain = StabiliserChain(self.degree, budget=self.budget)
        kept: list[Permutation] = []
        queue = list(elements)
        for candidate in queue:
            if chain.insert(candidate):
                kept.append(candidate)
                queue.extend(conjugate(candidate, g) for g in self.generators)
        closure = self.subgroup(kept)
        closure.__dict__["chain"] = chain
        return closure

    def commutators_with(self, other: PermutationGroup) -> PermutationGroup:
        """Returns [this group, other], for `other` a normal subgroup of this one."""
        return self.normal_closure(commutator(g, h) for g in self.generators for h in other.generators)

    @functools.cached_property
    def derived_subgroup(self) -> PermutationGroup:
        """The subgroup generated by all commutators."""
        if self.giant is not None:
            return self._alternating()
        return self.commutators_with(self)

    def _alternating(self) -> PermutationGroup:
        first, second, *others = self.moved
        three_cycles = []
        for third in others:
            images = list(range(self.degree))
            images[first], images[second], images[third] = second, third, first
            three_cycles.append(tuple(images))
        group = self.subgroup(three_cycles)
        group.__dict__["giant"] = "A"
        return group

    @functools.cached_property
    def derived_series(self) -> tuple[PermutationGroup, ...]:
        """The group, its derived subgroup and so on, until it stops getting smaller."""
        return self._descend(lambda last: last.derived_subgroup)

    @functools.cached_property
    def lower_central_series(self) -> tuple[PermutationGroup, ...]:
        """The group G, then [G, last one] again and again, until it stops getting smaller."""
        if self.giant is not None:
            return self.derived_series  # the alternating group is perfect
        return self._descend(self.commutators_with)

    def _descend(self, below: Callable[[PermutationGroup], PermutationGroup]) -> tuple[PermutationGroup, ...]:
        series = [self]
        while (following := below(series[-1])).order < series[-1].order:
            series.append(following)
        return tuple(series)

    @property
    def is_solvable(self) -> bool:
        """Whether the derived series ends in the trivial group."""
        return self.derived_series[-1].order == 1

    @property
    def is_nilpotent(self) -> bool:
        """Whether the lower central series ends in the trivial group."""
        return self.lower_central_series[-1].order == 1

    def restricted_to(self, points: Sequence[int]) -> PermutationGroup:
        """Returns the action on a union of orbits, its points renumbered in the given order."""
        number = {point: i for i, point in enumerate(points)}
        return PermutationGroup(
            [[number[g[point]] for point in points] for g in self.generators], len(points), budget=self.budget
        )


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
        for prime, multiplicity in prime_multiplicities(self.order).items():
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
        """The number of elements by order and size of class; equal for isomorphic groups."""
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


def prime_multiplicities(n: int) -> Counter[int]:
    """Returns the primes that divide n with their multiplicities."""
    return Counter(prime_factors(n))
