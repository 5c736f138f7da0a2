"""The weights of a layer as tables that can be read: named rows and columns, exact entries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nerode.core import Exact, inverse, simplify, write_exact
from nerode.languages import Alphabet
from nerode.network import (
    CELL_GATES,
    CELL_STATES,
    Affine,
    Fixed,
    Gated,
    GatedCell,
    Householder,
    Layer,
    LetterMatrices,
    PermutationDiagonal,
    Row,
    Squashed,
)

_MOST_ROWS = 16
_MOST_COLUMNS = 24
_MOST_MATRICES = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A table of exact numbers; zeros are empty texts.

    Attributes:
        title: what it is, such as "gate".
        letter: the letter that it belongs to, empty if it belongs to all.
        columns: names.
        rows: names.
        cells: written numbers by row.
        left_out: what is not shown, empty if everything is.
    """

    title: str
    letter: str = ""
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    left_out: str = ""


def layer_matrices(layer: Layer, alphabet: Alphabet) -> list[Matrix]:
    """Returns the weights of a layer in the order of the computation."""
    units = _numbered("u", layer.units.num_outputs)
    seen = [*layer.reads, *units]
    state = _shown_state(layer)
    after = _numbered("v", layer.readout_units.num_outputs)
    return [
        *_map("units: u = relu(…)", layer.units, units, layer.reads),
        *_recurrence(layer, seen, alphabet)[:_MOST_MATRICES],
        *_map("readout units: v = relu(…)", layer.readout_units, after, [*layer.reads, *state]),
        *_map("readout", layer.readout, layer.outputs, [*layer.reads, *state, *after]),
    ]


def _recurrence(layer: Layer, seen: Sequence[str], alphabet: Alphabet) -> list[Matrix]:
    recurrence, names = layer.recurrence, layer.state
    match recurrence:
        case Gated():
            gate = _map("gate", recurrence.gate, names, seen)
            return [*gate, *_map("write", recurrence.write, names, seen)]
        case Fixed():
            matrix = _rows("A", recurrence.matrix, names, names)
            return [matrix, *_map("write", recurrence.write, names, seen)]
        case LetterMatrices():
            pairs = zip(alphabet, recurrence.matrices, recurrence.writes, strict=True)
            return [_step(a, matrix, write, names) for a, matrix, write in pairs]
        case PermutationDiagonal():
            parts = zip(alphabet, recurrence.images, recurrence.diagonals, recurrence.writes, strict=True)
            return [_step(a, _moved(image, d), write, names) for a, image, d, write in parts]
        case Householder():
            return _reflections(recurrence, seen, names, alphabet)
        case Squashed():
            before = [f"{name}′" for name in names]
            return _map(f"h = {recurrence.activation}(…)", recurrence.update, names, [*seen, *before])
        case GatedCell():
            width = layer.width // len(CELL_STATES[recurrence.cell])
            inputs = [*seen, *(f"{name}′" for name in names[:width])]
            gates = zip(CELL_GATES[recurrence.cell], recurrence.gates, strict=True)
            return [m for title, gate in gates for m in _map(title, gate, names[:width], inputs)]
        case _:
            raise NotImplementedError(recurrence.kind)


def _reflections(
    recurrence: Householder, seen: Sequence[str], names: Sequence[str], alphabet: Alphabet
) -> list[Matrix]:
    choices = list(alphabet)
    found = []
    if recurrence.selector is not None:
        choices = [f"choice {i}" for i in range(1, len(recurrence.factors) + 1)]
        found = _map("selector", recurrence.selector, choices, seen)
    if len(names) > _MOST_ROWS:
        return found
    for choice, factors, write in zip(choices, recurrence.factors, recurrence.writes, strict=True):
        matrix: list[list[Exact]] = [[int(i == j) for j in range(len(names))] for i in range(len(names))]
        for factor in factors:
            matrix = _reflected(matrix, factor.beta, factor.vector)
        rows = [tuple((j, v) for j, v in enumerate(row) if v != 0) for row in matrix]
        found.append(_step(choice, rows, write, names))
    return found


def _reflected(matrix: list[list[Exact]], beta: Exact, vector: Sequence[Exact]) -> list[list[Exact]]:
    """(I - beta v vᵀ / vᵀv) times a matrix."""
    norm: Exact = 0
    for e in vector:
        norm = norm + e * e
    scale = beta * inverse(norm)
    products: list[Exact] = []
    for j in range(len(vector)):
        total: Exact = 0
        for e, row in zip(vector, matrix, strict=True):
            total = total + e * row[j]
        products.append(scale * total)
    return [
        [simplify(v - e * p) for v, p in zip(row, products, strict=True)]
        for e, row in zip(vector, matrix, strict=True)
    ]


def _moved(image: Sequence[int], diagonal: Sequence[Exact]) -> list[Row]:
    rows: list[list[tuple[int, Exact]]] = [[] for _ in image]
    for j, i in enumerate(image):
        if diagonal[j] != 0:
            rows[i].append((j, diagonal[j]))
    return [tuple(row) for row in rows]


def _step(letter: str, matrix: Sequence[Row], write: Sequence[Exact], names: Sequence[str]) -> Matrix:
    """The matrix of one letter with its write as a last column, where there is one."""
    columns = list(names)
    rows = list(matrix)
    if any(value != 0 for value in write):
        columns.append("+")
        rows = [
            (*row, (len(names), value)) if value != 0 else row for row, value in zip(rows, write, strict=True)
        ]
    return _rows("A", rows, names, columns, letter=letter)


def _map(title: str, affine: Affine, outputs: Iterable[str], inputs: Sequence[str]) -> list[Matrix]:
    """A map with the columns that it uses, its bias last; nothing for a map without rows."""
    if not affine.rows:
        return []
    used = sorted({j for row in affine.rows for j, _ in row})
    place = {j: i for i, j in enumerate(used)}
    columns = [inputs[j] for j in used]
    rows = [tuple((place[j], c) for j, c in row) for row in affine.rows]
    if any(b != 0 for b in affine.bias):
        rows = [(*row, (len(used), b)) if b != 0 else row for row, b in zip(rows, affine.bias, strict=True)]
        columns.append("+")
    if not columns:
        # A map that is zero everywhere still says so.
        return [Matrix(title=title, columns=("+",), rows=tuple(outputs), cells=(("0",),) * len(rows))]
    return [_rows(title, rows, list(outputs), columns)]


def _rows(
    title: str, rows: Sequence[Row], names: Sequence[str], columns: Sequence[str], *, letter: str = ""
) -> Matrix:
    high, wide = min(len(rows), _MOST_ROWS), min(len(columns), _MOST_COLUMNS)
    cells = []
    for row in rows[:high]:
        entries = dict(row)
        cells.append(tuple(write_exact(entries[j]) if j in entries else "" for j in range(wide)))
    cut = high < len(rows) or wide < len(columns)
    return Matrix(
        title=title,
        letter=letter,
        columns=tuple(columns[:wide]),
        rows=tuple(names[:high]),
        cells=tuple(cells),
        left_out=f"{high}×{wide} of {len(rows)}×{len(columns)} are shown" if cut else "",
    )


def _shown_state(layer: Layer) -> list[str]:
    """The state as the readout sees it; ′ marks the state before the letter."""
    found: list[str] = []
    for mark in ("", "′") if layer.exposes_previous else ("",):
        names = [f"{name}{mark}" for name in layer.state]
        found += [f"re {n}" for n in names] + [f"im {n}" for n in names] if layer.complex_state else names
    return found


def _numbered(letter: str, count: int) -> list[str]:
    return [f"{letter}{i}" for i in range(1, count + 1)]
