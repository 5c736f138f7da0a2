"""Subgroups of a small group: up to conjugation, with actions on cosets; and direct products."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nerode.algebra.permutation_groups import (
    ElementTable,
    PermutationGroup,
    element_table,
    prime_multiplicities,
)
from nerode.algebra.permutations import Permutation
from nerode.core import BudgetExceeded, charge

Numbers = npt.NDArray[np.intp]
Members = npt.NDArray[np.bool_]

MOST_ELEMENTS = 400
"""Groups above this order are not searched for subgroups: the table of products has its square."""

_MOST_CLASSES = 400

IDENTITY = 0
"""The number of the identity, and of the coset of a subgroup that is the subgroup itself."""


@dataclass(frozen=True, eq=False)
class Subgroup:
    """A subgroup as a set of elements, with generators.

    Attributes:
        members: `members[x]` says whether element x belongs to it.
        generators: numbers of elements that generate it.
    """

    members: Members
    generators: tuple[int, ...]

    @property
    def order(self) -> int:
        """Number of elements."""
        return int(self.members.sum())


class ProductTable:
    """All products of a small group; elements are numbered as in its element table, 0 is the identity.

    Args:
        group: a group of at most MOST_ELEMENTS elements.

    Raises:
        BudgetExceeded: if it has more.
    """

    def __init__(self, group: PermutationGroup) -> None:
        if group.order > MOST_ELEMENTS:
            raise BudgetExceeded(
                "elements", MOST_ELEMENTS, known_so_far={"order": group.order}, remedy="use a smaller group"
            )
        self._elements = element_table(group)
        self.order = group.order
        every = np.arange(self.order)
        self.products: Numbers = self._elements.products(every[:, None], every[None, :])
        self.inverses: Numbers = np.argmin(self.products, axis=1)
        self.orders: Numbers = self._elements.orders

    def index(self, g: Permutation) -> int:
        """Returns the number of an element."""
        return self._elements.index(g)

    def permutation(self, x: int) -> Permutation:
        """Returns an element as a permutation."""
        return self._elements.element(x)

    def generate(self, generators: Iterable[int]) -> Subgroup:
        """Returns the subgroup that some elements generate."""
        chosen = tuple(dict.fromkeys(g for g in generators if g != 0))
        members = np.zeros(self.order, dtype=np.bool_)
        members[0] = True
        fresh = np.zeros(1, dtype=np.intp)
        while len(fresh) and chosen:
            charge()
            reached = np.unique(self.products[fresh[:, None], np.array(chosen)])
            fresh = reached[~members[reached]]
            members[fresh] = True
        return Subgroup(members, chosen)

    @functools.cached_property
    def _conjugates(self) -> Numbers:
        """`_conjugates[g, x]` is the number of g⁻¹xg."""
        every = np.arange(self.order)
        return self.products[self.products[self.inverses][:, every], every[:, None]]

    def canonical(self, members: Members) -> bytes:
        """Returns a key that is the same for subgroups that are conjugate to each other."""
        charge()
        return min(map(bytes, np.packbits(members[self._conjugates], axis=1)))

    def is_normal(self, members: Members) -> bool:
        """Whether a subgroup is conjugate to itself only."""
        return bool((members[self._conjugates[:, members]]).all())

    @functools.cached_property
    def subgroup_classes(self) -> tuple[Subgroup, ...]:
        """One subgroup of each class of conjugate ones, smallest first.

        Every subgroup is reached from the trivial one by adding elements of prime power order one by one.
        The search stops after some hundreds of classes, as in large elementary Abelian groups.
        """
        steps = [int(x) for x in range(1, self.order) if len(prime_multiplicities(int(self.orders[x]))) == 1]
        trivial = self.generate(())
        found = {self.canonical(trivial.members): trivial}
        pending = [trivial]
        for subgroup in pending:
            tried = subgroup.members.copy()
            for x in steps:
                if tried[x] or len(found) >= _MOST_CLASSES:
                    continue
                larger = self.generate((*subgroup.generators, x))
                key = self.canonical(larger.members)
                if key not in found:
                    found[key] = larger
                    pending.append(larger)
                # Every element of a minimal extension leads to the same one.
                if larger.order == subgroup.order * self._prime_index(subgroup, larger):
                    tried |= larger.members
        return tuple(sorted(found.values(), key=lambda s: s.order))

    @staticmethod
    def _prime_index(smaller: Subgroup, larger: Subgroup) -> int:
        index = larger.order // smaller.order
        return index if prime_multiplicities(index) == {index: 1} else 0

    def cosets(self, subgroup: Subgroup) -> CosetAction:
        """Returns how the group acts by multiplication on the right cosets of a subgroup."""
        least = self.products[subgroup.members].min(axis=0)
        representatives, number = np.unique(least, return_inverse=True)
        images = number[self.products[representatives]]
        return CosetAction(number=number, representatives=representatives, images=images)

    def square_roots(self, subgroup: Subgroup) -> Iterator[int]:
        """Yields elements t, one for each subgroup K ∪ Kt that contains K = `subgroup` with index two."""
        members = subgroup.members
        seen = members.copy()
        for t in range(self.order):
            charge()
            if seen[t] or not members[self.products[t, t]]:
                continue
            left, right = self.products[t, members], self.products[members, t]
            if np.array_equal(np.sort(left), np.sort(right)):
                seen[right] = True
                yield t


@dataclass(frozen=True, eq=False)
class CosetAction:
    """The action of a group on the right cosets of a subgroup K.

    Attributes:
        number: `number[x]` is the number of the coset Kx.
        representatives: one element of each coset.
        images: `images[c, x]` is the number of the coset to which multiplication by x takes coset c.
    """

    number: Numbers
    representatives: Numbers
    images: Numbers

    @property
    def degree(self) -> int:
        """Number of cosets."""
        return len(self.representatives)

    @property
    def kernel(self) -> Members:
        """The elements that fix every coset."""
        fixed: Members = (self.images == np.arange(self.degree)[:, None]).all(axis=0)
        return fixed


MOST_SPLIT_ELEMENTS = 1_024
"""Groups above this order are split along their orbits only."""

_MOST_NORMAL_SUBGROUPS = 400
_MOST_ORBIT_UNIONS = 512

Mask = npt.NDArray[np.bool_]


def split_by_orbits(group: PermutationGroup) -> list[PermutationGroup]:
    """Returns actions on disjoint unions of orbits whose direct product the group is.

    A group is the product of its actions on two sets of orbits exactly when the orders multiply. Unions
    of few orbits are tried first and no more than a fixed number of them.
    """
    pieces: list[PermutationGroup] = []
    rest = group.restricted_to(group.moved)
    while (cut := _cut(rest)) is not None:
        piece, rest = cut
        pieces.append(piece)
    return [*pieces, rest]


def _cut(group: PermutationGroup) -> tuple[PermutationGroup, PermutationGroup] | None:
    orbits = group.moved_orbits
    unions = itertools.chain.from_iterable(
        itertools.combinations(range(len(orbits)), size) for size in range(1, len(orbits) // 2 + 1)
    )
    for chosen in itertools.islice(unions, _MOST_ORBIT_UNIONS):
        inside = [p for i in chosen for p in orbits[i]]
        outside = [p for i, orbit in enumerate(orbits) if i not in chosen for p in orbit]
        first, second = group.restricted_to(inside), group.restricted_to(outside)
        if first.order * second.order == group.order:
            return first, second
    return None


def split_directly(group: PermutationGroup) -> list[PermutationGroup] | None:
    """Returns indecomposable subgroups whose direct product the group is.

    None if the group is too large or has too many normal subgroups to be split. The subgroups are unique
    up to isomorphism.

    Implements: [Remak1911]
    """
    pieces: list[PermutationGroup] = []
    rest = group
    while rest.order > 1:
        if rest.order > MOST_SPLIT_ELEMENTS:
            return None
        table = element_table(rest)
        normals = _normal_subgroups(table)
        if normals is None:
            return None
        pair = _complements(normals)
        if pair is None:
            pieces.append(rest)
            break
        piece, remaining = (rest.subgroup(_generators(table, mask)) for mask in pair)
        pieces.append(piece)
        rest = remaining
    return pieces


def _complements(normals: list[Mask]) -> tuple[Mask, Mask] | None:
    """Returns two normal subgroups whose product is direct and everything, the first as small as can be.

    As a direct factor of least order, the first one cannot be split.
    """
    by_size: dict[int, list[Mask]] = {}
    for mask in normals:
        by_size.setdefault(int(mask.sum()), []).append(mask)
    order = max(by_size)
    for size in sorted(by_size):
        if size == 1 or size == order or order % size:
            continue
        for first, second in itertools.product(by_size[size], by_size.get(order // size, [])):
            if int((first & second).sum()) == 1:
                return first, second
    return None


def _normal_subgroups(table: ElementTable) -> list[Mask] | None:
    """Returns all normal subgroups as sets of elements, None if they are too many.

    Every one is a product of normal closures of single elements.
    """
    everything = np.arange(table.order)
    multiplication = table.products(everything[:, None], everything[None, :])
    principal: dict[bytes, Mask] = {}
    for x in table.class_representatives.tolist():
        mask = _closure(multiplication, table.classes == x)
        principal[mask.tobytes()] = mask
    found = dict(principal)
    queue = list(principal.values())
    for first in queue:
        cosets = multiplication[np.flatnonzero(first)].min(axis=0)
        for second in principal.values():
            product = np.zeros(table.order, dtype=np.bool_)
            product[cosets[second]] = True
            product = product[cosets]
            if (key := product.tobytes()) not in found:
                found[key] = product
                queue.append(product)
        if len(found) > _MOST_NORMAL_SUBGROUPS:
            return None
    return queue


def _closure(multiplication: npt.NDArray[np.intp], conjugates: Mask) -> Mask:
    """Returns the subgroup generated by a set of elements that is closed under conjugation."""
    mask = conjugates.copy()
    mask[0] = True
    while True:
        inside = np.flatnonzero(mask)
        larger = mask.copy()
        larger[multiplication[np.ix_(inside, np.flatnonzero(conjugates))]] = True
        if int(larger.sum()) == len(inside):
            return mask
        mask = larger


def _generators(table: ElementTable, mask: Mask) -> list[tuple[int, ...]]:
    """Returns a few elements that generate a subgroup given as a set."""
    group = table.group.subgroup([])
    kept: list[tuple[int, ...]] = []
    for x in np.flatnonzero(mask).tolist():
        if (g := table.element(x)) not in group:
            kept.append(g)
            group = table.group.subgroup(kept)
    return kept
