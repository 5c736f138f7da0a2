"""RWKV-6: a matrix state whose rows decay by gates that the input sets, and a bonus for the present position.

S_t = diag(w_t) S_{t-1} + k_tᵀ v_t,  o_t = r_t (S_{t-1} + diag(u) k_tᵀ v_t),  w_t = exp(-exp(d_t))
y_t = W_o (silu(g_t) ∘ norm(o_t)), the norm of each head by itself

r, k, v, g and d are read from mixtures of x_t and x_{t-1}. With Δ_t = x_{t-1} - x_t, each of the five has its
own x_t + Δ_t ∘ (μ + tanh((x_t + Δ_t ∘ μ_x) A) B), and d_t = δ + tanh(mixture C) D.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import Reference, to_float
from nerode.models.base import (
    DiagonalTransition,
    LayerKind,
    RecurrentLayer,
    State,
    Surroundings,
    require_positive,
)
from nerode.models.exact_gates import ExactGates, GateForm
from nerode.models.kernels.linear import Linear, linear
from nerode.models.kernels.matrix_scan import decay_scan
from nerode.models.parts.linear_attention import (
    AttentionInputs,
    HeadNorm,
    HeadNormKind,
    require_divisible,
    split_heads,
)
from nerode.models.parts.short_convolution import Depth, before, full_ramp, ramp, zigzag
from nerode.models.registers import distinct_moves, log_decay, registers_of, share_of
from nerode.models.weight_writer import BlockPlan, PlaceForm, WeightWriter, set_rows

MIXTURES = ("decay", "key", "value", "receptance", "gate")
"""What is read from a mixture of its own, in the order of the rows of `mix`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rwkv6Settings:
    """Settings of the time mixing of RWKV-6.

    Attributes:
        heads: number of heads.
        width: keys, and values, of all heads; None for as many as inputs.
        outputs: features that the layer gives; None for as many as inputs.
        mix_rank: rank of the maps A B to the mixtures.
        decay_rank: rank of the map C D to the decay.
        depth: where the layer lies, which the initial weights depend on.
        norm: the norm of each head's reading.
        signed: gates 2w - 1 in [-1,1] instead of w.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    heads: int = 4
    width: int | None = None
    outputs: int | None = None
    mix_rank: int = 32
    decay_rank: int = 64
    depth: Depth = field(default_factory=Depth)
    norm: HeadNormKind = "layer"
    signed: bool = False
    learned_start: bool = False

    def __post_init__(self) -> None:
        require_positive(self, "heads", "width", "outputs", "mix_rank", "decay_rank")


class Rwkv6(RecurrentLayer):
    """The time mixing of RWKV-6; `rwkv-channel-mix` is its feed-forward part.

    Initial weights as in the authors' code but for the last map. They start it at zero, which the residual
    path makes up for; here it is drawn like the others, so that a layer works without one.

    Implements: [Peng2024Rwkv6]
    """

    def __init__(self, inputs: int, settings: Rwkv6Settings) -> None:
        super().__init__(inputs, settings.outputs or inputs)
        self.settings = settings
        width = settings.width or inputs
        size = require_divisible("keys", width, settings.heads)
        self.head_shape = (settings.heads, size, size)
        self.mix_base = nn.Parameter(torch.empty(inputs))
        self.mix = nn.Parameter(torch.empty(len(MIXTURES), inputs))
        self.mix_down = nn.Parameter(torch.zeros(inputs, len(MIXTURES), settings.mix_rank))
        self.mix_up = nn.Parameter(torch.empty(len(MIXTURES), settings.mix_rank, inputs))
        self.decay = nn.Parameter(torch.empty(width))
        self.decay_down = nn.Parameter(torch.zeros(inputs, settings.decay_rank))
        self.decay_up = nn.Parameter(torch.empty(settings.decay_rank, width))
        self.bonus = nn.Parameter(torch.empty(settings.heads, size))
        self.receptance = Linear(inputs, width, bias=False)
        self.key = Linear(inputs, width, bias=False)
        self.value = Linear(inputs, width, bias=False)
        self.gate = Linear(inputs, width, bias=False)
        self.norm = HeadNorm(settings.heads, width, settings.norm, eps=64e-5, bias=True)
        self.output = Linear(width, self.outputs, bias=False)
        self.start = nn.Parameter(torch.zeros(self.head_shape)) if settings.learned_start else None
        self._draw()

    def initial_state(self, batch: int) -> State:
        """Returns S₀ and features of zero before the first position."""
        return {"S": self.started(batch, *self.head_shape), "last": self.zeros(batch, self.inputs)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position, and S and x after it."""
        a, gate = self._attend(x, state["last"])
        written = a.k[..., None] * a.v[..., None, :]
        seen = state["S"] + self.bonus[..., None] * written
        reading = (a.q[..., None] * seen).sum(-2)
        return self._give(reading, gate), {"S": a.decay[..., None] * state["S"] + written, "last": x}

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence, and S and the last x after it."""
        a, gate = self._attend(x, before(x, state["last"]))
        # The scan reads after it writes; what is read before it writes is read after the write before.
        q = torch.cat([a.q[:, 1:], torch.zeros_like(a.q[:, :1])], dim=1)
        later, final = decay_scan(q, a.k, a.v, a.decay, state["S"])
        first = (a.q[:, 0, ..., None] * state["S"]).sum(-2)
        reading = torch.cat([first[:, None], later[:, :-1]], dim=1)
        reading = reading + (a.q * self.bonus * a.k).sum(-1, keepdim=True) * a.v
        return self._give(reading, gate), {"S": final, "last": x[:, -1]}

    def transition_from(self, x: Float[Tensor, "batch time inputs"], state: State) -> DiagonalTransition:
        """Returns the decay w of each row of S."""
        a, _ = self._attend(x, before(x, state["last"]))
        return DiagonalTransition(state="S", gate=a.decay[..., None])

    def _attend(self, x: Tensor, last: Tensor) -> tuple[AttentionInputs, Tensor]:
        """Queries, keys, values and decays of positions with these features, and their output gate."""
        for_decay, for_key, for_value, for_receptance, for_gate = self._mixtures(x, last)
        keep = torch.exp(-torch.exp(self._decay_logits(for_decay)))
        found = (
            self.receptance(for_receptance),
            self.key(for_key),
            self.value(for_value),
            2 * keep - 1 if self.settings.signed else keep,
        )
        q, k, v, decay = (split_heads(y, self.settings.heads) for y in found)
        return AttentionInputs(q=q, k=k, v=v, decay=decay), self.gate(for_gate)

    def _mixtures(self, x: Tensor, last: Tensor) -> tuple[Tensor, ...]:
        """Mixtures of x and the x before it, for decay, key, value, receptance and gate."""
        change = last - x
        down = torch.einsum("...i,inr->...nr", x + change * self.mix_base, self.mix_down)
        mix = self.mix + torch.einsum("...nr,nri->...ni", torch.tanh(down), self.mix_up)
        return (x[..., None, :] + change[..., None, :] * mix).unbind(-2)

    def _decay_logits(self, mixed: Tensor) -> Tensor:
        return self.decay + linear(torch.tanh(linear(mixed, self.decay_down.T)), self.decay_up.T)

    def _give(self, reading: Tensor, gate: Tensor) -> Tensor:
        return self.output(nn.functional.silu(gate) * self.norm(reading))  # type: ignore[no-any-return]

    @torch.no_grad()
    def _draw(self) -> None:
        """Sets the initial weights."""
        depth, place = self.settings.depth, ramp(self.inputs)
        slow, fast = 1 - place**depth.falling, 1 - place ** (depth.falling / 2)
        self.mix_base.copy_(slow)
        self.mix.copy_(torch.stack([slow, slow, slow - 0.3 * depth.rising, fast, fast]))
        along = full_ramp(len(self.decay))
        self.decay.copy_(5 * along ** (0.7 + 1.3 * depth.rising) - 6)
        bonus = depth.rising * (1 - along) + 0.1 * zigzag(len(along))
        self.bonus.copy_(bonus.reshape(self.bonus.shape))
        for part in (self.mix_up, self.decay_up):
            nn.init.uniform_(part, -0.01, 0.01)
        for layer in (self.receptance, self.key, self.value, self.gate, self.output):
            rows, columns = layer.weight.shape
            gain = max(1.0, rows / columns) ** 0.5
            nn.init.orthogonal_(layer.weight, gain=0.1 * gain if layer in (self.key, self.gate) else gain)


_KEYS = 3
"""Keys of a head that carries a register: the state, and two by which the present letter is read."""

_GATE = 64
"""SiLU(64) = 64."""


class Rwkv6Writer(WeightWriter):
    """Writes diagonal layers: a head with three keys per register.

    The layer reads its state before it writes, and the present letter by the bonus. The first key is the
    state; the query reads it times the gate. The other two forget at once, so that they hold the same; they
    are read with factors 1 and -1, and only one has a bonus: what is left is what is written now. Together
    that is the state after the letter. Gates exp(-exp(±1000)) are exactly 1 and 0, tanh is exact at 0 and 64.
    The token before is the value where a block remembers. The norm of the readings is switched off.
    """

    delays = True

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns a head for each register and no norm."""
        registers = registers_of(block, self.architecture, tied=False)
        n, rank = max(1, len(registers)), max(1, len(distinct_moves(registers)))
        sizes = {"heads": n, "width": _KEYS * n, "mix_rank": 1, "decay_rank": rank}
        return {**sizes, "norm": "none", "learned_start": True}

    def fill(self, layer: Rwkv6, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        registers = registers_of(block, self.architecture, tied=False)
        signals = distinct_moves(registers)
        for number, signal in enumerate(signals):
            layer.decay_down[:, number] = _GATE * signal.row(layer.inputs)
        if any(register.late for register in registers):
            layer.mix[MIXTURES.index("value")] = 1
        layer.decay.fill_(log_decay(0))
        ones = [PlaceForm({}, 1)] * _KEYS
        set_rows(layer.gate, [PlaceForm({}, _GATE)] * (_KEYS * len(registers)))
        for i, register in enumerate(registers):
            first, share = _KEYS * i, share_of(register.gate, self.architecture)
            hold = log_decay(share if register.moves is None else 1)
            layer.decay[first] = hold
            if register.moves is not None:
                layer.decay_up[signals.index(register.moves), first] = log_decay(share) - hold
            kept = register.switched(register.gate, 1)
            set_rows(layer.receptance, [kept, PlaceForm({}, 1), PlaceForm({}, -1)], first=first)
            set_rows(layer.key, ones, first=first)
            set_rows(layer.value, [register.write], first=first)
            layer.bonus[i, 1] = 1
            layer.learned_start[i, 0, 0] = to_float(register.start)
            layer.output.weight[register.place, first] = 1 / _GATE


class ExactRwkv6(ExactGates):
    """RWKV-6 with exact gates: the score is d, so that a positive one writes.

    The write kᵀ v is not tied to the gate. So the layer reads letters as they are, one feature for each, and
    decay and key are read from the letter before: folded, the keys of a letter are exactly 0 where its gates
    hold. The present letter comes in by value, receptance and gate.
    """

    layer: Rwkv6
    form = GateForm(settings={"width": 16, "learned_start": True}, around="residual", embedding=False)

    def begin(self) -> None:
        """Draws the map to d, which starts at zero: its scores are to be spread."""
        super().begin()
        nn.init.normal_(self.layer.decay_down)

    def run(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence."""
        layer = self.layer
        last = before(x, state["last"])
        _, _, for_value, for_receptance, for_gate = layer._mixtures(x, last)
        flat, _ = self.decide(layer._decay_logits(last))
        self.see_letters(last, flat)
        keys = torch.zeros_like(flat) if self.signed else flat * layer.key(last)
        found = layer.receptance(for_receptance), keys, layer.value(for_value), flat
        q, k, v, on = (split_heads(y, layer.settings.heads)[..., None] for y in found)
        write = k * v.transpose(-1, -2)
        S, final = self.scan(on, write, state["S"])
        earlier = torch.cat([state["S"][:, None], S[:, :-1]], dim=1)
        reading = (q * (earlier + layer.bonus[..., None] * write)).sum(-2)
        return layer._give(reading, layer.gate(for_gate)), {"S": final, "last": x[:, -1]}

    def score_rows(self, layer: Rwkv6) -> tuple[Tensor, Tensor]:
        """Returns the map to d."""
        return layer.decay_up.T, layer.decay

    def fold_scale(self, layer: Rwkv6, scale: float) -> None:
        """Lets decay and key read the letter before, and takes the keys from letters whose gates hold."""
        for part in ("decay", "key"):
            number = MIXTURES.index(part)
            layer.mix[number] = 1.0
            layer.mix_up[number] = 0.0
        self.take_keys(layer.key.weight)


KIND = LayerKind(
    name="rwkv-6",
    title="RWKV-6",
    settings=Rwkv6Settings,
    build=Rwkv6,
    equation="S = diag(w) S + kᵀ v, w = exp(-exp(d)), d read from x and the x before it",
    reference=Reference("Peng2024Rwkv6"),
    surroundings=Surroundings(norm="layer", residual=True),
    variants={"rwkv-6-signed": {"signed": True}},
    writer=Rwkv6Writer,
    gates={"two": ExactRwkv6},
)
