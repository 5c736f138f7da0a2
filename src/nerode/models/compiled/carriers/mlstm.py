"""Registers in the mLSTM, in its form without the published block around it: a head for each place.

The forget gate is exactly 1 for a logit of 1000; the input gate is exp(0) where a register moves and
exp(-1000) = 0 where it holds, so that the stabiliser stays at 0 and the normaliser below 1, where it divides
nothing. For that, keys are 2⁻¹⁰ and values carry the factor 2¹⁰. The output gate is 1, and ε is 0.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from nerode.core import Exact, NotCompilable, to_float
from nerode.models.architectures.mlstm import MLstmCell
from nerode.models.base import SequenceLayer
from nerode.models.compiled.carriers.assembly import Carrier, set_rows
from nerode.models.compiled.carriers.forms import ONE, Form, combine
from nerode.models.compiled.carriers.plan import BlockPlan
from nerode.models.compiled.carriers.registers import Register, registers_of, share_of

_SATURATED = 1000
_KEY = Fraction(1, 1024)


class MLstmCarrier(Carrier):
    """Carries diagonal layers in the mLSTM."""

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns a head for each place of the stream."""
        return {"form": "cell", "heads": width, "epsilon": 0.0, "learned_start": True}

    def fill(self, layer: SequenceLayer, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        assert isinstance(layer, MLstmCell)
        assert layer.start is not None
        assert layer.output_gate is not None
        layer.output_gate.bias.fill_(_SATURATED)
        layer.forget_gate.bias.fill_(_SATURATED)
        layer.input_gate.bias.fill_(-_SATURATED)
        for register in registers_of(block, self.architecture):
            head = register.place
            set_rows(layer.query, [Form({ONE: 1})], first=head)
            set_rows(layer.key, [Form({ONE: _KEY})], first=head)
            set_rows(layer.value, [register.write.scaled(1 / _KEY)], first=head)
            if register.moves is not None or register.gate != 1:
                self._set_gates(layer, register)
            layer.start[head] = to_float(register.start)

    def _set_gates(self, layer: MLstmCell, register: Register) -> None:
        head, forget = register.place, self._logit(register.gate)
        moves = Form({}, 1) if register.moves is None else register.moves
        set_rows(layer.forget_gate, [combine([(moves, forget - _SATURATED)])], first=head)
        set_rows(layer.input_gate, [combine([(moves, _SATURATED)])], first=head)

    def _logit(self, gate: Exact) -> Fraction:
        """The logit of a forget gate; a gate of 1 that writes would let the normaliser grow."""
        value = share_of(gate, self.architecture)
        if value == 1:
            raise NotCompilable(self.architecture, [f"a gate that writes is {gate}; here it lies below 1"])
        return Fraction(-_SATURATED) if value == 0 else Fraction(math.log(value / (1 - value)))
