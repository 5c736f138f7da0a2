"""Registers in Mamba-2: heads with one channel, held by a step of size 0 and moved by one of size 32.

As in Mamba, SiLU acts on 0 and on multiples of 64 without rounding. B, C and the gate SiLU(z) are the
constant 64, so a register stands in the state times 2¹⁷, beyond the range of float16; the last map divides
that out. The convolution passes its input on, at once or one letter late, D is 0, and the norm is switched
off.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from nerode.core import to_float
from nerode.models.architectures.mamba2 import Mamba2
from nerode.models.base import SequenceLayer
from nerode.models.compiled.carriers.assembly import Carrier, set_rows
from nerode.models.compiled.carriers.forms import ONE, Form, combine
from nerode.models.compiled.carriers.plan import BlockPlan
from nerode.models.compiled.carriers.registers import registers_of, set_taps, share_of

_STEP, _NEVER = 32, -1000
_SCALE = 64
_RATE_OF_ZERO = 64.0
_STORED = _STEP * _SCALE * _SCALE


class Mamba2Carrier(Carrier):
    """Carries diagonal layers in Mamba-2."""

    delays = True

    dtypes = (torch.float64, torch.float32, torch.bfloat16)

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns a head for each register, and no norm."""
        return {
            "channels": max(1, len(registers_of(block, self.architecture, squashed=True))),
            "head_size": 1,
            "states": 1,
            "norm": False,
            "learned_start": True,
        }

    def fill(self, layer: SequenceLayer, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        assert isinstance(layer, Mamba2)
        assert layer.convolution is not None
        assert layer.start is not None
        registers, n = registers_of(block, self.architecture, squashed=True), layer.channels
        set_taps(layer.convolution, registers)
        layer.dt_bias.fill_(_NEVER)
        constant = Form({ONE: _SCALE})
        set_rows(layer.in_proj, [constant] * n)
        set_rows(layer.in_proj, [r.write.scaled(_SCALE) for r in registers], first=n)
        set_rows(layer.in_proj, [constant] * 2, first=2 * n)
        for i, register in enumerate(registers):
            if register.moves is not None:
                rise = combine([(register.moves, _STEP - _NEVER)])
                set_rows(layer.in_proj, [rise], first=2 * n + 2 + i)
            elif register.gate != 1:
                layer.dt_bias[i] = _STEP
            share = share_of(register.gate, self.architecture, signed=layer.settings.signed)
            layer.A_log[i] = math.log({0.0: _RATE_OF_ZERO, 1.0: 1.0}.get(share) or -math.log(share) / _STEP)
            layer.start[i] = _STORED * to_float(register.start)
            layer.out_proj.weight[register.place, i] = register.sign / (_STORED * _SCALE * _SCALE)
