"""How a layer's state moves, as lines of plain text."""

from __future__ import annotations

from collections.abc import Sequence

from nerode.core import Exact, write_exact
from nerode.languages import Alphabet
from nerode.network.affine import Affine, Row
from nerode.network.record import Layer
from nerode.network.recurrences import (
    CELL_GATES,
    CELL_STATES,
    Fixed,
    Gated,
    GatedCell,
    Householder,
    LetterMatrices,
    PermutationDiagonal,
    Squashed,
)
from nerode.network.written_maps import shorten, write_grid, write_map, write_row, write_vector

_MOST_LINES = 60
"""Lines that the matrices of all letters together may take."""


def write_recurrence(layer: Layer, inner: Sequence[str], alphabet: Alphabet) -> list[str]:
    """Returns how the state of a layer moves.

    Args:
        layer: the layer.
        inner: what the inputs of the recurrence's maps are called.
        alphabet: the letters, for transitions that are numbered by them.
    """
    names = [f"h[{name}]" for name in layer.state]
    recurrence = layer.recurrence
    match recurrence:
        case Gated():
            rows = zip(recurrence.gate.rows, recurrence.gate.bias, strict=True)
            gates = [write_row(row, bias, inner) for row, bias in rows]
            return _diagonal(gates, recurrence.write, names, inner)
        case Fixed():
            return _time_invariant(recurrence, layer.state, inner)
        case LetterMatrices():
            return _letter_matrices(recurrence, layer.state, alphabet)
        case Householder():
            return _householder(recurrence, inner, alphabet)
        case PermutationDiagonal():
            parts = zip(alphabet, recurrence.images, recurrence.diagonals, recurrence.writes, strict=True)
            lines = [f"on {a}: {_moves(image, d, layer.state)}{_added(b)}" for a, image, d, b in parts]
            return shorten(lines)
        case Squashed():
            seen = [*inner, *(f"h'[{name}]" for name in layer.state)]
            return write_map(recurrence.update, names, seen, around=recurrence.activation)
        case GatedCell():
            return _gated(recurrence, layer, inner)
        case _:
            raise NotImplementedError(recurrence.kind)


def _diagonal(gates: Sequence[str], write: Affine, names: Sequence[str], inner: Sequence[str]) -> list[str]:
    """One line a coordinate, gate times state plus write; trivial gates are left out."""
    lines = []
    for name, gate, row, bias in zip(names, gates, write.rows, write.bias, strict=True):
        parts = [] if gate == "0" else [name if gate == "1" else f"{_factor(gate)}·{name}"]
        added = write_row(row, bias, inner)
        if added != "0" or not parts:
            parts.append(added)
        lines.append(f"{name} ← {' + '.join(parts).replace(' + -', ' - ')}")
    return shorten(lines)


def _factor(gate: str) -> str:
    """A sum in parentheses, a single term without."""
    return f"({gate})" if " + " in gate or " - " in gate or gate.startswith("-") else gate


def _time_invariant(recurrence: Fixed, names: Sequence[str], inner: Sequence[str]) -> list[str]:
    fixed = _diagonal_of(recurrence.matrix)
    if fixed is not None:
        gates = [write_exact(gate) for gate in fixed]
        return _diagonal(gates, recurrence.write, [f"h[{name}]" for name in names], inner)
    grid = [f"  {line}" for line in write_grid(recurrence.matrix, names)]
    writes = write_map(recurrence.write, [f"write {name}" for name in names], inner)
    return ["h ← A h + write, A =", *grid, *(line for line in writes if not line.endswith(" = 0"))]


def _diagonal_of(matrix: Sequence[Row]) -> list[Exact] | None:
    """The entries of a diagonal matrix, None for another one."""
    if any(j != i for i, row in enumerate(matrix) for j, _ in row):
        return None
    return [row[0][1] if row else 0 for row in matrix]


def _letter_matrices(recurrence: LetterMatrices, names: Sequence[str], alphabet: Alphabet) -> list[str]:
    lines = []
    for symbol, matrix, write in zip(alphabet, recurrence.matrices, recurrence.writes, strict=True):
        lines.append(f"on {symbol}: h ← A h{_added(write)}, A =")
        lines += [f"  {line}" for line in write_grid(matrix, names)]
    hidden = len(lines) - _MOST_LINES
    return lines if hidden <= 0 else [*lines[:_MOST_LINES], f"… and {hidden} more lines"]


def _householder(recurrence: Householder, inner: Sequence[str], alphabet: Alphabet) -> list[str]:
    names = [f"on {symbol}" for symbol in alphabet]
    lines = ["h ← product of I - β v vᵀ/(vᵀ v), the first factor first"]
    if recurrence.selector is not None:
        names = [f"choice {i}" for i in range(1, len(recurrence.factors) + 1)]
        lines += write_map(recurrence.selector, names, inner)
    for name, factors, write in zip(names, recurrence.factors, recurrence.writes, strict=True):
        shown = "; ".join(f"β = {write_exact(f.beta)}, v = {write_vector(f.vector)}" for f in factors)
        lines.append(f"{name}: {shown or 'identity'}{_added(write)}")
    return shorten(lines)


def _moves(image: Sequence[int], diagonal: Sequence[Exact], names: Sequence[str]) -> str:
    """What moves where under a column-one-hot matrix times a diagonal one."""
    moves = []
    for j, i in enumerate(image):
        if diagonal[j] == 0:
            moves.append(f"h[{names[j]}] dropped")
        elif i != j or diagonal[j] != 1:
            factor = "" if diagonal[j] == 1 else f"{write_exact(diagonal[j])}·"
            moves.append(f"{factor}h[{names[j]}] → h[{names[i]}]")
    return ", ".join(shorten(moves)) or "h stays"


def _gated(recurrence: GatedCell, layer: Layer, inner: Sequence[str]) -> list[str]:
    width = layer.width // len(CELL_STATES[recurrence.cell])
    before = [f"h'[{name}]" for name in layer.state[:width]]
    lines = [f"{recurrence.cell} cell, gates before their nonlinearity:"]
    for gate, affine in zip(CELL_GATES[recurrence.cell], recurrence.gates, strict=True):
        lines += write_map(affine, [f"{gate} {name}" for name in layer.state[:width]], [*inner, *before])
    return lines


def _added(write: Sequence[Exact]) -> str:
    return f" + {write_vector(write)}" if any(value != 0 for value in write) else ""
