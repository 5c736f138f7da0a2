"""Green's relations of a transition monoid: its R-, L-, D- and H-classes, and their order.

`green` finds the classes as strong components of the Cayley graphs; `j_order` says which D-classes lie
directly below which; `eggbox` is a D-class as a box to be drawn: rows are R-classes, columns are L-classes,
cells are H-classes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.algebra.components import edge_labels
from nerode.algebra.group_structure import describe_group
from nerode.algebra.maps import Numbers
from nerode.algebra.monoid import TransitionMonoid
from nerode.algebra.permutation_groups import PermutationGroup
from nerode.algebra.permutations import StabiliserChain
from nerode.algebra.records import GroupStructure
from nerode.core import Budget, InputError, started
from nerode.languages import Word

Below = list[list[int]]

_DENSE_LABELS = 16

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
    budget = started(budget)
    known = {"elements of the monoid": len(monoid)}
    budget.check("bytes", _BYTES_PER_EDGE * monoid.distinct_right.size, **known)
    r_class = cayley_components(monoid.distinct_right)
    budget.check_time(**known)
    l_class = cayley_components(monoid.distinct_left)
    budget.check_time(**known)
    d_class = join(r_class, l_class)
    h_class = number_by_appearance(r_class.astype(np.int64) * (int(l_class.max()) + 1) + l_class)
    return Green(monoid=monoid, r_class=r_class, l_class=l_class, d_class=d_class, h_class=h_class)


def cayley_components(graph: Numbers) -> Numbers:
    """Returns the strong components of a graph in which `graph[x]` lists the targets from x."""
    size, degree = graph.shape
    if not degree:
        return np.arange(size, dtype=np.int32)
    source = np.repeat(np.arange(size, dtype=np.int64), degree)
    return number_by_appearance(edge_labels(size, source, graph.ravel().astype(np.int64)))


def join(r_class: Numbers, l_class: Numbers) -> Numbers:
    """Returns the least equivalence that contains two others.

    In a finite monoid R and L commute, and the first round settles it; others may take more.
    """
    labels = np.arange(len(r_class), dtype=np.int64)
    while True:
        before = labels
        for classes in (r_class, l_class):
            least = np.full(int(classes.max()) + 1, len(labels), dtype=np.int64)
            np.minimum.at(least, classes, labels)
            labels = least[classes]
        if np.array_equal(labels, before):
            return number_by_appearance(labels)


def number_by_appearance(labels: npt.NDArray[np.signedinteger[Any]]) -> Numbers:
    """Returns labels, none negative, renumbered in the order of their first appearance."""
    bound = int(labels.max()) + 1
    if bound > _DENSE_LABELS * len(labels):
        labels = np.unique(labels, return_inverse=True)[1]
        bound = int(labels.max()) + 1
    first = np.full(bound, len(labels), dtype=np.int64)
    np.minimum.at(first, labels, np.arange(len(labels)))
    used = np.flatnonzero(first < len(labels))
    rank = np.empty(bound, dtype=np.int32)
    rank[used[np.argsort(first[used])]] = np.arange(len(used), dtype=np.int32)
    numbers: Numbers = rank[labels]
    return numbers


def j_order(
    d_class: Numbers, graphs: Sequence[Numbers], budget: Budget | None = None
) -> tuple[tuple[int, ...], ...]:
    """Returns for each D-class the ones directly below it, increasing.

    x is below y when x is y times something on both sides. One step down is one more letter on the right
    or on the left; what is directly below is a step that no longer way down implies.

    Args:
        d_class: for each element the number of its D-class.
        graphs: the right and the left Cayley graph.
        budget: its bytes bound the table of which class is below which; its seconds bound the work.
    """
    budget = started(budget)
    number = int(d_class.max()) + 1
    known = {"D-classes": number}
    budget.check("bytes", number * number // 8, **known)
    below = _one_letter_below(d_class, graphs)
    under = [0] * number
    covers: list[tuple[int, ...]] = [()] * number
    for d in _from_the_bottom(below):
        budget.check_time(**known)
        implied = 0
        for e in below[d]:
            implied |= under[e]
        covers[d] = tuple(e for e in below[d] if not implied >> e & 1)
        for e in covers[d]:
            implied |= 1 << e
        under[d] = implied
    return tuple(covers)


def j_levels(covers: Sequence[Sequence[int]]) -> list[int]:
    """Returns for each D-class the length of the longest chain of classes above it.

    Args:
        covers: for each D-class the ones directly below it.
    """
    levels = [0] * len(covers)
    for d in reversed(_from_the_bottom(covers)):
        for e in covers[d]:
            levels[e] = max(levels[e], levels[d] + 1)
    return levels


def _one_letter_below(d_class: Numbers, graphs: Sequence[Numbers]) -> Below:
    """Returns for each D-class the other ones that one letter on either side leads to, increasing."""
    number = int(d_class.max()) + 1
    source = d_class.astype(np.int64) * number
    codes = {
        code
        for graph in graphs
        for column in graph.T
        for code in np.unique(source + d_class[column]).tolist()
    }
    below: Below = [[] for _ in range(number)]
    for code in sorted(codes):
        upper, lower = divmod(code, number)
        if upper != lower:
            below[upper].append(lower)
    return below


def _from_the_bottom(below: Sequence[Sequence[int]]) -> list[int]:
    """Returns the D-classes in an order in which each one comes after all that are below it."""
    waiting = [len(lower) for lower in below]
    above: Below = [[] for _ in below]
    for d, lower in enumerate(below):
        for e in lower:
            above[e].append(d)
    order = [d for d, count in enumerate(waiting) if not count]
    for e in order:
        for d in above[e]:
            waiting[d] -= 1
            if not waiting[d]:
                order.append(d)
    return order


@dataclass(frozen=True, slots=True, kw_only=True)
class EggBoxCell:
    """One H-class.

    Attributes:
        size: number of elements.
        words: least words of its first elements, as many as were asked for; its idempotent is among them.
        idempotent: the least word of its idempotent, None if it has none. The identity has the empty word.
    """

    size: int
    words: tuple[Word, ...]
    idempotent: Word | None

    @property
    def is_group(self) -> bool:
        """Whether the cell is a group."""
        return self.idempotent is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class EggBox:
    """The first rows and columns of a D-class.

    Attributes:
        d_class: the class.
        rows: numbers of the R-classes that are shown.
        columns: numbers of the L-classes that are shown.
        cells: `cells[i][j]` is the H-class in row i and column j.
    """

    d_class: DClass
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    cells: tuple[tuple[EggBoxCell, ...], ...]


def eggbox(
    green: Green, d_class: DClass, *, max_rows: int = 12, max_columns: int = 12, max_words: int = 4
) -> EggBox:
    """Returns a D-class for drawing, cut to a size that can be drawn.

    Args:
        green: the relations that the class belongs to.
        d_class: the class.
        max_rows: R-classes to show, at least 1.
        max_columns: L-classes to show, at least 1.
        max_words: elements to list in each cell, at least 1.
    """
    if min(max_rows, max_columns, max_words) < 1:
        raise InputError(
            f"an egg box of at most {max_rows} rows, {max_columns} columns and {max_words} words per cell "
            "shows nothing; give numbers of at least 1"
        )
    rows, columns = d_class.rows[:max_rows], d_class.columns[:max_columns]
    members: dict[tuple[int, int], list[int]] = {(r, c): [] for r in rows.tolist() for c in columns.tolist()}
    shown = np.isin(green.r_class[d_class.elements], rows) & np.isin(green.l_class[d_class.elements], columns)
    for x in d_class.elements[shown].tolist():
        members[int(green.r_class[x]), int(green.l_class[x])].append(x)
    return EggBox(
        d_class=d_class,
        rows=tuple(rows.tolist()),
        columns=tuple(columns.tolist()),
        cells=tuple(
            tuple(_cell(green, members[r, c], max_words) for c in columns.tolist()) for r in rows.tolist()
        ),
    )


def _cell(green: Green, elements: list[int], max_words: int) -> EggBoxCell:
    monoid = green.monoid
    shown = elements[:max_words]
    idempotent = next((x for x in elements if monoid.is_idempotent[x]), None)
    if idempotent is not None and idempotent not in shown:
        shown[-1] = idempotent
    return EggBoxCell(
        size=len(elements),
        words=tuple(monoid.word(x) for x in shown),
        idempotent=None if idempotent is None else monoid.word(idempotent),
    )
