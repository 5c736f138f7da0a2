"""HGRN2: a matrix state with forget gates that are bounded from below, and writes tied to them.

f_t = β + (1 - β) σ(W_f x_t),  S_t = diag(f_t) S_{t-1} + (1 - f_t)ᵀ i_t,  i_t = W_i x_t
o_t = silu(W_q x_t) S_t,  y_t = W_o norm(o_t)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import Exact, InputError, Reference, to_float
from nerode.models.base import LayerKind, Norm, State, Surroundings, require_positive
from nerode.models.exact_gates import ExactGates, GateForm
from nerode.models.kernels.linear import Linear
from nerode.models.kernels.norms import make_norm
from nerode.models.parts.linear_attention import AttentionInputs, LinearAttention, draw_xavier, split_heads
from nerode.models.registers import SATURATED, SCALE, log_odds, registers_of, share_of, untied
from nerode.models.weight_writer import ONE, BlockPlan, PlaceForm, WeightWriter, set_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Hgrn2Settings:
    """Settings of an HGRN2 layer.

    Attributes:
        heads: number of heads.
        keys: forget gates of all heads; None for as many as inputs.
        values: columns of the states of all heads; None for as many as inputs.
        outputs: features that the layer gives; None for as many as inputs.
        lower_bound: β.
        norm: the norm of the readings of all heads together.
        bias: whether queries, gates and inputs have a bias; not published, for compiled weights.
        signed: gates 2f - 1 in [-1,1] instead of f; what is written stays (1 - f)ᵀ i.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    heads: int = 4
    keys: int | None = None
    values: int | None = None
    outputs: int | None = None
    lower_bound: float = 0.0
    norm: Norm = "rms"
    bias: bool = False
    signed: bool = False
    learned_start: bool = False

    def __post_init__(self) -> None:
        require_positive(self, "heads", "keys", "values", "outputs")
        if not 0 <= self.lower_bound < 1:
            raise InputError(f"lower_bound is {self.lower_bound}; it has to be at least 0 and below 1")


class Hgrn2(LinearAttention):
    """An HGRN2 layer.

    The paper learns one table of lower bounds for all layers of a model, growing from 0 at the first layer; a
    layer knows nothing of the others here, so its bound is a setting. Maps are drawn by Xavier's rule with
    gain 2^-2.5.

    Implements: [Qin2024]
    """

    settings: Hgrn2Settings

    def __init__(self, inputs: int, settings: Hgrn2Settings) -> None:
        keys, values = settings.keys or inputs, settings.values or inputs
        super().__init__(inputs, settings, keys=keys, values=values)
        self.query = Linear(inputs, keys, bias=settings.bias)
        self.forget = Linear(inputs, keys, bias=settings.bias)
        self.value = Linear(inputs, values, bias=settings.bias)
        self.norm = make_norm(settings.norm, values)
        self.output = Linear(values, self.outputs, bias=False)
        draw_xavier(self, gain=2**-2.5)

    def attend(self, x: Float[Tensor, "*axes inputs"]) -> AttentionInputs:
        """Returns queries, writes, inputs and the forget gates f."""
        least = self.settings.lower_bound
        forget = least + (1 - least) * torch.sigmoid(self.forget(x))
        decay = 2 * forget - 1 if self.settings.signed else forget
        query = nn.functional.silu(self.query(x))
        q, k, v, decay = (split_heads(y, self.heads) for y in (query, 1 - forget, self.value(x), decay))
        return AttentionInputs(q=q, k=k, v=v, decay=decay)

    def give(
        self, x: Float[Tensor, "*axes inputs"], reading: Float[Tensor, "*axes heads values"]
    ) -> Float[Tensor, "*axes outputs"]:
        """Returns the normalised readings through the last map."""
        return self.output(self.norm(reading.flatten(-2)))  # type: ignore[no-any-return]


class Hgrn2Writer(WeightWriter):
    """Writes diagonal layers: a head with one forget gate and one column per register.

    σ(±1000) is exactly 1 or 0, so a register holds, and is written, without rounding. What is written is tied
    to the gate by the factor 1 - f, which the input divides out; counters are not carried. The query SiLU is
    the constant 64, which the last map divides out, and the norm of the readings is switched off.
    """

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns one head for each register and no norm."""
        n = max(1, len(registers_of(block, self.architecture)))
        return {"heads": n, "keys": n, "values": n, "norm": "none", "learned_start": True}

    def fill(self, layer: Hgrn2, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        registers = registers_of(block, self.architecture)
        set_rows(layer.query, [PlaceForm({ONE: SCALE})] * len(registers))
        set_rows(layer.forget, [r.switched(self._logit(r.gate), SATURATED) for r in registers])
        set_rows(layer.value, [r.write.scaled(untied(r.gate)) for r in registers])
        for i, register in enumerate(registers):
            layer.learned_start[i] = to_float(register.start)
            layer.output.weight[register.place, i] = 1 / SCALE

    def _logit(self, gate: Exact) -> Fraction:
        value = share_of(gate, self.architecture)
        return Fraction(log_odds(value, 1 - value, SATURATED))


class ExactHgrn2(ExactGates):
    """HGRN2 with exact gates: the score is minus that of f, so that a positive one writes."""

    layer: Hgrn2
    form = GateForm(settings={"bias": True, "learned_start": True})
    sign = -1.0

    def run(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence."""
        layer = self.layer
        flat, _ = self.decide(-layer.forget(x))
        on = split_heads(flat, layer.heads)[..., None]
        written = split_heads(layer.value(x), layer.heads)
        S, last = self.scan(on, on * written[..., None, :], state["S"])
        query = split_heads(nn.functional.silu(layer.query(x)), layer.heads)
        return layer.give(x, (query[..., None] * S).sum(-2)), {"S": last}

    def score_rows(self, layer: Hgrn2) -> tuple[Tensor, Tensor]:
        """Returns the map to f, whose scores have the other sign."""
        if layer.settings.lower_bound or layer.forget.bias is None:
            raise InputError("exact gates are for HGRN2 with lower_bound = 0 and bias = true")
        return layer.forget.weight, layer.forget.bias

    def fold_scale(self, layer: Hgrn2, scale: float) -> None:
        """With signs, a flip writes nothing."""
        if self.signed:
            layer.value.weight.zero_()
            layer.value.bias.zero_()


KIND = LayerKind(
    name="hgrn2",
    title="HGRN2",
    settings=Hgrn2Settings,
    build=Hgrn2,
    equation="S = diag(f) S + (1 - f)ᵀ i, f = β + (1 - β) σ(W x)",
    reference=Reference("Qin2024"),
    surroundings=Surroundings(norm="rms", residual=True, feed_forward="swiglu", expansion=8 / 3),
    variants={"hgrn2-signed": {"signed": True}},
    writer=Hgrn2Writer,
    gates={"two": ExactHgrn2},
)
