"""H3: a shift and a diagonal state space model between three projections that are multiplied.

    q, k, v = W_q x + b_q, W_k x + b_k, W_v x + b_v
    s_t     = (s_{t-1} shifted by one) + B' k_t,  k'_t = C' s_t + E ∘ k_t      each feature by itself
    a_t     = k'_t v_tᵀ                                                         in each head
    h_t     = gate ∘ h_{t-1} + write a_t, y_t = 2 Re(C h_t) + D a_t
    output  = W_o (q_tᵀ y_t) + b_o

The shift register sees as many of the last inputs as it has states and no more: it is a convolution with the
kernel Σ_i C'_{i+j} B'_i, and is kept here as the window of those inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad

from nerode.core import InputError, Reference
from nerode.models.base import (
    DiagonalTransition,
    LayerKind,
    RecurrentLayer,
    State,
    Surroundings,
    require_positive,
)
from nerode.models.kernels.linear import Linear
from nerode.models.parts.linear_attention import split_heads
from nerode.models.parts.precision import as_complex, widened
from nerode.models.parts.state_space import DiagonalSsm, Discretisation, Rates, require_even, require_steps
from nerode.models.parts.time_invariant import finite_convolution
from nerode.models.registers import Channel, ChannelWriter, set_diagonal, set_pair
from nerode.models.shared_terms import shared
from nerode.models.weight_writer import BlockPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class H3Settings:
    """Settings of an H3 layer.

    Attributes:
        states: states of the diagonal model.
        shift_states: states of the shift register; None for as many.
        head_width: features of a head, inside which every key meets every value.
        rates: the λ that the diagonal model begins with.
        discretisation: how steps are made of continuous time.
        smallest_step: the lower end of the step sizes that the layer begins with.
        largest_step: their upper end.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    states: int = 64
    shift_states: int | None = None
    head_width: int = 1
    rates: Rates = "lin"
    discretisation: Discretisation = "bilinear"
    smallest_step: float = 1e-3
    largest_step: float = 0.1
    learned_start: bool = False

    def __post_init__(self) -> None:
        require_even(self.states)
        require_steps(self.smallest_step, self.largest_step)
        require_positive(self, "shift_states", "head_width")


class H3(RecurrentLayer):
    """An H3 layer, without the norms, the residual paths and the feed-forward part around it.

    B' begins as the first unit vector, C' uniformly in ±1/√states, D and E from normal distributions, the
    projections as torch draws them.

    Implements: [Fu2023]
    """

    def __init__(self, inputs: int, settings: H3Settings) -> None:
        super().__init__(inputs, inputs)
        self.settings = settings
        if inputs % settings.head_width:
            raise InputError(
                f"{inputs} features cannot be cut into heads of {settings.head_width}; "
                f"give a head_width that divides {inputs}"
            )
        self.heads = inputs // settings.head_width
        shifts = settings.shift_states or settings.states
        self.q, self.k, self.v = (Linear(inputs, inputs) for _ in range(3))
        self.shift_write = nn.Parameter(torch.eye(1, shifts).repeat(inputs, 1))
        self.shift_read = nn.Parameter(torch.empty(inputs, shifts).uniform_(-(shifts**-0.5), shifts**-0.5))
        self.shift_skip = nn.Parameter(torch.randn(inputs))
        self.ssm = DiagonalSsm(
            self.heads,
            settings.states,
            rates=settings.rates,
            discretisation=settings.discretisation,
            smallest_step=settings.smallest_step,
            largest_step=settings.largest_step,
            learned_write=True,
        )
        self.D = nn.Parameter(torch.randn(self.heads))
        self.out = Linear(inputs, inputs)
        self.start = nn.Parameter(torch.zeros(self._state_shape)) if settings.learned_start else None

    @property
    def _state_shape(self) -> tuple[int, ...]:
        width = self.settings.head_width
        return width, width, self.heads, self.settings.states // 2, 2

    def initial_state(self, batch: int) -> State:
        """Returns h₀, complex, and an empty window; in float32 at least."""
        pairs = self.zeros(*self._state_shape) if self.start is None else self.start
        window = widened(self.zeros(batch, self.shift_read.shape[1] - 1, self.inputs))
        return {"h": as_complex(pairs).expand(batch, -1, -1, -1, -1), "window": window}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position, h_t and the window."""
        keys = widened(self.k(x))
        seen = torch.cat([state["window"], keys[:, None]], dim=1)
        shifted = (seen.flip(1) * self._shift_kernel().T).sum(1)
        joined = self._join(shifted, keys, x)
        y, h = self.ssm.discrete().step(joined, state["h"])
        return self._finish(y, joined, x), {"h": h, "window": seen[:, 1:]}

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs, the last h and the window."""
        keys = widened(self.k(x))
        seen = torch.cat([state["window"], keys], dim=1)
        joined = self._join(finite_convolution(seen, shared(H3._shift_kernel, self)), keys, x)
        # Every pair of features of a head is a sequence of its own to the diagonal model.
        apart = joined.permute(0, 2, 3, 1, 4)
        y, h = self.ssm.discrete().run(apart.flatten(0, 2), state["h"].flatten(0, 2))
        y = y.reshape(apart.shape).permute(0, 3, 1, 2, 4)
        return self._finish(y, joined, x), {
            "h": h.reshape(state["h"].shape),
            "window": seen[:, x.shape[1] :],
        }

    def transition_from(self, x: Float[Tensor, "batch time inputs"], state: State) -> DiagonalTransition:
        """Returns the gate of the diagonal model, the same at each position."""
        gate = self.ssm.discrete().gate[None, None]
        return DiagonalTransition(state="h", gate=gate.expand(*x.shape[:2], -1, -1, -1, -1))

    def _shift_kernel(self) -> Float[Tensor, "inputs shifts"]:
        """The kernel of the shift register: its answer to an input j positions later, for each j."""
        read, write = widened(self.shift_read), widened(self.shift_write)
        later = pad(read, (0, read.shape[1] - 1)).unfold(1, read.shape[1], 1)
        return (later * write[:, None]).sum(-1)

    def _join(
        self, shifted: Float[Tensor, "... inputs"], keys: Float[Tensor, "... inputs"], x: Tensor
    ) -> Float[Tensor, "... width width heads"]:
        """The products of every key with every value of its head."""
        keys = split_heads(shifted + widened(self.shift_skip) * keys, self.heads).transpose(-1, -2)
        values = split_heads(widened(self.v(x)), self.heads).transpose(-1, -2)
        return keys[..., :, None, :] * values[..., None, :, :]

    def _finish(self, y: Tensor, joined: Tensor, x: Tensor) -> Tensor:
        y = y + widened(self.D) * joined
        queries = split_heads(widened(self.q(x)), self.heads).transpose(-1, -2)
        read = (queries[..., :, None, :] * y).sum(-3).transpose(-1, -2).flatten(-2)
        return self.out(read.to(x.dtype))  # type: ignore[no-any-return]


class H3Writer(ChannelWriter):
    """Writes channels of the diagonal model into heads of one feature; keys and queries are 1.

    The shift register passes its input on (C' = 0, E = 1), values are the stream, and D is 0.
    """

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns one complex state per feature, and a register of one place."""
        return {"states": 2, "shift_states": 1, "discretisation": "zoh", "learned_start": True}

    def fill(self, layer: H3, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        layer.v.weight.fill_diagonal_(1)
        for ones in (layer.k.bias, layer.q.bias, layer.shift_skip):
            ones.fill_(1)
        super().fill(layer, block)

    def set_channel(self, layer: H3, channel: Channel) -> None:
        """Sets one channel."""
        set_diagonal(layer.ssm, channel)
        set_pair(layer.learned_start[0, 0, channel.number, 0], channel.start)
        layer.out.weight[channel.shown, channel.number] = 1


KIND = LayerKind(
    name="h3",
    title="H3",
    settings=H3Settings,
    build=H3,
    equation="h = λ ∘ h + B (shift(k) vᵀ), y = q (C h), λ complex, fixed",
    reference=Reference("Fu2023"),
    surroundings=Surroundings(norm="layer", residual=True, feed_forward="gelu"),
    writer=H3Writer,
)
