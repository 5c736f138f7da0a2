"""Affine maps, matrices and vectors as lines of plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nerode.core import Cyclotomic, Exact, write_exact
from nerode.network.affine import Affine, Row

MOST_LINES = 16
"""Lines that one part of a network may take."""

MOST_TERMS = 14
"""Terms of one row."""

MOST_COLUMNS = 12
"""Columns of a matrix that is drawn as a grid."""


def write_row(row: Row, bias: Exact, names: Sequence[str]) -> str:
    """Returns a row as a sum, such as `1 - [a] + 2·[b]`."""
    terms = [_term(coefficient, names[column]) for column, coefficient in row]
    if bias != 0:
        # A sum begins with what is positive where it can: 1 - [a], but [a] - 1.
        constant = _constant(bias)
        first = bool(terms) and terms[0].startswith("-") and not constant.startswith("-")
        terms = [constant, *terms] if first else [*terms, constant]
    if len(terms) > MOST_TERMS:
        terms = [*terms[: MOST_TERMS - 1], f"… ({len(terms)} terms)"]
    return _sum(terms) if terms else "0"


def write_map(
    affine: Affine, outputs: Iterable[str], inputs: Sequence[str], *, around: str | Sequence[str] = ""
) -> list[str]:
    """Returns one line for each row, `output = sum`.

    Args:
        affine: the map.
        outputs: what the rows are called.
        inputs: what the columns are called.
        around: a function that is applied to each row, such as relu, or one for each row.
    """
    lines = []
    functions = [around] * affine.num_outputs if isinstance(around, str) else around
    for name, row, bias, function in zip(outputs, affine.rows, affine.bias, functions, strict=True):
        text = write_row(row, bias, inputs)
        lines.append(f"{name} = {function}({text})" if function else f"{name} = {text}")
    return shorten(lines)


def write_grid(matrix: Sequence[Row], names: Sequence[str]) -> list[str]:
    """Returns a square matrix as a grid with its names, zeros as dots; its rows as sums if it is large."""
    if len(names) > MOST_COLUMNS:
        return shorten(
            [f"{name} ← {write_row(row, 0, names)}" for name, row in zip(names, matrix, strict=True)]
        )
    cells = [["", *names]]
    for name, row in zip(names, matrix, strict=True):
        entries = dict(row)
        cells.append([name, *(write_exact(entries[j]) if j in entries else "." for j in range(len(names)))])
    widths = [max(len(line[j]) for line in cells) for j in range(len(names) + 1)]
    lines = []
    for first, *others in cells:
        padded = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *padded]))
    return lines


def write_vector(vector: Sequence[Exact]) -> str:
    """Returns a vector in parentheses."""
    shown = [write_exact(value) for value in vector[:MOST_TERMS]]
    return f"({', '.join(shown)}{', …' if len(vector) > MOST_TERMS else ''})"


def shorten(lines: Sequence[str], most: int = MOST_LINES, what: str = "") -> list[str]:
    """Returns the first lines and how many more there are."""
    if len(lines) <= most:
        return list(lines)
    return [*lines[: most - 1], f"… and {len(lines) - most + 1} more{what}"]


def _term(coefficient: Exact, name: str) -> str:
    if coefficient == 1:
        return name
    if coefficient == -1:
        return f"-{name}"
    text = write_exact(coefficient)
    return f"({text})·{name}" if isinstance(coefficient, Cyclotomic) else f"{text}·{name}"


def _constant(value: Exact) -> str:
    return f"({write_exact(value)})" if isinstance(value, Cyclotomic) else write_exact(value)


def _sum(terms: Sequence[str]) -> str:
    text = terms[0]
    for term in terms[1:]:
        text += f" - {term[1:]}" if term.startswith("-") else f" + {term}"
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class StateNames:
    """The names that text and tables of a recurrence use.

    Attributes:
        state: the coordinates of the state.
        inputs: what the maps of the recurrence read: directions of the stream, then units.
        marked_inputs: the same as lines of text name them, such as [x=a].
        letters: the alphabet.
    """

    state: Sequence[str]
    inputs: Sequence[str]
    marked_inputs: Sequence[str]
    letters: Sequence[str]

    @property
    def marked_state(self) -> list[str]:
        """The coordinates as lines of text name them."""
        return [f"h[{name}]" for name in self.state]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedMap:
    """Rows of exact numbers with their names.

    Attributes:
        title: what it is, such as "gate".
        rows: the entries.
        constants: a number that is added to each row; none if nothing is added.
        outputs: names of the rows.
        inputs: names of the columns.
        letter: the letter or choice that it belongs to, empty if it belongs to all.
        whole: whether columns without entries belong to it.
    """

    title: str
    rows: Sequence[Row]
    constants: Sequence[Exact] = ()
    outputs: Sequence[str]
    inputs: Sequence[str]
    letter: str = ""
    whole: bool = False

    @classmethod
    def of(cls, title: str, affine: Affine, outputs: Sequence[str], inputs: Sequence[str]) -> NamedMap:
        """Returns an affine map with its names."""
        return cls(title=title, rows=affine.rows, constants=affine.bias, outputs=outputs, inputs=inputs)
