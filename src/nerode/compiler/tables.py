"""Finite functions as few conjunctions: a decision tree whose leaves are one ReLU unit each.

The function is given on patterns (one value, or ANY, for each variable); on anything else the answer does not
matter. The tree's leaves exclude each other, so the function is affine in their conjunctions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from nerode.compiler.forms import DirectionForm, Join, Relu, conjunction, total
from nerode.compiler.layer_builder import DecoderBuilder
from nerode.core import Budget, started
from nerode.languages import Legal

ANY = -1
"""Stands for every value of a variable."""

V = TypeVar("V", bound=Hashable)

Literals = tuple[tuple[int, int], ...]
IntArray = npt.NDArray[np.int64]

Literal = Callable[[int, int], Sequence[DirectionForm]]
"""The literals, each 0 or 1, that say that a variable has a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionTable(Generic[V]):
    """A default and its exceptions, at most one of which matches.

    Attributes:
        otherwise: the value where no row matches.
        rows: pairs of literals (variable, required value) and the value where all of them hold.
    """

    otherwise: V
    rows: tuple[tuple[Literals, V], ...]

    def evaluate(self, assignment: Sequence[int]) -> V:
        """Returns the value for one value of each variable."""
        for literals, value in self.rows:
            if all(assignment[variable] == wanted for variable, wanted in literals):
                return value
        return self.otherwise

    @property
    def literals(self) -> frozenset[tuple[int, int]]:
        """All literals that occur."""
        return frozenset(literal for literals, _ in self.rows for literal in literals)


def decision_table(
    patterns: Sequence[Sequence[int]],
    values: Sequence[V],
    num_values: Sequence[int],
    budget: Budget | None = None,
    *,
    otherwise: V | None = None,
) -> DecisionTable[V]:
    """Returns a small table that agrees with the function on all patterns.

    Args:
        patterns: for each case the values of the variables, ANY where they do not matter.
        values: what the function is in each case; two patterns that meet have the same value.
        num_values: how many values each variable has.
        budget: `elements` bounds the patterns that are looked at.
        otherwise: a value that gets no rows; None takes the one of most leaves.

    Raises:
        ValueError: if two patterns meet and differ in their values.
    """
    budget = started(budget)
    numbers: dict[V, int] = {}
    labels = np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)
    table = np.array(patterns, dtype=np.int64).reshape(len(labels), len(num_values))
    leaves: list[tuple[Literals, int]] = []
    pending: list[tuple[Literals, IntArray]] = [((), np.arange(len(labels)))]
    looked_at = 0
    while pending:
        path, chosen = pending.pop()
        looked_at += len(chosen)
        budget.check("elements", looked_at, rows_of_a_table=len(leaves))
        present = np.unique(labels[chosen])
        if len(present) == 1:
            leaves.append((path, int(present[0])))
        elif len(present) > 1:
            variable = _best_variable(table[chosen], labels[chosen], num_values)
            pending.extend(reversed(_branches(table, chosen, path, variable, num_values[variable])))
    names = list(numbers)
    if not leaves:
        raise ValueError("a table of no patterns has no values")
    default = _most_common(leaves) if otherwise is None else numbers[otherwise]
    rows = tuple((path, names[label]) for path, label in leaves if label != default)
    return DecisionTable(otherwise=names[default], rows=rows)


def _branches(
    table: IntArray, chosen: IntArray, path: Literals, variable: int, num_values: int
) -> list[tuple[Literals, IntArray]]:
    column = table[chosen, variable]
    found = []
    for value in range(num_values):
        inside = chosen[(column == value) | (column == ANY)]
        if len(inside):
            found.append(((*path, (variable, value)), inside))
    return found


def _best_variable(table: IntArray, labels: IntArray, num_values: Sequence[int]) -> int:
    """The variable whose values leave the fewest pairs of cases with different labels together."""
    _, labels = np.unique(labels, return_inverse=True)
    width = int(labels.max()) + 1
    best, least = -1, float("inf")
    for variable, size in enumerate(num_values):
        column = table[:, variable]
        concrete = column[column != ANY]
        if len(np.unique(concrete)) < 2:
            continue
        free = np.bincount(labels[column == ANY], minlength=width)
        fixed = column != ANY
        counts = np.bincount(column[fixed] * width + labels[fixed], minlength=size * width)
        counts = counts.reshape(size, width) + free
        sizes = counts.sum(axis=1)
        left = float((sizes**2 - (counts**2).sum(axis=1)).sum())
        if left < least:
            best, least = variable, left
    if best < 0:
        raise ValueError("two patterns meet and have different values")
    return best


def _most_common(leaves: Sequence[tuple[Literals, int]]) -> int:
    """The label of most leaves, so that the fewest need a row; the first such label."""
    counts = Counter(label for _, label in leaves)
    return max(counts, key=lambda label: (counts[label], -label))


def decode_table(
    decoder: DecoderBuilder,
    table: DecisionTable[Legal],
    literal: Literal,
    guard: Sequence[DirectionForm] = (),
) -> None:
    """Adds the scores of a table of legal sets, one unit for each row.

    Args:
        decoder: gets the scores.
        table: what is legal.
        literal: the literals of a variable's value.
        guard: literals without which nothing is legal.
    """
    decoder.add_legal(table.otherwise, conjunction(guard, decoder.relu))
    for literals, legal in table.rows:
        parts = [form for variable, value in literals for form in literal(variable, value)]
        unit = conjunction([*guard, *parts], decoder.relu)
        decoder.add_legal(legal, unit)
        decoder.add_legal(table.otherwise, -unit)


def table_indicator(
    table: DecisionTable[V],
    wanted: Callable[[V], bool],
    literal: Literal,
    relu: Relu,
    guard: Sequence[DirectionForm] = (),
    join: Join = conjunction,
) -> DirectionForm:
    """Returns 1 where all literals of the guard hold and the table has a wanted value, and 0 elsewhere."""
    default = wanted(table.otherwise)
    found = [join(guard, relu)] if default else []
    for literals, value in table.rows:
        if wanted(value) != default:
            parts = [form for variable, number in literals for form in literal(variable, number)]
            unit = join([*guard, *parts], relu)
            found.append(-unit if default else unit)
    return total(found)
