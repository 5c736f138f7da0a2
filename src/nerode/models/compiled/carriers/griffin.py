"""Registers in Griffin's recurrent block: r = σ(±1000) is exactly 1 or 0, and so a holds exactly or fades.

One channel carries each register and one each signal that says when registers move; the matrix W_a takes the
signals to the registers. What is written is tied to the gate by √(1 - a²), which the input divides out;
counters are not carried. The convolution passes its input on, at once or one letter late, the input gate is
1, and the branch GeLU is the constant 64, which the last map divides out.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from nerode.core import Exact, to_float
from nerode.models.architectures.griffin import Griffin
from nerode.models.base import SequenceLayer
from nerode.models.compiled.carriers.assembly import Carrier, set_rows
from nerode.models.compiled.carriers.forms import ONE, Form
from nerode.models.compiled.carriers.plan import BlockPlan
from nerode.models.compiled.carriers.registers import distinct_moves, registers_of, set_taps, share_of

_SATURATED = 1000
_SCALE = 64
_SHARPNESS = 8
_DECAY_OF_ZERO = 128.0
"""exp(-8 · 128) is 0 in every type."""


class GriffinCarrier(Carrier):
    """Carries diagonal layers in Griffin's recurrent block."""

    delays = True

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns the published settings but for the sizes and a learned start."""
        registers = registers_of(block, self.architecture)
        channels = max(1, len(registers) + len(distinct_moves(registers)))
        return {"channels": channels, "learned_start": True}

    def fill(self, layer: SequenceLayer, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        assert isinstance(layer, Griffin)
        assert layer.start is not None
        assert layer.convolution is not None
        assert layer.linear_y is not None
        registers = registers_of(block, self.architecture)
        signals, n = distinct_moves(registers), len(registers)
        signed = layer.settings.signed
        set_rows(layer.linear_x, [r.write.scaled(_undo(r.gate)) for r in registers])
        set_rows(layer.linear_x, signals, first=n)
        set_rows(layer.linear_y, [Form({ONE: _SCALE})] * n)
        set_taps(layer.convolution, registers)
        layer.input_gate.bias.fill_(_SATURATED)
        layer.recurrence_gate.bias.fill_(-_SATURATED)
        for i, register in enumerate(registers):
            if register.moves is None:
                layer.recurrence_gate.bias[i] = _SATURATED
            else:
                layer.recurrence_gate.weight[0, i, n + signals.index(register.moves)] = 2 * _SATURATED
            layer.decay[i] = self._decay(register.gate, signed=signed)
            layer.start[i] = to_float(register.start)
            layer.linear_out.weight[register.place, i] = 1 / _SCALE

    def _decay(self, gate: Exact, *, signed: bool) -> float:
        """Λ, at which r = 1 gives a gate."""
        share = share_of(gate, self.architecture, signed=signed)
        if share == 1:
            return -float(_SATURATED)
        return _DECAY_OF_ZERO if share == 0 else math.log(math.expm1(-math.log(share) / _SHARPNESS))


def _undo(gate: Exact) -> Exact:
    """What makes up for the factor √(1 - a²); where that is 0 nothing is written."""
    value = to_float(gate)
    return 0 if abs(value) >= 1 else Fraction(1 / math.sqrt(1 - value * value))
