"""Layers with fixed diagonal gates in S4D, whose every channel is a system of its own with one input.

A state h = g h + w becomes a channel for each place of the stream that a part of w stands at, once to show
the real part of h and once, if it is complex, the imaginary part; the linear map after them adds them up.
With steps of size 1 the rate is ln g. A modulus of exactly 1 comes from a decay of exp(-1000) = 0. D is 0,
and GELU is left out.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

import torch
from torch import Tensor, nn

from nerode.core import NotCompilable, to_complex
from nerode.models.architectures.s4d import S4d
from nerode.models.base import SequenceLayer
from nerode.models.compiled.carriers.assembly import Carrier, assemble
from nerode.models.compiled.carriers.plan import BlockPlan, plan_stream
from nerode.models.model import Model
from nerode.network import Fixed, Gated, Network

_STILL = -1000.0
_FADED = 1000.0
"""exp(-1000) is 0: the rate of a gate that forgets everything."""


class S4dCarrier(Carrier):
    """Carries diagonal layers with fixed gates."""

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns one complex state a channel and a linear map after them."""
        return {
            "states": 2,
            "activation": False,
            "mixing": "linear",
            "learned_write": True,
            "learned_start": True,
        }

    def fill(self, layer: SequenceLayer, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        assert isinstance(layer, S4d)
        assert layer.start is not None
        if block.layer is None:
            return
        gates = [self._gate(block, i) for i in range(block.layer.width)]
        for number, place in enumerate(block.states):
            i = number % block.layer.width
            read = 0.5 if number < block.layer.width else -0.5j
            # The channel of the place itself has no input; it carries on what was there at the start.
            self._set_channel(layer, place, place, gates[i], 0j, read)
            _set(layer.start[place, 0], to_complex(block.layer.start[i]))
            for source, factor in block.sources[number]:
                self._set_channel(layer, source, place, gates[i], factor, read)

    def _set_channel(
        self, layer: S4d, channel: int, shown: int, gate: complex, write: complex, read: complex
    ) -> None:
        """Sets one channel; its step has the size 1."""
        assert isinstance(layer.readout.mixing, nn.Linear)
        ssm, size = layer.ssm, abs(gate)
        decay = _STILL if size == 1 else math.log(_FADED if size == 0 else -math.log(size))
        ssm.log_decay[channel] = decay
        ssm.frequency[channel] = angle = cmath.phase(gate)
        rate = complex(-math.exp(decay), angle)
        # What the system multiplies B by, (e^λ - 1)/λ, is divided out.
        _set(ssm.B[channel, 0], write if rate == 0 else write * rate / (cmath.exp(rate) - 1))
        _set(ssm.C[channel, 0], read)
        layer.readout.mixing.weight[shown, channel] = 1

    def _gate(self, block: BlockPlan, i: int) -> complex:
        assert block.layer is not None
        record = block.layer.recurrence
        if isinstance(record, Fixed) and all(j == i for j, _ in record.matrix[i]):
            return complex(sum(to_complex(c) for _, c in record.matrix[i]))
        if isinstance(record, Gated) and not record.gate.rows[i]:
            return to_complex(record.gate.bias[i])
        raise NotCompilable(
            self.architecture, [f"layer {block.layer.name} is not diagonal with gates that are fixed"]
        )


def carry_s4d(network: Network, architecture: str, dtype: torch.dtype) -> Model:
    """Returns a stack of S4D layers.

    Raises:
        NotCompilable: if a layer of the network is not diagonal with fixed gates.
    """
    plan = plan_stream(network, architecture, materialise=True)
    return assemble(plan, S4dCarrier(architecture), dtype)


def _set(pair: Tensor, value: complex) -> None:
    pair[0], pair[1] = value.real, value.imag
