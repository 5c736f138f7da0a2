"""Registers in Mamba: a step size of exactly 0 holds, one of exactly 32 lets fade and writes.

In floats softplus(-1000) = 0, softplus(32) = 32 and SiLU(64) = 64 without rounding. One channel carries each
register, one each signal that says when registers move, and one the constant from which B and C are made.
Every part of the published layer is there: the convolution passes its input on, at once or one letter late,
SiLU acts on 0 and on multiples of 64, D is 0, and the gate SiLU(z) is the constant 64, which the last map
divides out.
"""

from __future__ import annotations

import math
from typing import Any

from nerode.core import to_float
from nerode.models.architectures.mamba import Mamba
from nerode.models.base import SequenceLayer
from nerode.models.compiled.carriers.assembly import Carrier, set_rows
from nerode.models.compiled.carriers.forms import ONE, Form
from nerode.models.compiled.carriers.plan import BlockPlan
from nerode.models.compiled.carriers.registers import distinct_moves, registers_of, set_taps, share_of

_STEP = 32
"""Δ where a register moves."""

_SCALE = 64
"""u of a signal that is 1: a power of two that SiLU keeps, in every type."""

_NEVER = -1000.0
_RATE_OF_ZERO = 64.0
"""exp(-32 · 64) is 0 in every type."""


class MambaCarrier(Carrier):
    """Carries diagonal layers in Mamba."""

    delays = True

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns the published settings but for the sizes and a learned start."""
        registers = registers_of(block, self.architecture, squashed=True)
        signals = len(distinct_moves(registers))
        return {
            "channels": len(registers) + signals + 1,
            "states": 1,
            "rank": max(1, signals),
            "learned_start": True,
        }

    def fill(self, layer: SequenceLayer, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        assert isinstance(layer, Mamba)
        registers = registers_of(block, self.architecture, squashed=True)
        signals = distinct_moves(registers)
        n, rank = len(registers), layer.rank
        constant = n + len(signals)
        set_rows(layer.in_proj, [r.write.scaled(_SCALE) for r in registers])
        set_rows(layer.in_proj, [s.scaled(_SCALE) for s in signals], first=n)
        set_rows(layer.in_proj, [Form({ONE: _SCALE})] * (1 + layer.channels), first=constant)
        assert layer.convolution is not None
        assert layer.start is not None
        set_taps(layer.convolution, registers)
        for number in range(len(signals)):
            layer.x_proj.weight[number, n + number] = 1 / _SCALE
        layer.x_proj.weight[rank, constant] = 1 / (_STEP * _SCALE * _SCALE)
        layer.x_proj.weight[rank + 1, constant] = 1 / _SCALE
        layer.dt_proj.bias.fill_(_NEVER)
        for i, register in enumerate(registers):
            if register.moves is None:
                layer.dt_proj.bias[i] = _NEVER if register.gate == 1 else _STEP
            else:
                layer.dt_proj.weight[i, signals.index(register.moves)] = _STEP - _NEVER
            share = share_of(register.gate, self.architecture, signed=layer.settings.signed)
            layer.A_log[i] = math.log(_rate(share))
            layer.start[i] = to_float(register.start)
            layer.out_proj.weight[register.place, i] = register.sign / _SCALE


def _rate(share: float) -> float:
    """The rate at which one step leaves a share; any will do for a register that never moves."""
    return {0.0: _RATE_OF_ZERO, 1.0: 1.0}.get(share) or -math.log(share) / _STEP
