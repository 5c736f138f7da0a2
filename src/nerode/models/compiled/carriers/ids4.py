"""Linear layers of every kind in IDS4: its matrix is linear in the stream, of which one place is always 1."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from nerode.core import NotCompilable, to_float
from nerode.models.architectures.ids4 import Ids4
from nerode.models.base import SequenceLayer
from nerode.models.compiled.carriers.assembly import Carrier, set_rows
from nerode.models.compiled.carriers.cells import numbers
from nerode.models.compiled.carriers.forms import ONE, Form, compose
from nerode.models.compiled.carriers.plan import BlockPlan
from nerode.network import Fixed, Gated, LetterMatrices, Row


class Ids4Carrier(Carrier):
    """Carries layers with a matrix for each letter, a fixed matrix, or gates."""

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns the number of states."""
        return {"states": max(1, len(block.states)), "learned_start": True}

    def fill(self, layer: SequenceLayer, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        assert isinstance(layer, Ids4)
        if block.layer is None:
            return
        assert layer.B is not None
        assert layer.start is not None
        record = block.layer.recurrence
        match record:
            case LetterMatrices():
                for place, matrix in zip(block.letters, record.matrices, strict=True):
                    set_matrix(layer.A[place], matrix)
                for place, write in zip(block.letters, record.writes, strict=True):
                    layer.B.weight[:, place] = numbers(write)
            case Fixed():
                set_matrix(layer.A[ONE], record.matrix)
                set_rows(layer.B, compose(record.write, block.seen))
            case Gated() if not block.layer.complex_state:
                set_gates(layer.A, compose(record.gate, block.seen))
                set_rows(layer.B, compose(record.write, block.seen))
            case _:
                raise NotCompilable(self.architecture, [f"layer {block.layer.name} is {record.kind}"])
        for i, (place, value) in enumerate(zip(block.states, block.layer.start, strict=True)):
            layer.start[i] = to_float(value)
            layer.C.weight[place, i] = 1


def set_matrix(target: Tensor, rows: tuple[Row, ...]) -> None:
    """Writes sparse rows into a matrix."""
    for i, row in enumerate(rows):
        for j, c in row:
            target[i, j] = to_float(c)


def set_gates(target: Tensor, gates: list[Form]) -> None:
    """Writes gates into matrices (places, n, n), each on the diagonal of the place that it reads."""
    for i, form in enumerate(gates):
        target[:, i, i] = form.row(len(target)).to(target)
