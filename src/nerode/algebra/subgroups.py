"""The subgroups of a small group, up to conjugation, and its actions on their cosets."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nerode.algebra.permutation_groups import PermutationGroup, element_table, prime_factors
from nerode.algebra.permutations import Permutation
from nerode.core import BudgetExceeded

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
        steps = [int(x) for x in range(1, self.order) if len(prime_factors(int(self.orders[x]))) == 1]
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
        return index if prime_factors(index) == {index: 1} else 0

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
