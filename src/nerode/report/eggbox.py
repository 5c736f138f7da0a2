"""The D-classes of a syntactic monoid as egg-boxes: what is shown of them, cut to a readable size."""

from __future__ import annotations

from dataclasses import dataclass

MAX_ROWS = 8
MAX_COLUMNS = 8
MAX_BOXES = 24
MAX_WORDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One H-class.

    Attributes:
        words: the shortest word of some of its elements.
        size: how many elements it has.
        idempotent: the word of its idempotent, None if it has none; an H-class with one is a group.
    """

    words: tuple[str, ...]
    size: int
    idempotent: str | None = None

    @property
    def is_group(self) -> bool:
        """Whether the class is a group of more than one element."""
        return self.idempotent is not None and self.size > 1

    @property
    def left_out(self) -> int:
        """How many elements have no word here."""
        return self.size - len(self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class EggBox:
    """One D-class: rows are R-classes, columns are L-classes.

    Attributes:
        level: steps below the class of the identity in the J-order.
        cells: the part that is shown, row by row; every H-class of one D-class has the same size.
        num_rows: how many R-classes there are in all.
        num_columns: how many L-classes.
        group: name of its group if it has a non-trivial one.
    """

    level: int
    cells: tuple[tuple[Cell, ...], ...]
    num_rows: int
    num_columns: int
    group: str = ""

    def __post_init__(self) -> None:
        if not self.cells or any(len(row) != len(self.cells[0]) for row in self.cells):
            raise ValueError("an egg-box needs rows of one length")
        if len(self.cells) > self.num_rows or len(self.cells[0]) > self.num_columns:
            raise ValueError("an egg-box shows more cells than it says it has")

    @property
    def num_elements(self) -> int:
        """Elements of the whole D-class."""
        return self.num_rows * self.num_columns * self.cells[0][0].size

    @property
    def width(self) -> float:
        """About how wide the box is on a page, in pixels."""
        texts = [max(len(", ".join(row[i].words)) for row in self.cells) for i in range(len(self.cells[0]))]
        return sum(max(44.0, 24.0 + 8.0 * text) for text in texts) + 18.0

    @property
    def regular(self) -> bool:
        """Whether some idempotent is shown."""
        return any(cell.idempotent is not None for row in self.cells for cell in row)

    @property
    def note(self) -> str:
        """What is not shown, empty if everything is."""
        if len(self.cells) == self.num_rows and len(self.cells[0]) == self.num_columns:
            return ""
        rows, columns = len(self.cells), len(self.cells[0])
        return f"{rows} of {self.num_rows} rows and {columns} of {self.num_columns} columns"
