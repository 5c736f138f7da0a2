"""A D-class as a box to be drawn: rows are R-classes, columns are L-classes, cells are H-classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nerode.algebra.green_relations import DClass, Green
from nerode.core import InputError
from nerode.languages import Word


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

    @property
    def num_hidden(self) -> int:
        """How many elements are not listed."""
        return self.size - len(self.words)


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
            f"an egg box of at most {max_rows} rows, {max_columns} columns and {max_words} words a cell "
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
