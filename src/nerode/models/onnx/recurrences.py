"""One step of each recurrence as ONNX nodes. A complex state is its real parts, then the imaginary ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nerode.core import Exact, imaginary_part, inverse, real_part, to_float
from nerode.models.onnx.graph import Floats, GraphWriter
from nerode.network import (
    CELL_STATES,
    Affine,
    Factor,
    Fixed,
    Gated,
    GatedCell,
    Householder,
    Layer,
    LetterMatrices,
    PermutationDiagonal,
    Row,
    Squashed,
    Vector,
)


def write_step(graph: GraphWriter, layer: Layer, seen: str, h: str, letter: str) -> str:
    """Adds the state after a letter.

    Args:
        graph: where to.
        layer: the layer.
        seen: what the layer reads, followed by its units (batch, n).
        h: the state before the letter.
        letter: its number (batch).
    """
    moves = layer.recurrence
    is_complex = layer.complex_state
    match moves:
        case Gated():
            return _diagonal(graph, moves, seen, h, is_complex)
        case Fixed():
            moved = graph.affine(h, _square(moves.matrix, layer.width, is_complex), np.zeros(1))
            return graph.node("Add", moved, write_map(graph, moves.write, seen, is_complex))
        case LetterMatrices():
            matrices = [_square(m, layer.width, is_complex) for m in moves.matrices]
            return _choose(graph, matrices, _stack(moves.writes, is_complex), letter, h)
        case PermutationDiagonal():
            matrices = [
                _square(_permuted(image, diagonal), layer.width, is_complex)
                for image, diagonal in zip(moves.images, moves.diagonals, strict=True)
            ]
            return _choose(graph, matrices, _stack(moves.writes, is_complex), letter, h)
        case Householder():
            matrices = [_square(_product(f, layer.width), layer.width, is_complex) for f in moves.factors]
            choice = letter
            if moves.selector is not None:
                rows = write_map(graph, moves.selector, seen, is_complex=False)
                choice = graph.node("ArgMax", rows, axis=-1, keepdims=0)
            return _choose(graph, matrices, _stack(moves.writes, is_complex), choice, h)
        case Squashed():
            total = write_map(graph, moves.update, graph.join([seen, h]), is_complex=False)
            if moves.activation == "clip":
                return graph.node("Clip", total, graph.number(0.0), graph.number(1.0))
            return graph.node({"tanh": "Tanh", "relu": "Relu"}[moves.activation], total)
        case GatedCell():
            return _gated(graph, moves, seen, h, layer.width // len(CELL_STATES[moves.cell]))
        case _:
            raise NotImplementedError(moves.kind)


def write_map(graph: GraphWriter, affine: Affine, x: str, is_complex: bool) -> str:
    """Adds the image of real rows under an affine map; complex images are two halves."""
    parts = [real_part, imaginary_part] if is_complex else [real_part]
    matrix = np.concatenate([_dense(affine.rows, affine.num_inputs, part) for part in parts])
    bias = np.array([to_float(part(b)) for part in parts for b in affine.bias])
    return graph.affine(x, matrix, bias)


def _diagonal(graph: GraphWriter, moves: Gated, seen: str, h: str, is_complex: bool) -> str:
    gate = write_map(graph, moves.gate, seen, is_complex)
    write = write_map(graph, moves.write, seen, is_complex)
    if not is_complex:
        return graph.node("Add", graph.node("Mul", gate, h), write)
    n = moves.gate.num_outputs
    (a, b), (u, v) = ((graph.piece(x, 0, n), graph.piece(x, n, 2 * n)) for x in (gate, h))
    real = graph.node("Sub", graph.node("Mul", a, u), graph.node("Mul", b, v))
    imaginary = graph.node("Add", graph.node("Mul", a, v), graph.node("Mul", b, u))
    return graph.node("Add", graph.join([real, imaginary]), write)


def _choose(graph: GraphWriter, matrices: list[Floats], writes: Floats, choice: str, h: str) -> str:
    """The state times the matrix of each row's choice, plus the write of that choice."""
    chosen = graph.node("Gather", graph.array(np.stack(matrices)), choice, axis=0)
    column = graph.node("Unsqueeze", h, graph.integers([-1]))
    moved = graph.node("Squeeze", graph.node("MatMul", chosen, column), graph.integers([-1]))
    return graph.node("Add", moved, graph.node("Gather", graph.array(writes), choice, axis=0))


def _gated(graph: GraphWriter, moves: GatedCell, seen: str, state: str, width: int) -> str:
    h = graph.piece(state, 0, width)

    def gate(number: int, inner: str) -> str:
        return write_map(graph, moves.gates[number], graph.join([seen, inner]), is_complex=False)

    def mix(left: str, old: str, right: str, new: str) -> str:
        return graph.node("Add", graph.node("Mul", left, old), graph.node("Mul", right, new))

    if moves.cell == "gru":
        reset, update = (graph.node("Sigmoid", gate(i, h)) for i in (0, 1))
        candidate = graph.node("Tanh", gate(2, graph.node("Mul", reset, h)))
        kept = graph.node("Sub", graph.number(1.0), update)
        if moves.cap != 1:
            kept = graph.node("Mul", graph.number(to_float(moves.cap)), kept)
            update = graph.node("Sub", graph.number(1.0), kept)
        return mix(kept, h, update, candidate)
    write, forget, shown, inner = (gate(i, h) for i in range(4))
    forget, shown, inner = (
        graph.node("Sigmoid", forget),
        graph.node("Sigmoid", shown),
        graph.node("Tanh", inner),
    )
    c = graph.piece(state, width, 2 * width)
    if moves.cell == "lstm":
        c = mix(forget, c, graph.node("Sigmoid", write), inner)
        return graph.join([graph.node("Mul", shown, graph.node("Tanh", c)), c])
    grown = graph.node("Exp", write)
    n = graph.piece(state, 2 * width, 3 * width)
    c = mix(forget, c, grown, inner)
    n = graph.node("Add", graph.node("Mul", forget, n), grown)
    return graph.join([graph.node("Div", graph.node("Mul", shown, c), n), c, n])


def _dense(rows: Sequence[Row], columns: int, part: Callable[[Exact], Exact]) -> Floats:
    matrix = np.zeros((len(rows), columns))
    for i, row in enumerate(rows):
        for j, c in row:
            matrix[i, j] = to_float(part(c))
    return matrix


def _square(matrix: Sequence[Row], width: int, is_complex: bool) -> Floats:
    real = _dense(matrix, width, real_part)
    if not is_complex:
        return real
    imaginary = _dense(matrix, width, imaginary_part)
    return np.block([[real, -imaginary], [imaginary, real]])


def _stack(writes: Sequence[Vector], is_complex: bool) -> Floats:
    parts = [real_part, imaginary_part] if is_complex else [real_part]
    return np.array([[to_float(part(e)) for part in parts for e in write] for write in writes])


def _permuted(image: Sequence[int], diagonal: Vector) -> list[Row]:
    rows: list[list[tuple[int, Exact]]] = [[] for _ in image]
    for j, i in enumerate(image):
        rows[i].append((j, diagonal[j]))
    return [tuple(row) for row in rows]


def _product(factors: Sequence[Factor], width: int) -> list[Row]:
    """The matrix of a letter, multiplied out in exact arithmetic."""
    columns: list[list[Exact]] = [[int(i == j) for i in range(width)] for j in range(width)]
    for factor in factors:
        entries = [(i, e) for i, e in enumerate(factor.vector) if e != 0]
        norm: Exact = sum((e * e for _, e in entries), start=0)
        scale = factor.beta * inverse(norm)
        for column in columns:
            amount = scale * sum((e * column[i] for i, e in entries), start=0)
            for i, e in entries:
                column[i] = column[i] - amount * e
    return [tuple((j, columns[j][i]) for j in range(width) if columns[j][i] != 0) for i in range(width)]
