"""RWKV-4: time mixing by weighted means whose weights decay at a fixed rate, and channel mixing.

Time mixing:
o_t = (Σ_{s<t} e^{-(t-1-s) w + k_s} v_s + e^{u + k_t} v_t) / (the same with 1 for v)
y_t = W_o (σ(r_t) ∘ o_t)

Numerator and denominator are kept divided by e^{m_t}, m_t = max(m_{t-1} - w, k_t), for e^k has no upper
bound.

r, k and v are linear in mixtures μ ∘ x_t + (1 - μ) ∘ x_{t-1}, each with its own μ.

Channel mixing, of RWKV-6 as well, is a feed-forward part that sees the position before, too:
y_t = σ(W_r x^r_t) ∘ W_v relu(W_k x^k_t)², where x^r and x^k are such mixtures
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import Reference
from nerode.models.base import (
    DiagonalTransition,
    LayerKind,
    RecurrentLayer,
    State,
    Surroundings,
    require_positive,
)
from nerode.models.kernels.linear import Linear
from nerode.models.kernels.scan import diagonal_scan
from nerode.models.parts.precision import stabilisers
from nerode.models.parts.short_convolution import Depth, before, full_ramp, ramp, zigzag

Sums = tuple[Tensor, ...]
"""Numerator, denominator and m, each (batch, channels)."""


def weighted_means(
    rate: Float[Tensor, " channels"],
    bonus: Float[Tensor, " channels"],
    k: Float[Tensor, "batch time channels"],
    v: Float[Tensor, "batch time channels"],
    before: Sums,
) -> tuple[Float[Tensor, "batch time channels"], Sums]:
    """Returns the means at all positions and the sums after them.

    Args:
        rate: w.
        bonus: u.
        k: the logarithms of the weights.
        v: the values.
        before: the sums before the first position.
    """
    keep, earlier, m = decaying_gates(rate, k, before[2])
    write = torch.exp(k - m)
    start = torch.stack(before[:2], dim=1)
    written = torch.stack([write * v, write], dim=2)
    sums, final = diagonal_scan(keep[:, :, None].expand_as(written), written, start)
    top, bottom = torch.cat([start[:, None], sums[:, :-1]], dim=1).unbind(2)
    return mean_with_present(top, bottom, earlier, bonus + k, v), (final[:, 0], final[:, 1], m[:, -1])


def decaying_gates(
    rate: Float[Tensor, " channels"],
    k: Float[Tensor, "batch time channels"],
    start: Float[Tensor, "batch channels"],
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the gates e^{m_{t-1} - w - m_t} of a sequence, and m before and after each position."""
    earlier, m = stabilisers(k, (-rate).expand_as(k), start)
    return torch.exp(earlier - rate - m), earlier, m


def mean_with_present(top: Tensor, bottom: Tensor, m: Tensor, present: Tensor, v: Tensor) -> Tensor:
    """Returns the mean over the past, whose sums are given, and the present, whose weight is e^present."""
    highest = torch.maximum(m, present)
    past, now = torch.exp(m - highest), torch.exp(present - highest)
    return (past * top + now * v) / (past * bottom + now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rwkv4Settings:
    """Settings of the time mixing of RWKV-4.

    Attributes:
        width: number of channels; None for as many as inputs.
        outputs: features that the layer gives; None for as many as inputs.
        depth: where the layer lies, which the initial weights depend on.
    """

    width: int | None = None
    outputs: int | None = None
    depth: Depth = field(default_factory=Depth)

    def __post_init__(self) -> None:
        require_positive(self, "width", "outputs")


class Rwkv4(RecurrentLayer):
    """The time mixing of RWKV-4; `rwkv-channel-mix` is its feed-forward part.

    Decay, bonus and mixtures start as in the authors' code. Their maps to r and k and their last map start at
    zero, which the residual path makes up for; here all maps are drawn as torch does, so that a layer works
    without one.

    Implements: [Peng2023Rwkv4]
    """

    def __init__(self, inputs: int, settings: Rwkv4Settings) -> None:
        super().__init__(inputs, settings.outputs or inputs)
        self.settings = settings
        width = settings.width or inputs
        depth, place, along = settings.depth, ramp(inputs), full_ramp(width)
        slow = place**depth.falling
        mix = torch.stack([place ** (depth.falling / 2), slow, slow + 0.3 * depth.rising])
        anchor = torch.get_default_dtype()
        self.mix = nn.Parameter(mix.to(anchor))
        self.decay = nn.Parameter((8 * along ** (0.7 + 1.3 * depth.rising) - 5).to(anchor))
        self.bonus = nn.Parameter((zigzag(width) / 2 + torch.tensor(0.3).log()).to(anchor))
        self.receptance = Linear(inputs, width, bias=False)
        self.key = Linear(inputs, width, bias=False)
        self.value = Linear(inputs, width, bias=False)
        self.output = Linear(width, self.outputs, bias=False)

    def initial_state(self, batch: int) -> State:
        """Returns sums of nothing: zeros, with a stabiliser m below all that will come."""
        zeros = self.zeros(batch, len(self.decay))
        return {
            "numerator": zeros,
            "denominator": zeros.clone(),
            "m": torch.full_like(zeros, torch.finfo(zeros.dtype).min / 2),
            "last": self.zeros(batch, self.inputs),
        }

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position, and the sums and x after it."""
        r, k, v = self._attend(x, state["last"])
        top, bottom, m = state["numerator"], state["denominator"], state["m"]
        o = mean_with_present(top, bottom, m, self.bonus + k, v)
        kept = m - torch.exp(self.decay)
        after = torch.maximum(kept, k)
        keep, write = torch.exp(kept - after), torch.exp(k - after)
        sums = {"numerator": keep * top + write * v, "denominator": keep * bottom + write, "m": after}
        return self.output(r * o), {**sums, "last": x}

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence, and the sums and the last x after it."""
        r, k, v = self._attend(x, before(x, state["last"]))
        before_it = (state["numerator"], state["denominator"], state["m"])
        o, (top, bottom, m) = weighted_means(torch.exp(self.decay), self.bonus, k, v, before_it)
        after = {"numerator": top, "denominator": bottom, "m": m, "last": x[:, -1]}
        return self.output(r * o), after

    def transition_from(self, x: Float[Tensor, "batch time inputs"], state: State) -> DiagonalTransition:
        """Returns the gate of the stored numerator, e^{m_{t-1} - w - m_t}, which lies between 0 and 1."""
        _, k, _ = self._attend(x, before(x, state["last"]))
        gate, _, _ = decaying_gates(torch.exp(self.decay), k, state["m"])
        return DiagonalTransition(state="numerator", gate=gate)

    def _attend(self, x: Tensor, last: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        for_receptance, for_key, for_value = (last + (x - last) * mix for mix in self.mix)
        return torch.sigmoid(self.receptance(for_receptance)), self.key(for_key), self.value(for_value)


@dataclass(frozen=True, slots=True, kw_only=True)
class RwkvChannelMixSettings:
    """Settings of the channel mixing of RWKV.

    Attributes:
        expansion: hidden units as a multiple of the inputs: 4 in RWKV-4, 3.5 in RWKV-6.
        depth: where the layer lies, which the initial weights depend on.
    """

    expansion: float = 4.0
    depth: Depth = field(default_factory=Depth)

    def __post_init__(self) -> None:
        require_positive(self, "expansion")


class RwkvChannelMix(RecurrentLayer):
    """The channel mixing of RWKV, as a layer of its own; its state is the position before.

    Mixtures start as in the authors' code. Their maps by W_r and W_v start at zero, which the residual path
    makes up for; here all maps are drawn as torch does, so that a layer works without one.

    Implements: [Peng2023Rwkv4]
    """

    def __init__(self, inputs: int, settings: RwkvChannelMixSettings) -> None:
        super().__init__(inputs, inputs)
        self.settings = settings
        hidden = max(1, round(settings.expansion * inputs))
        mix = (ramp(inputs) ** settings.depth.falling).to(torch.get_default_dtype())
        self.mix = nn.Parameter(torch.stack([mix, mix]))
        self.receptance = Linear(inputs, inputs, bias=False)
        self.key = Linear(inputs, hidden, bias=False)
        self.value = Linear(hidden, inputs, bias=False)

    def initial_state(self, batch: int) -> State:
        """Returns features of zero before the first position."""
        return {"last": self.zeros(batch, self.inputs)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position, and x after it."""
        return self._mix(x, state["last"]), {"last": x}

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence, and the last x after it."""
        last = (state)["last"]
        return self._mix(x, before(x, last)), {"last": x[:, -1]}

    def _mix(self, x: Tensor, last: Tensor) -> Tensor:
        for_receptance, for_key = (last + (x - last) * mix for mix in self.mix)
        hidden = self.key(for_key).relu().square()
        return torch.mul(torch.sigmoid(self.receptance(for_receptance)), self.value(hidden))


TIME_MIX = LayerKind(
    name="rwkv-4",
    title="RWKV-4",
    settings=Rwkv4Settings,
    build=Rwkv4,
    equation="a = e^{-w} a + e^k v, b = e^{-w} b + e^k, o = (a + e^{u+k} v) / (b + e^{u+k})",
    reference=Reference("Peng2023Rwkv4"),
    surroundings=Surroundings(norm="layer", residual=True),
)

CHANNEL_MIX = LayerKind(
    name="rwkv-channel-mix",
    title="RWKV channel mixing",
    settings=RwkvChannelMixSettings,
    build=RwkvChannelMix,
    equation="y = σ(W_r x') ∘ W_v relu(W_k x'')², x' and x'' mixtures of x and the x before it",
    reference=Reference("Peng2023Rwkv4"),
    surroundings=Surroundings(norm="layer", residual=True),
)
