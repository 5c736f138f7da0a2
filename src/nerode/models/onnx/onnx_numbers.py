"""Steps of networks as ONNX nodes: a vector is the name of a value (batch, n).

A complex vector is its real parts, then the imaginary ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nerode.core import Exact, imaginary_part, real_part, to_float
from nerode.models.onnx.graph import Floats, GraphWriter
from nerode.network import Affine, Numbers, Recurrence, RecurrenceStep, Row

_FUNCTIONS = {"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid", "exp": "Exp"}


class OnnxNumbers(Numbers[str]):
    """Nodes of a graph.

    Args:
        graph: where the nodes are added.
        is_complex: whether the numbers that are converted are complex.
    """

    def __init__(self, graph: GraphWriter, *, is_complex: bool = False) -> None:
        self._graph, self._is_complex = graph, is_complex
        self._parts = [real_part, imaginary_part] if is_complex else [real_part]

    def map(self, affine: Affine, place: str) -> Callable[[str], str]:
        """Returns the image of real rows; complex images are two halves."""
        matrix = np.concatenate([_dense(affine.rows, affine.num_inputs, part) for part in self._parts])
        bias = np.array([to_float(part(b)) for part in self._parts for b in affine.bias])
        return lambda x: self._graph.affine(x, matrix, bias)

    def stateful(
        self, affine: Affine, place: str, number: int | None = None
    ) -> tuple[Callable[[str], str], Callable[[Any, str], str]]:
        """Returns a first half that waits for the state."""
        whole = self.map(affine, place)
        return lambda seen: seen, lambda seen, state: whole(self.join([seen, state]))

    def matrix(self, rows: Sequence[Row], place: str) -> Callable[[str, str], str]:
        """Returns (h, b) ↦ A h + b."""
        matrix = self._square(rows)
        return lambda h, b: self._graph.node("Add", self._graph.affine(h, matrix, np.zeros(1)), b)

    def vectors(self, table: Sequence[Sequence[Exact]], place: str) -> Callable[[str], str]:
        """Returns the rows of a table by number."""
        rows = np.array([[to_float(part(e)) for part in self._parts for e in row] for row in table])
        return lambda choice: self._graph.node("Gather", self._graph.array(rows), choice, axis=0)

    def by_rows(self, matrices: Sequence[Sequence[Row]]) -> Callable[[str, str, str], str]:
        """Returns (choice, h, b) ↦ A(choice) h + b."""
        stacked, graph = np.stack([self._square(rows) for rows in matrices]), self._graph

        def moved(choice: str, h: str, b: str) -> str:
            chosen = graph.node("Gather", graph.array(stacked), choice, axis=0)
            column = graph.node("Unsqueeze", h, graph.integers([-1]))
            product = graph.node("Squeeze", graph.node("MatMul", chosen, column), graph.integers([-1]))
            return graph.node("Add", product, b)

        return moved

    def selector(self, affine: Affine) -> Callable[[str], str]:
        """Returns the number of the largest row; selectors are real."""
        rows = OnnxNumbers(self._graph).map(affine, "selector")
        return lambda seen: self.one_hot(rows(seen))

    def one_hot(self, values: str) -> str:
        """Returns the number of the largest entry."""
        return self._graph.node("ArgMax", values, axis=-1, keepdims=0)

    def picks(self, places: Sequence[int], place: str) -> Callable[[str], str]:
        """Returns the map that picks some entries."""
        return lambda values: self._graph.pick(values, places)

    def join(self, parts: Sequence[str]) -> str:
        """Returns vectors one after the other."""
        return self._graph.join(parts)

    def split(self, values: str, count: int) -> list[str]:
        """Returns a vector in parts of equal length."""
        return [values] if count == 1 else self._graph.split(values, count)

    def parts(self, values: str) -> list[str]:
        """Returns the vector itself, which is its real parts, then the imaginary ones."""
        return [values]

    def apply(self, function: str, values: str) -> str:
        """Returns the images under a function."""
        if function == "clip":
            return self._graph.node("Clip", values, self._graph.number(0.0), self._graph.number(1.0))
        return self._graph.node(_FUNCTIONS[function], values)

    def times(self, left: str, right: str) -> str:
        """Returns products, complex ones by halves."""
        if not self._is_complex:
            return self._graph.node("Mul", left, right)
        (a, b), (u, v) = self._graph.split(left, 2), self._graph.split(right, 2)
        node = self._graph.node
        real = node("Sub", node("Mul", a, u), node("Mul", b, v))
        return self.join([real, node("Add", node("Mul", a, v), node("Mul", b, u))])

    def gated(self, gate: str, values: str, added: str) -> str:
        """Returns gate · value + added."""
        return self._graph.node("Add", self.times(gate, values), added)

    def over(self, left: str, right: str) -> str:
        """Returns quotients."""
        return self._graph.node("Div", left, right)

    def mix(self, share: str, old: str, new: str) -> str:
        """Returns (1 - share) · old + share · new."""
        kept = self._graph.node("Sub", self._graph.number(1.0), share)
        return self.gated(kept, old, self.times(share, new))

    def capped(self, share: str, cap: Exact) -> str:
        """Returns 1 - cap · (1 - share)."""
        one, most = self._graph.number(1.0), self._graph.number(to_float(cap))
        kept = self._graph.node("Mul", most, self._graph.node("Sub", one, share))
        return self._graph.node("Sub", one, kept)

    def recurrence(self, record: Recurrence, *, is_complex: bool) -> RecurrenceStep[str]:
        """Returns the step of a recurrence, in complex numbers if its state is complex."""
        return record.step(OnnxNumbers(self._graph, is_complex=is_complex))

    def _square(self, rows: Sequence[Row]) -> Floats:
        real = _dense(rows, len(rows), real_part)
        if not self._is_complex:
            return real
        imaginary = _dense(rows, len(rows), imaginary_part)
        return np.block([[real, -imaginary], [imaginary, real]])


def _dense(rows: Sequence[Row], columns: int, part: Callable[[Exact], Exact]) -> Floats:
    matrix = np.zeros((len(rows), columns))
    for i, row in enumerate(rows):
        for j, c in row:
            matrix[i, j] = to_float(part(c))
    return matrix
