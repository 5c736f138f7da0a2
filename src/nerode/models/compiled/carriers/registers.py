"""The coordinates of a diagonal layer as registers that hold, or fade and are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from nerode.compiler.recurrences import Diagonal, TimeInvariant
from nerode.core.errors import NotCompilable
from nerode.core.exact import Exact, to_float
from nerode.models.compiled.carriers.forms import Form, combine, compose
from nerode.models.compiled.carriers.plan import BlockPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Register:
    """One coordinate: h ← h where `moves` is 0, and h ← gate · h + write where it is 1.

    Attributes:
        moves: 0 or 1 at each position; None for a gate that is always the same.
        gate: the gate where it moves.
        write: what is added.
        start: the value before the first letter.
        place: where the stream shows it.
    """

    moves: Form | None
    gate: Exact
    write: Form
    start: Exact
    place: int


def read_registers(block: BlockPlan, architecture: str) -> list[Register]:
    """Returns the registers of a layer.

    Raises:
        NotCompilable: if the layer is not diagonal and real, or a gate takes more values than 1 and another.
    """
    layer = block.layer
    assert layer is not None
    if layer.complex_state:
        raise NotCompilable(architecture, [f"layer {layer.name} has a complex state"])
    recurrence = layer.recurrence
    if not isinstance(recurrence, Diagonal | TimeInvariant):
        raise NotCompilable(architecture, [f"layer {layer.name} is {recurrence.kind}, not diagonal"])
    writes = compose(recurrence.write, block.seen)
    registers = []
    for i, write in enumerate(writes):
        moves, gate = _gate(recurrence, i, block, f"layer {layer.name}", architecture)
        registers.append(
            Register(moves=moves, gate=gate, write=write, start=layer.start[i], place=block.states[i])
        )
    return registers


def require_tied(registers: Sequence[Register], architecture: str) -> None:
    """Raises NotCompilable if a register is written while it holds for ever, as a counter is."""
    for register in registers:
        if register.moves is None and register.gate == 1 and register.write != Form():
            raise NotCompilable(
                architecture,
                ["a counter adds while its gate is 1, but this architecture writes only where it forgets"],
            )


def _gate(
    recurrence: Diagonal | TimeInvariant, i: int, block: BlockPlan, where: str, architecture: str
) -> tuple[Form | None, Exact]:
    """When coordinate i moves, and by which gate: the gate is 1 - (1 - value) · moves."""
    if isinstance(recurrence, TimeInvariant):
        row = recurrence.matrix[i]
        if any(j != i for j, _ in row):
            raise NotCompilable(architecture, [f"the matrix of {where} is not diagonal"])
        return None, row[0][1] if row else 0
    if not recurrence.gate.rows[i]:
        return None, recurrence.gate.bias[i]
    row, bias = recurrence.gate.rows[i], recurrence.gate.bias[i]
    values = block.gate_values[i] | {1}
    if len(values) == 1:
        # Only rare words move it; signals are 0 or 1, so that it steps down by its coefficients.
        values = values | {1 - abs(Fraction(c)) for _, c in row if isinstance(c, int | Fraction)}
    others = sorted(values - {1})
    if len(others) != 1 or not all(isinstance(v, int | Fraction) for v in values):
        found = ", ".join(map(str, sorted(values)))
        raise NotCompilable(
            architecture, [f"a gate of {where} takes the values {found}; here it can take 1 and one other"]
        )
    scale = Fraction(1) / (1 - others[0])
    parts = [(block.seen[j], -c * scale) for j, c in row]
    return combine(parts, (1 - bias) * scale), others[0]


def share_of(gate: Exact, architecture: str, *, signed: bool = False) -> float:
    """Returns the number in [0,1] from which an architecture makes a gate: itself, or (gate + 1)/2 if signed.

    Raises:
        NotCompilable: if the gate is out of range.
    """
    share = (to_float(gate) + 1) / 2 if signed else to_float(gate)
    if not 0 <= share <= 1:
        raise NotCompilable(architecture, [f"a gate is {gate}; here gates lie in [{-int(signed)},1]"])
    return share


def distinct_moves(registers: Sequence[Register]) -> list[Form]:
    """Returns the different signals that say when registers move."""
    found: list[Form] = []
    for register in registers:
        if register.moves is not None and register.moves not in found:
            found.append(register.moves)
    return found
