"""The weights of a layer as tables that can be read: named rows and columns, exact entries."""

from __future__ import annotations

from dataclasses import dataclass

from nerode.core import write_exact
from nerode.languages import Alphabet
from nerode.network import Layer, NamedMap, StateNames

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
    inside = [*layer.reads, *_shown_state(layer)]
    after = _numbered("v", layer.readout_units.num_outputs)
    names = StateNames(state=layer.state, inputs=seen, marked_inputs=seen, letters=alphabet.symbols)
    moves = layer.recurrence.tables(names)
    if layer.width > _MOST_ROWS and layer.recurrence.most_factors is not None:
        # Products of factors that nobody can read are not multiplied out.
        moves = [table for table in moves if not table.whole]
    found = [
        NamedMap.of("units: u = relu(…)", layer.units, units, layer.reads),
        *moves[:_MOST_MATRICES],
        NamedMap.of("readout units: v = relu(…)", layer.readout_units, after, inside),
        NamedMap.of("readout", layer.readout, layer.outputs, [*inside, *after]),
    ]
    return [_matrix(table) for table in found if table.rows]


def _matrix(table: NamedMap) -> Matrix:
    """A table with the columns that it uses, or all of them, and last what is added."""
    used = sorted({j for row in table.rows for j, _ in row})
    if table.whole:
        used = list(range(len(table.inputs)))
    place = {j: i for i, j in enumerate(used)}
    columns = [table.inputs[j] for j in used]
    rows = [tuple((place[j], c) for j, c in row) for row in table.rows]
    if any(b != 0 for b in table.constants):
        added = zip(rows, table.constants, strict=True)
        rows = [(*row, (len(used), b)) if b != 0 else row for row, b in added]
        columns.append("+")
    if not columns:
        # A map that is zero everywhere still says so.
        return Matrix(
            title=table.title, columns=("+",), rows=tuple(table.outputs), cells=(("0",),) * len(rows)
        )
    high, wide = min(len(rows), _MOST_ROWS), min(len(columns), _MOST_COLUMNS)
    cells = []
    for row in rows[:high]:
        entries = dict(row)
        cells.append(tuple(write_exact(entries[j]) if j in entries else "" for j in range(wide)))
    cut = high < len(rows) or wide < len(columns)
    return Matrix(
        title=table.title,
        letter=table.letter,
        columns=tuple(columns[:wide]),
        rows=tuple(table.outputs[:high]),
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
