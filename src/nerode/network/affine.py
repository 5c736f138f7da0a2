"""Sparse affine maps and matrices with exact entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nerode.core import Cyclotomic, Exact, InputError, charge, inverse, simplify, write_exact

Row = tuple[tuple[int, Exact], ...]
Vector = tuple[Exact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Affine:
    """y_i = bias_i + sum of coefficient · x_j over the entries (j, coefficient) of row i.

    Attributes:
        num_inputs: dimension of x.
        bias: one number for each row.
        rows: the non-zero coefficients, columns increasing.
    """

    num_inputs: int
    bias: tuple[Exact, ...]
    rows: tuple[Row, ...]

    def __post_init__(self) -> None:
        if len(self.bias) != len(self.rows):
            raise InputError(f"an affine map has {len(self.bias)} biases but {len(self.rows)} rows")
        for row in self.rows:
            last = -1
            for column, coefficient in row:
                if not last < column < self.num_inputs:
                    raise InputError(
                        f"an affine map of {self.num_inputs} inputs has columns {[c for c, _ in row]}; they "
                        "must increase and stay below that number"
                    )
                if coefficient == 0:
                    raise InputError("an affine map stores a zero coefficient; leave it out")
                last = column

    @property
    def num_outputs(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def num_entries(self) -> int:
        """Number of stored coefficients and non-zero biases."""
        return sum(map(len, self.rows)) + sum(1 for b in self.bias if b != 0)

    def __call__(self, x: Sequence[Exact]) -> list[Exact]:
        """Returns the image of a vector."""
        values: list[Exact] = []
        for total, row in zip(self.bias, self.rows, strict=True):
            for column, coefficient in row:
                value = x[column]
                if value != 0:
                    total = total + (value if coefficient == 1 else coefficient * value)
            values.append(total)
        return values


def zero_map(num_inputs: int, num_outputs: int = 0) -> Affine:
    """Returns the map that is zero everywhere."""
    return Affine(num_inputs=num_inputs, bias=(0,) * num_outputs, rows=((),) * num_outputs)


def constant_map(num_inputs: int, values: Sequence[Exact]) -> Affine:
    """Returns the map that reads nothing and has these values."""
    return Affine(num_inputs=num_inputs, bias=tuple(values), rows=((),) * len(values))


class AffineBuilder:
    """Collects the rows of an affine map by the names of its inputs and outputs."""

    def __init__(self, inputs: Iterable[str]) -> None:
        self.inputs = tuple(inputs)
        self._column = {name: i for i, name in enumerate(self.inputs)}
        if len(self._column) != len(self.inputs):
            raise InputError("two inputs of an affine map have the same name")
        self.outputs: list[str] = []
        self._bias: list[Exact] = []
        self._rows: list[dict[int, Exact]] = []
        self._index: dict[str, int] = {}

    def row(self, output: str, terms: Mapping[str, Exact] | None = None, bias: Exact = 0) -> None:
        """Adds a row; a second row of the same name is added to the first."""
        if output not in self._index:
            self._index[output] = len(self.outputs)
            self.outputs.append(output)
            self._bias.append(0)
            self._rows.append({})
        i = self._index[output]
        self._bias[i] = self._bias[i] + bias
        row = self._rows[i]
        for name, coefficient in (terms or {}).items():
            if name not in self._column:
                raise InputError(f"no input of this map is called {name!r}")
            column = self._column[name]
            row[column] = row.get(column, 0) + coefficient

    def build(self) -> Affine:
        """Returns the map with its rows in the order in which they were first named."""
        rows = tuple(tuple((c, v) for c, v in sorted(row.items()) if v != 0) for row in self._rows)
        return Affine(num_inputs=len(self.inputs), bias=tuple(self._bias), rows=rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """A generalised Householder factor I - beta v vᵀ / (vᵀ v)."""

    beta: Exact
    vector: Vector

    def __post_init__(self) -> None:
        if not any(e != 0 for e in self.vector):
            raise InputError("a Householder factor needs a vector that is not zero")

    @property
    def scale(self) -> Exact:
        """The number beta / (vᵀ v)."""
        norm: Exact = 0
        for e in self.vector:
            norm = norm + e * e
        return simplify(self.beta * inverse(norm))


def multiplied(factors: Sequence[Factor], width: int) -> tuple[Row, ...]:
    """Returns the rows of a product of Householder factors, the first factor first."""
    columns: list[dict[int, Exact]] = [{j: 1} for j in range(width)]
    for factor in factors:
        entries = [(i, e) for i, e in enumerate(factor.vector) if e != 0]
        scale = factor.scale
        for column in columns:
            product: Exact = 0
            for i, e in entries:
                product = product + e * column.get(i, 0)
            if product != 0:
                for i, e in entries:
                    column[i] = simplify(column.get(i, 0) - scale * product * e)
    rows: list[list[tuple[int, Exact]]] = [[] for _ in range(width)]
    for j, column in enumerate(columns):
        for i, value in column.items():
            if value != 0:
                rows[i].append((j, value))
    return tuple(map(tuple, rows))


def moved_columns(images: Sequence[int], diagonal: Sequence[Exact]) -> tuple[Row, ...]:
    """Returns the rows of the matrix whose column j has diagonal[j] in row images[j]."""
    charge()
    rows: list[list[tuple[int, Exact]]] = [[] for _ in images]
    for j, (i, d) in enumerate(zip(images, diagonal, strict=True)):
        if d != 0:
            rows[i].append((j, d))
    return tuple(map(tuple, rows))


def check_matrix(matrix: tuple[Row, ...], width: int) -> None:
    """Raises InputError if a matrix is not square of this width."""
    charge()
    if len(matrix) != width or any(not 0 <= j < width for row in matrix for j, _ in row):
        raise InputError(f"a transition matrix is not {width}x{width}")


def check_vectors(vectors: tuple[Vector, ...], count: int, width: int, what: str) -> None:
    """Raises InputError if there are not so many vectors of this width."""
    if len(vectors) != count or any(len(v) != width for v in vectors):
        raise InputError(f"the {what} are not {count} vectors of {width} entries")


def check_map(given: Affine, num_outputs: int, num_inputs: int, what: str) -> None:
    """Raises InputError if a map has not this shape."""
    if given.num_outputs != num_outputs or given.num_inputs != num_inputs:
        raise InputError(
            f"the {what} map has shape {given.num_outputs}x{given.num_inputs} instead of "
            f"{num_outputs}x{num_inputs}"
        )


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
    affine: Affine, outputs: Iterable[str], inputs: Sequence[str], *, around: str = ""
) -> list[str]:
    """Returns one line for each row, `output = sum`.

    Args:
        affine: the map.
        outputs: what the rows are called.
        inputs: what the columns are called.
        around: a function that is applied to each row, such as relu.
    """
    lines = []
    for name, row, bias in zip(outputs, affine.rows, affine.bias, strict=True):
        text = write_row(row, bias, inputs)
        lines.append(f"{name} = {around}({text})" if around else f"{name} = {text}")
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
