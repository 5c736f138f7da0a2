"""Averaging over the group: from matrices that nearly multiply as the group does to such that do.

    M(g) ← the orthogonal matrix nearest to the mean over h of M(hg) M(h)ᵀ

Where the table is close to a representation, each round squares the distance; where it is not, the rounds end
anywhere, and the defect says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nerode.analysis.polish.learned import Floats, LearnedTable, LetteredGroup
from nerode.core import Budget

MAX_ROUNDS = 60
STILL = 1e-14
"""Largest change of an entry from which on a table has converged."""

EXACT = 1e-9
"""A block with a larger defect after averaging is no representation."""

NEAR = 1.0
"""A block with a larger mean defect before averaging had not learned a representation.

Averaging may still turn it into one, but the readout was not trained with that: it is junk all the same.
"""


@dataclass(frozen=True, kw_only=True)
class BlockDefect:
    """The distance of one block from a representation, before and after averaging.

    Distances are Frobenius norms.

    Attributes:
        block: its number.
        before: mean over all pairs of ‖M(gh) - M(h) M(g)‖.
        before_max: the largest of these.
        after: the mean after averaging.
        after_max: the largest after averaging.
        moved: the largest distance that the matrix of an element moved.
        is_junk: whether it was not near a representation, or did not become one.
    """

    block: int
    before: float
    before_max: float
    after: float
    after_max: float
    moved: float
    is_junk: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Averaged:
    """A table of matrices after averaging.

    Attributes:
        table: M, (elements, blocks, n, n), orthogonal matrices.
        rounds: how often it was averaged.
        defects: of each block.
    """

    table: Floats
    rounds: int
    defects: tuple[BlockDefect, ...]

    @property
    def kept(self) -> tuple[int, ...]:
        """The blocks that are not junk."""
        return tuple(row.block for row in self.defects if not row.is_junk)


def average(learned: LearnedTable, *, budget: Budget | None = None) -> Averaged:
    """Returns the table of all elements, averaged until it stays.

    Raises:
        BudgetExceeded: if it takes too long.
    """
    budget = budget or Budget()
    lettered = learned.lettered
    first = complete_table(learned)
    before = block_defects(first, lettered, budget)
    table, rounds = nearest_orthogonal(first), 0
    while rounds < MAX_ROUNDS:
        after = _average_once(table, lettered, budget)
        change = float(np.abs(after - table).max())
        table, rounds = after, rounds + 1
        if change < STILL:
            break
    found = block_defects(table, lettered, budget)
    moved = np.linalg.norm(table - first, axis=(-1, -2)).max(axis=0)
    defects = tuple(
        BlockDefect(
            block=block,
            before=before[block][0],
            before_max=before[block][1],
            after=found[block][0],
            after_max=found[block][1],
            moved=float(moved[block]),
            is_junk=before[block][0] > NEAR or found[block][1] > EXACT,
        )
        for block in range(learned.blocks)
    )
    return Averaged(table=table, rounds=rounds, defects=defects)


def complete_table(learned: LearnedTable) -> Floats:
    """Returns a matrix for each element: that of its letter, or else the product along a shortest word."""
    lettered = learned.lettered
    table = np.empty((lettered.order, *learned.matrices.shape[1:]))
    table[lettered.group.identity] = np.eye(learned.size)
    for before, number in lettered.routes:
        after = lettered.products[before, lettered.letters[number]]
        table[after] = learned.matrices[number] @ table[before]
    for number, element in enumerate(lettered.letters):
        table[element] = learned.matrices[number]
    return table


def block_defects(table: Floats, lettered: LetteredGroup, budget: Budget) -> list[tuple[float, float]]:
    """Returns for each block the mean and the largest of ‖M(gh) - M(h) M(g)‖ over all pairs."""
    total = np.zeros(table.shape[1])
    largest = np.zeros(table.shape[1])
    for h in range(lettered.order):
        budget.check_time(elements=h)
        wrong = np.linalg.norm(table[lettered.products[:, h]] - table[h] @ table, axis=(-1, -2))
        total += wrong.sum(axis=0)
        largest = np.maximum(largest, wrong.max(axis=0))
    return [(float(t) / lettered.order**2, float(m)) for t, m in zip(total, largest, strict=True)]


def nearest_orthogonal(table: Floats) -> Floats:
    """Returns the orthogonal factor of the polar decomposition of each matrix."""
    left, _, right = np.linalg.svd(table)
    return np.asarray(left @ right)


def _average_once(table: Floats, lettered: LetteredGroup, budget: Budget) -> Floats:
    total = np.zeros_like(table)
    for h in range(lettered.order):
        budget.check_time(elements=h)
        total += table[lettered.products[h]] @ table[h].swapaxes(-1, -2)
    return nearest_orthogonal(total)
