"""Green's relations of a transition monoid: its R-, L-, D- and H-classes and their order."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nerode.algebra.equivalences import join, number_by_appearance, strong_components
from nerode.algebra.group_structure import describe_group
from nerode.algebra.j_order import j_order
from nerode.algebra.map_index import Numbers
from nerode.algebra.monoid import TransitionMonoid
from nerode.algebra.permutation_groups import PermutationGroup
from nerode.algebra.records import GroupStructure
from nerode.algebra.stabiliser_chain import StabiliserChain
from nerode.core import Budget
from nerode.languages import Word

_BYTES_PER_EDGE = 40
"""What the search for strong components takes for one edge: indices, weights and their copies."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DClass:
    """One D-class (of a finite monoid the same as a J-class), as a box of R-classes by L-classes.

    Attributes:
        number: its number; smaller numbers hold an element with a shorter least word.
        elements: its elements, increasing.
        rows: the numbers of its R-classes.
        columns: the numbers of its L-classes.
        idempotents: its idempotents, increasing; there are some exactly when the class is regular.
        word: the least word of any of its elements.
        group: the maximal subgroup around an idempotent, up to isomorphism; None if not regular.
    """

    number: int
    elements: Numbers
    rows: Numbers
    columns: Numbers
    idempotents: Numbers
    word: Word
    group: GroupStructure | None

    @property
    def size(self) -> int:
        """Number of elements."""
        return len(self.elements)

    @property
    def regular(self) -> bool:
        """Whether it has an idempotent."""
        return len(self.idempotents) > 0

    @property
    def h_size(self) -> int:
        """Number of elements in each of its H-classes."""
        return self.size // (len(self.rows) * len(self.columns))


@dataclass(frozen=True, kw_only=True, eq=False)
class Green:
    """Green's relations; classes are numbered by their first elements.

    Attributes:
        monoid: the monoid.
        r_class: for each element the number of its R-class: x R y when each is the other times something
            on the right.
        l_class: the same on the left.
        d_class: x D y when both are linked by R and L; in a finite monoid also when each is the other
            times something on both sides.
        h_class: x H y when x R y and x L y.
    """

    monoid: TransitionMonoid
    r_class: Numbers
    l_class: Numbers
    d_class: Numbers
    h_class: Numbers

    @property
    def num_r_classes(self) -> int:
        """Number of R-classes."""
        return int(self.r_class.max()) + 1

    @property
    def num_l_classes(self) -> int:
        """Number of L-classes."""
        return int(self.l_class.max()) + 1

    @property
    def num_d_classes(self) -> int:
        """Number of D-classes."""
        return int(self.d_class.max()) + 1

    @property
    def num_h_classes(self) -> int:
        """Number of H-classes."""
        return int(self.h_class.max()) + 1

    @property
    def is_aperiodic(self) -> bool:
        """Whether all H-classes, and so all subgroups, are trivial."""
        return self.num_h_classes == len(self.monoid)

    @functools.cached_property
    def idempotents(self) -> Numbers:
        """The idempotents, increasing."""
        return np.flatnonzero(self.monoid.is_idempotent).astype(np.int32)

    @functools.cached_property
    def is_regular(self) -> npt.NDArray[np.bool_]:
        """For each D-class whether it has an idempotent."""
        regular = np.zeros(self.num_d_classes, dtype=np.bool_)
        regular[self.d_class[self.idempotents]] = True
        return regular

    @functools.cached_property
    def _by_d_class(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """The elements sorted by D-class, and where each class begins."""
        order = np.argsort(self.d_class, kind="stable")
        starts = np.searchsorted(self.d_class[order], np.arange(self.num_d_classes + 1))
        return order, starts

    def elements_of(self, number: int) -> Numbers:
        """Returns the elements of a D-class, increasing."""
        order, starts = self._by_d_class
        return order[starts[number] : starts[number + 1]].astype(np.int32)

    def d(self, number: int, budget: Budget | None = None) -> DClass:
        """Returns a D-class with its maximal subgroup; the seconds of the budget bound the search for it."""
        elements = self.elements_of(number)
        idempotents = elements[self.monoid.is_idempotent[elements]]
        return DClass(
            number=number,
            elements=elements,
            rows=np.unique(self.r_class[elements]),
            columns=np.unique(self.l_class[elements]),
            idempotents=idempotents,
            word=self.monoid.word(int(elements[0])),
            group=describe_group(self.group_at(int(idempotents[0]), budget)) if len(idempotents) else None,
        )

    def d_classes(self, budget: Budget | None = None) -> Iterator[DClass]:
        """Yields the D-classes in order."""
        return (self.d(number, budget) for number in range(self.num_d_classes))

    def group_at(self, idempotent: int, budget: Budget | None = None) -> PermutationGroup:
        """Returns the group H-class of an idempotent as permutations of the points of its image."""
        elements = self.elements_of(int(self.d_class[idempotent]))
        members = elements[self.h_class[elements] == self.h_class[idempotent]]
        image = np.unique(self.monoid.elements[idempotent])
        chain = StabiliserChain(len(image), budget=budget)
        generators = []
        for x in members.tolist():
            if chain.order() == len(members):
                break
            permutation = tuple(np.searchsorted(image, self.monoid.elements[x][image]).tolist())
            if chain.insert(permutation):
                generators.append(permutation)
        return PermutationGroup(generators, len(image), budget=budget)

    @functools.cached_property
    def covers(self) -> tuple[tuple[int, ...], ...]:
        """For each D-class the ones directly below it in the J-order (`j_order` with the usual budget)."""
        return j_order(self.d_class, (self.monoid.distinct_right, self.monoid.distinct_left))


def green(monoid: TransitionMonoid, budget: Budget | None = None) -> Green:
    """Returns Green's relations of a transition monoid.

    R-classes are the strong components of the right Cayley graph, L-classes those of the left one. D is
    the least equivalence that contains both.

    Args:
        monoid: the monoid.
        budget: its bytes and seconds.

    Implements: [Green1951]
    Implements: [FroidurePin1997]
    """
    budget = budget or Budget()
    known = {"elements of the monoid": len(monoid)}
    budget.check("bytes", _BYTES_PER_EDGE * monoid.distinct_right.size, **known)
    r_class = strong_components(monoid.distinct_right)
    budget.check_time(**known)
    l_class = strong_components(monoid.distinct_left)
    budget.check_time(**known)
    d_class = join(r_class, l_class)
    h_class = number_by_appearance(r_class.astype(np.int64) * (int(l_class.max()) + 1) + l_class)
    return Green(monoid=monoid, r_class=r_class, l_class=l_class, d_class=d_class, h_class=h_class)
