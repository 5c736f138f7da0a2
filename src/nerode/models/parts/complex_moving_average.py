"""The complex exponential moving average of Megalodon (CEMA)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from nerode.models.parts.diagonal_ssm import DiscreteSystem
from nerode.models.parts.precision import as_complex, widened


class ComplexMovingAverage(nn.Module):
    """h_t = (1 - α δ) e^{iθ} ∘ h_{t-1} + α x_t, y_t = Re(Σ γ h_t) / √states: several for each channel.

    α, δ in [0,1] for each state, θ_n = n · 2π ω / states with one ω in [0,1] for each channel. α and δ begin
    near ½, γ is drawn real from a normal distribution, and the ω spread evenly on a logarithmic scale from 1
    to 1/channels, in random order.

    Implements: [Ma2024]

    Args:
        channels: number of channels, 2 or more.
        states: complex states of each.
    """

    def __init__(self, channels: int, states: int) -> None:
        super().__init__()
        self.states = states
        self.alpha = nn.Parameter(torch.randn(channels, states) * 0.2)
        self.delta = nn.Parameter(torch.randn(channels, states) * 0.2)
        places = torch.randperm(channels) + 1.0
        self.theta = nn.Parameter(torch.logit(torch.exp(-places * math.log(channels) / channels)))
        gamma = torch.randn(channels, states, 2)
        gamma[..., 1] = 0
        self.gamma = nn.Parameter(gamma)

    def discrete(self) -> DiscreteSystem:
        """Returns the recurrence, in float32 or float64."""
        alpha, delta = widened(self.alpha).sigmoid(), widened(self.delta).sigmoid()
        numbers = torch.arange(1, self.states + 1, dtype=alpha.dtype, device=alpha.device)
        angle = widened(self.theta).sigmoid()[:, None] * (numbers * (2 * math.pi / self.states))
        size = 1 - alpha * delta
        gate = torch.complex(size * angle.cos(), size * angle.sin())
        read = as_complex(self.gamma) * self.states**-0.5
        return DiscreteSystem(gate=gate, write=alpha.to(gate.dtype), read=read)

    def initial_state(self, batch: int) -> Tensor:
        """Returns h₀, complex, zero."""
        return torch.zeros_like(as_complex(self.gamma)).expand(batch, -1, -1)
