"""The diagonal state space model of S4D: complex rates with negative real part, one bank for each channel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Complex, Float
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models.parts.discretisation import Discretisation, discretise, draw_log_steps, require_steps
from nerode.models.parts.hippo import legendre_normal_form
from nerode.models.parts.precision import as_complex, widened
from nerode.models.parts.time_invariant import diagonal_system
from nerode.models.parts.weights import add_weight

Rates = Literal["lin", "inv", "legs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteSystem:
    """h_t = gate ∘ h_{t-1} + write x_t, y_t = Re(Σ read h_t), each (channels, states)."""

    gate: Complex[Tensor, "channels states"]
    write: Complex[Tensor, "channels states"]
    read: Complex[Tensor, "channels states"]

    def step(
        self, x: Float[Tensor, "*batch channels"], state: Complex[Tensor, "*batch channels states"]
    ) -> tuple[Float[Tensor, "*batch channels"], Complex[Tensor, "*batch channels states"]]:
        """Returns the output of one position and the state after it."""
        state = self.gate * state + self.write * x[..., None]
        return (self.read * state).sum(-1).real, state

    def run(
        self,
        x: Float[Tensor, "batch time channels"],
        state: Complex[Tensor, "batch channels states"] | None = None,
    ) -> tuple[Float[Tensor, "batch time channels"], Complex[Tensor, "batch channels states"]]:
        """Returns the outputs of a sequence and the state after it; without a state it begins at zero."""
        return diagonal_system(x, self.gate, self.write, self.read, state)


class DiagonalSsm(nn.Module):
    """h' = λ ∘ h + B x, y = 2 Re(C h), in steps of a trained size: one bank of rates λ for each channel.

    Half of the states are kept; the others are their conjugates, which the factor 2 stands for. Real parts
    are -exp(log_decay), so that |gate| < 1. They begin at -½; the imaginary parts begin at πn ("lin"), at
    (N/π)(N/(2n+1) - 1) ("inv"), or at those of HiPPO-LegS ("legs"). B begins at 1, or for "legs" at half of
    HiPPO's B, which is what makes the diagonal system approach HiPPO-LegS; C is drawn from a complex normal
    distribution of variance 1, and the step sizes evenly on a logarithmic scale.

    Implements: [GuGuptaGoelRe2022]

    Args:
        channels: number of channels.
        states: N, number of states of each, even.
        rates: which imaginary parts to begin with.
        discretisation: how steps are made of continuous time.
        smallest_step: the lower end of the step sizes.
        largest_step: their upper end.
        learned_write: whether B is trained; otherwise it stays as it began.
    """

    slow_parameters = ("log_step", "log_decay", "frequency", "B")

    B: Tensor

    def __init__(
        self,
        channels: int,
        states: int,
        *,
        rates: Rates,
        discretisation: Discretisation,
        smallest_step: float,
        largest_step: float,
        learned_write: bool,
    ) -> None:
        super().__init__()
        require_even(states)
        require_steps(smallest_step, largest_step)
        half = states // 2
        self.discretisation = discretisation
        frequency, write = _beginning(rates, states)
        self.log_step = nn.Parameter(draw_log_steps(channels, smallest_step, largest_step))
        self.log_decay = nn.Parameter(torch.full((channels, half), math.log(0.5)))
        self.frequency = nn.Parameter(frequency.to(self.log_decay).repeat(channels, 1))
        self.C = nn.Parameter(torch.randn(channels, half, 2) * 0.5**0.5)
        write = torch.view_as_real(write).to(self.log_decay).repeat(channels, 1, 1)
        add_weight(self, "B", write, learned=learned_write)

    def discrete(self) -> DiscreteSystem:
        """Returns the system in steps, in float32 or float64."""
        rate = torch.complex(-widened(self.log_decay).exp(), widened(self.frequency))
        gate, factor = discretise(rate, widened(self.log_step).exp(), self.discretisation)
        return DiscreteSystem(gate=gate, write=factor * as_complex(self.B), read=2 * as_complex(self.C))


def require_even(states: int) -> None:
    """Raises InputError unless the states can be pairs of conjugates."""
    if states < 2 or states % 2:
        raise InputError(f"{states} states were asked for; they are pairs of conjugates: give 2, 4, 6, …")


def _beginning(rates: Rates, states: int) -> tuple[Tensor, Tensor]:
    """The imaginary parts and B of one channel."""
    n = torch.arange(states // 2, dtype=torch.float64)
    one = torch.ones(states // 2, dtype=torch.complex128)
    match rates:
        case "lin":
            return math.pi * n, one
        case "inv":
            return states / math.pi * (states / (2 * n + 1) - 1), one
        case _:
            rate, _, write, _ = legendre_normal_form(states)
            return rate.imag, write / 2
