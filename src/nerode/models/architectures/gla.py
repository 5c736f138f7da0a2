"""Gated linear attention: a matrix state whose rows decay by gates that the input sets.

S_t = diag(α_t) S_{t-1} + k_tᵀ v_t,  o_t = q_t S_t,  α_t = σ(W₂ W₁ x_t + b)^{1/τ}
y_t = W_o (silu(W_r x_t + b_r) ∘ norm(o_t)), the norm of each head by itself
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import Exact, InputError, Reference, to_float
from nerode.models.base import LayerKind, State, Surroundings, require_positive
from nerode.models.exact_gates import ExactGates, GateForm
from nerode.models.kernels.linear import Linear
from nerode.models.parts.linear_attention import (
    AttentionInputs,
    HeadNorm,
    HeadNormKind,
    LinearAttention,
    draw_xavier,
    split_heads,
)
from nerode.models.registers import SCALE, distinct_moves, registers_of, share_of
from nerode.models.weight_writer import ONE, BlockPlan, PlaceForm, WeightWriter, set_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class GlaSettings:
    """Settings of a layer of gated linear attention.

    Attributes:
        heads: number of heads.
        keys: keys of all heads; None for half as many as inputs.
        values: values of all heads; None for as many as inputs.
        outputs: features that the layer gives; None for as many as inputs.
        gate_rank: rank of the map W₂ W₁ to the gates.
        temperature: τ; the higher, the closer to 1 the gates start.
        norm: the norm of each head's reading. The paper writes a layer norm, its code takes "rms".
        output_gate: whether the reading is multiplied by silu(W_r x + b_r).
        bias: whether queries, keys and values have a bias; not published, for compiled weights.
        signed: gates 2α - 1 in [-1,1] instead of α.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    heads: int = 4
    keys: int | None = None
    values: int | None = None
    outputs: int | None = None
    gate_rank: int = 16
    temperature: float = 16.0
    norm: HeadNormKind = "rms"
    output_gate: bool = True
    bias: bool = False
    signed: bool = False
    learned_start: bool = False

    def __post_init__(self) -> None:
        require_positive(self, "heads", "keys", "values", "outputs", "gate_rank", "temperature")


class Gla(LinearAttention):
    """A layer of gated linear attention.

    Maps are drawn by Xavier's rule with gain 2^-2.5, as the authors' code does; biases start at zero.
    Queries are divided by the root of the keys of a head.

    Implements: [Yang2024Gla]
    """

    settings: GlaSettings

    def __init__(self, inputs: int, settings: GlaSettings) -> None:
        keys, values = settings.keys or max(1, inputs // 2), settings.values or inputs
        super().__init__(inputs, settings, keys=keys, values=values)
        self.query = Linear(inputs, keys, bias=settings.bias)
        self.key = Linear(inputs, keys, bias=settings.bias)
        self.value = Linear(inputs, values, bias=settings.bias)
        self.gate_down = Linear(inputs, settings.gate_rank, bias=False)
        self.gate_up = Linear(settings.gate_rank, keys)
        self.output_gate = Linear(inputs, values) if settings.output_gate else None
        self.norm = HeadNorm(settings.heads, values, settings.norm)
        self.output = Linear(values, self.outputs, bias=False)
        draw_xavier(self, gain=2**-2.5)

    def attend(self, x: Float[Tensor, "*axes inputs"]) -> AttentionInputs:
        """Returns queries, keys, values and the gates α."""
        logits = self.gate_up(self.gate_down(x))
        alpha = torch.exp(nn.functional.logsigmoid(logits) / self.settings.temperature)
        gate = 2 * alpha - 1 if self.settings.signed else alpha
        q, k, v, decay = (
            split_heads(y, self.heads) for y in (self.query(x), self.key(x), self.value(x), gate)
        )
        return AttentionInputs(q=q * q.shape[-1] ** -0.5, k=k, v=v, decay=decay)

    def give(
        self, x: Float[Tensor, "*axes inputs"], reading: Float[Tensor, "*axes heads values"]
    ) -> Float[Tensor, "*axes outputs"]:
        """Returns the normalised, gated readings through the last map."""
        y = self.norm(reading)
        if self.output_gate is not None:
            y = nn.functional.silu(self.output_gate(x)) * y
        return self.output(y)  # type: ignore[no-any-return]


_HOLD, _FORGET = 1000.0, -20_000.0


class GlaWriter(WeightWriter):
    """Writes diagonal layers: a head with one key and one value per register.

    α = exp(log σ(logit) / τ) is exactly 1 for a logit of 1000 and exactly 0 for one of -20 000. The key is
    what is written, the value and the query are 1, and the output gate SiLU is the constant 64, which the
    last map divides out. Writes do not depend on α, so counters are carried too. The norm of the readings is
    switched off.
    """

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns one head for each register and no norm."""
        registers = registers_of(block, self.architecture, tied=False)
        n = max(1, len(registers))
        rank = max(1, len(distinct_moves(registers)))
        return {"heads": n, "keys": n, "values": n, "gate_rank": rank, "norm": "none", "learned_start": True}

    def fill(self, layer: Gla, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        registers = registers_of(block, self.architecture, tied=False)
        signals = distinct_moves(registers)
        ones = [PlaceForm({ONE: 1})] * len(registers)
        set_rows(layer.query, ones)
        set_rows(layer.value, ones)
        set_rows(layer.key, [r.write for r in registers])
        set_rows(layer.gate_down, signals)
        assert layer.output_gate is not None
        layer.output_gate.bias.fill_(SCALE)
        for i, register in enumerate(registers):
            logit = self._logit(register.gate, layer.settings.temperature)
            layer.gate_up.bias[i] = logit if register.moves is None else _HOLD
            if register.moves is not None:
                layer.gate_up.weight[i, signals.index(register.moves)] = logit - _HOLD
            layer.learned_start[i] = to_float(register.start)
            layer.output.weight[register.place, i] = 1 / SCALE

    def _logit(self, gate: Exact, temperature: float) -> float:
        value = share_of(gate, self.architecture)
        if value == 1:
            return _HOLD
        if value == 0:
            return _FORGET
        share = temperature * math.log(value)
        return share - math.log(-math.expm1(share))


class ExactGla(ExactGates):
    """Gated linear attention with exact gates: the score is minus that of α, so that a positive one writes.

    The write kᵀ v is not tied to the gate. So the layer reads letters as they are, one feature for each:
    folded, the keys of a letter are exactly 0 where its gates hold.
    """

    layer: Gla
    form = GateForm(settings={"keys": 16, "values": 16, "learned_start": True}, embedding=False)
    sign = -1.0

    def run(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence."""
        layer = self.layer
        read = layer.attend(x)
        flat, _ = self.decide(-layer.gate_up(layer.gate_down(x)))
        on = split_heads(flat, layer.heads)[..., None]
        S, last = self.scan(on, on * read.k[..., None] * read.v[..., None, :], state["S"])
        self.see_letters(x, flat)
        return layer.give(x, (read.q[..., None] * S).sum(-2)), {"S": last}

    def score_rows(self, layer: Gla) -> tuple[Tensor, Tensor]:
        """Returns the map to α, whose scores have the other sign."""
        if layer.settings.bias:
            raise InputError("exact gates are for GLA with bias = false")
        return layer.gate_up.weight, layer.gate_up.bias

    def fold_scale(self, layer: Gla, scale: float) -> None:
        """Takes the keys from letters whose gates hold; α is the root of a logistic function."""
        root = 2.0 ** math.ceil(math.log2(max(1.0, layer.settings.temperature)))
        layer.gate_up.weight.mul_(root)
        layer.gate_up.bias.mul_(root)
        self.take_keys(layer.key.weight)


KIND = LayerKind(
    name="gla",
    title="GLA",
    settings=GlaSettings,
    build=Gla,
    equation="S = diag(α) S + kᵀ v, α = σ(W₂ W₁ x + b)^{1/16}",
    reference=Reference("Yang2024Gla"),
    surroundings=Surroundings(norm="rms", residual=True, feed_forward="swiglu", expansion=8 / 3),
    variants={"gla-signed": {"signed": True}},
    writer=GlaWriter,
    gates={"two": ExactGla},
)
