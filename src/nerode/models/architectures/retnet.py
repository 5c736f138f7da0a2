"""RetNet: retention at several scales, a matrix state that decays at a fixed rate and turns at fixed angles.

S_t = γ R(-θ) S_{t-1} + k_tᵀ v_t,  o_t = q_t S_t,  γ = 1 - 2^{-5-h} in head h, R turns the pairs of keys
y_t = W_o (silu(W_g x_t) ∘ norm(o_t)), the norm of each head by itself

This is the published o_t = Σ_s γ^{t-s} ⟨R(tθ) q_t, R(sθ) k_s⟩ v_s. The turn belongs to the state here, so
that nothing depends on the position, and the layer may run for any length.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import InputError, Reference
from nerode.models.base import (
    DenseTransition,
    LayerKind,
    RecurrentLayer,
    State,
    Surroundings,
    require_positive,
)
from nerode.models.kernels.linear import Linear
from nerode.models.kernels.matrix_scan import decay_scan
from nerode.models.parts.attention import turn_pairs
from nerode.models.parts.linear_attention import HeadNorm, HeadNormKind, require_divisible, split_heads


@dataclass(frozen=True, slots=True, kw_only=True)
class RetNetSettings:
    """Settings of a RetNet layer.

    Attributes:
        heads: number of heads.
        keys: keys of all heads, an even number for each; None for as many as inputs.
        values: values of all heads; None for twice as many as inputs.
        outputs: features that the layer gives; None for as many as inputs.
        norm: the norm of each head's reading. The paper writes a group norm, which is "layer" for each head;
            its code takes "rms".
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    heads: int = 4
    keys: int | None = None
    values: int | None = None
    outputs: int | None = None
    norm: HeadNormKind = "layer"
    learned_start: bool = False

    def __post_init__(self) -> None:
        require_positive(self, "heads", "keys", "values", "outputs")


class RetNet(RecurrentLayer):
    """A layer of multi-scale retention.

    Weights are drawn by Xavier's rule, with gain 2^-2.5 but for the last map, as the authors' code does. Keys
    are divided by the root of their number in a head. The code's further scaling of the readings, which the
    norm takes out again, is left out.

    Implements: [SunRetNet2023]
    """

    def __init__(self, inputs: int, settings: RetNetSettings) -> None:
        keys, values = settings.keys or inputs, settings.values or 2 * inputs
        super().__init__(inputs, settings.outputs or inputs)
        self.settings = settings
        heads = settings.heads
        size = require_divisible("keys", keys, heads)
        if size % 2:
            raise InputError(f"a head has {size} keys; RetNet turns them in pairs, so give an even number")
        self.head_shape = (heads, size // 2, 2, require_divisible("values", values, heads))
        self.query = Linear(inputs, keys, bias=False)
        self.key = Linear(inputs, keys, bias=False)
        self.value = Linear(inputs, values, bias=False)
        self.gate = Linear(inputs, values, bias=False)
        self.norm = HeadNorm(heads, values, settings.norm, eps=1e-6, weight=False)
        self.output = Linear(values, self.outputs, bias=False)
        self.start = nn.Parameter(torch.zeros(self.head_shape)) if settings.learned_start else None
        for part in (self.query, self.key, self.value, self.gate):
            nn.init.xavier_uniform_(part.weight, gain=2**-2.5)
        nn.init.xavier_uniform_(self.output.weight)

    def initial_state(self, batch: int) -> State:
        """Returns S₀ (batch, heads, pairs of keys, 2, values)."""
        return {"S": self.started(batch, *self.head_shape)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position and S after it."""
        q, k, v = self._attend(x)
        pairs = k.reshape(*k.shape[:-1], -1, 2)
        matrix = self._turn(x) @ state["S"] + pairs[..., None] * v[:, :, None, None]
        reading = (q.reshape(pairs.shape)[..., None] * matrix).sum((-3, -2))
        return self._give(x, reading), {"S": matrix}

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence and S after it.

        In coordinates that turn with the state only the decay is left.
        """
        start = state["S"]
        batch, time, _ = x.shape
        q, k, v = self._attend(x)
        angles = torch.arange(1, time + 1, device=x.device)[:, None] * self._angles(x.device)
        q, k = turn_pairs(q, angles[:, None]), turn_pairs(k, angles[:, None])
        decay = self._decay(x).expand(batch, time, -1)
        reading, final = decay_scan(q, k, v, decay, start.flatten(2, 3))
        final = turn_pairs(final.transpose(-2, -1), -angles[-1]).transpose(-2, -1)
        return self._give(x, reading), {"S": final.reshape(batch, *self.head_shape)}

    def transition_from(self, x: Float[Tensor, "batch time inputs"], state: State) -> DenseTransition:
        """Returns γ R(-θ), the same at each position: a two by two matrix for each pair of keys."""
        turn = self._turn(x)
        return DenseTransition(state="S", matrix=turn.expand(*x.shape[:2], *turn.shape), columns=True)

    def _attend(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        heads = self.settings.heads
        q, k, v = (split_heads(part(x), heads) for part in (self.query, self.key, self.value))
        return q, k * k.shape[-1] ** -0.5, v

    def _give(self, x: Tensor, reading: Tensor) -> Tensor:
        gate = nn.functional.silu(self.gate(x))
        return self.output(gate * self.norm(reading))  # type: ignore[no-any-return]

    def _angles(self, device: torch.device) -> Tensor:
        """θ for each pair of keys, in float64, for angles grow with the sequence."""
        steps = torch.linspace(0, 1, self.head_shape[1], dtype=torch.float64, device=device)
        return torch.pow(10_000.0, -steps)

    def _decay(self, like: Tensor) -> Tensor:
        """γ for each head."""
        exponents = -5 - torch.arange(self.settings.heads, dtype=torch.float64, device=like.device)
        return (1 - torch.pow(2.0, exponents)).to(like.dtype)

    def _turn(self, like: Tensor) -> Tensor:
        """γ R(-θ), (heads, pairs, 2, 2)."""
        angles = self._angles(like.device)
        cos, sin = angles.cos(), angles.sin()
        turn = torch.stack([torch.stack([cos, sin], -1), torch.stack([-sin, cos], -1)], -2)
        return self._decay(like)[:, None, None, None] * turn.to(like.dtype)


KIND = LayerKind(
    name="retnet",
    title="RetNet",
    settings=RetNetSettings,
    build=RetNet,
    equation="S = γ R(-θ) S + kᵀ v, γ = 1 - 2^{-5-h} in head h",
    reference=Reference("SunRetNet2023"),
    surroundings=Surroundings(norm="layer", residual=True, feed_forward="gelu", expansion=2.0),
)
