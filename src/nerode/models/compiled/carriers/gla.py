"""Registers in gated linear attention: heads with one key and one value each.

α = exp(log σ(logit) / τ) is exactly 1 for a logit of 1000 and exactly 0 for one of -20 000. The key is what
is written, the value and the query are 1, and the output gate SiLU is the constant 64, which the last map
divides out. Writes do not depend on α, so counters are carried too. The norm of the readings is switched off.
"""

from __future__ import annotations

import math
from typing import Any

from nerode.core import Exact, to_float
from nerode.models.architectures.gla import Gla
from nerode.models.base import SequenceLayer
from nerode.models.compiled.carriers.assembly import Carrier, set_rows
from nerode.models.compiled.carriers.forms import ONE, Form
from nerode.models.compiled.carriers.plan import BlockPlan
from nerode.models.compiled.carriers.registers import distinct_moves, registers_of, share_of

_HOLD, _FORGET = 1000.0, -20_000.0
_SCALE = 64


class GlaCarrier(Carrier):
    """Carries diagonal layers in gated linear attention."""

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns one head for each register and no norm."""
        registers = registers_of(block, self.architecture, tied=False)
        n = max(1, len(registers))
        rank = max(1, len(distinct_moves(registers)))
        return {"heads": n, "keys": n, "values": n, "gate_rank": rank, "norm": "none", "learned_start": True}

    def fill(self, layer: SequenceLayer, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        assert isinstance(layer, Gla)
        registers = registers_of(block, self.architecture, tied=False)
        signals = distinct_moves(registers)
        ones = [Form({ONE: 1})] * len(registers)
        set_rows(layer.query, ones)
        set_rows(layer.value, ones)
        set_rows(layer.key, [r.write for r in registers])
        set_rows(layer.gate_down, signals)
        assert layer.output_gate is not None
        assert layer.start is not None
        layer.output_gate.bias.fill_(_SCALE)
        for i, register in enumerate(registers):
            logit = self._logit(register.gate, layer.settings.temperature)
            layer.gate_up.bias[i] = logit if register.moves is None else _HOLD
            if register.moves is not None:
                layer.gate_up.weight[i, signals.index(register.moves)] = logit - _HOLD
            layer.start[i] = to_float(register.start)
            layer.output.weight[register.place, i] = 1 / _SCALE

    def _logit(self, gate: Exact, temperature: float) -> float:
        value = share_of(gate, self.architecture)
        if value == 1:
            return _HOLD
        if value == 0:
            return _FORGET
        share = temperature * math.log(value)
        return share - math.log(-math.expm1(share))
