"""Registers in HGRN2: heads with one forget gate and one column each.

σ(±1000) is exactly 1 or 0, so a register holds, and is written, without rounding. What is written is tied to
the gate by the factor 1 - f, which the input divides out; counters are not carried. The query SiLU is the
constant 64, which the last map divides out, and the norm of the readings is switched off.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from nerode.core import Exact, to_float
from nerode.models.architectures.hgrn2 import Hgrn2
from nerode.models.base import SequenceLayer
from nerode.models.compiled.carriers.assembly import Carrier, set_rows
from nerode.models.compiled.carriers.forms import ONE, Form, combine
from nerode.models.compiled.carriers.plan import BlockPlan
from nerode.models.compiled.carriers.registers import Register, registers_of, share_of

_SATURATED = 1000
_SCALE = 64


class Hgrn2Carrier(Carrier):
    """Carries diagonal layers in HGRN2."""

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns one head for each register and no norm."""
        n = max(1, len(registers_of(block, self.architecture)))
        return {"heads": n, "keys": n, "values": n, "norm": "none", "learned_start": True}

    def fill(self, layer: SequenceLayer, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        assert isinstance(layer, Hgrn2)
        assert layer.start is not None
        registers = registers_of(block, self.architecture)
        set_rows(layer.query, [Form({ONE: _SCALE})] * len(registers))
        set_rows(layer.forget, [self._logits(r) for r in registers])
        set_rows(layer.value, [r.write.scaled(_undo(r.gate)) for r in registers])
        for i, register in enumerate(registers):
            layer.start[i] = to_float(register.start)
            layer.output.weight[register.place, i] = 1 / _SCALE

    def _logits(self, register: Register) -> Form:
        moving = self._logit(register.gate)
        if register.moves is None:
            return Form({}, moving)
        return combine([(register.moves, moving - _SATURATED)], _SATURATED)

    def _logit(self, gate: Exact) -> Fraction:
        value = share_of(gate, self.architecture)
        if value in (0, 1):
            return Fraction(_SATURATED if value else -_SATURATED)
        return Fraction(math.log(value / (1 - value)))


def _undo(gate: Exact) -> Exact:
    """What makes up for the factor 1 - f; a register that always holds is never written."""
    return 0 if gate == 1 else Fraction(1 / (1 - to_float(gate)))
