"""The parts of state space models: HiPPO, discretisation, step sizes, the diagonal system, the readout.

Continuous time becomes steps: h' = λ h + B x becomes h_t = gate h_{t-1} + write x_t. The diagonal system of
S4D has complex rates with negative real part, one bank for each channel. The HiPPO matrix remembers a whole
past as Legendre coefficients. The readout mixes the channels by an activation and a position-wise map.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Complex, Float
from numpy.typing import NDArray
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models.kernels.linear import Linear
from nerode.models.parts.precision import as_complex, widened
from nerode.models.parts.time_invariant import diagonal_system
from nerode.models.shared_terms import shared


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSizes:
    """A range of step sizes, drawn evenly on a logarithmic scale.

    Attributes:
        smallest: the lower end of the range.
        largest: its upper end.
        floor: smaller step sizes are raised to this.
    """

    smallest: float = 1e-3
    largest: float = 0.1
    floor: float = 1e-4

    def __post_init__(self) -> None:
        if not 0 < self.smallest <= self.largest < math.inf:
            raise InputError(
                f"the step sizes go from {self.smallest} to {self.largest}; "
                "give two positive numbers, the smaller one first"
            )
        if not 0 < self.floor < math.inf:
            raise InputError(f"the floor of the step sizes is {self.floor}; it has to be positive")

    def draw(self, count: int) -> Float[Tensor, " count"]:
        """Returns biases b whose softplus is a drawn step size.

        Implements: [GuDao2023]
        """
        low, high = math.log(self.smallest), math.log(self.largest)
        steps = torch.exp(low + torch.rand(count) * (high - low)).clamp(min=self.floor)
        # The inverse of softplus, log(e^Δ - 1), without cancellation for small Δ.
        return steps + torch.log(-torch.expm1(-steps))


Mixing = Literal["glu", "linear", "none"]


class Readout(nn.Module):
    """[GELU], then W y + b ("linear"), or (W y + b) ∘ sigmoid(V y + c) ("glu"), or nothing.

    Args:
        inputs: number of features that it reads.
        outputs: number of features that it gives; with no mixing the inputs.
        activation: whether GELU comes first.
        mixing: which map follows.
    """

    def __init__(self, inputs: int, outputs: int, *, activation: bool, mixing: Mixing) -> None:
        super().__init__()
        self.activation = nn.GELU() if activation else nn.Identity()
        self.mixing: nn.Module = nn.Identity()
        if mixing == "glu":
            self.mixing = nn.Sequential(Linear(inputs, 2 * outputs), nn.GLU())
        elif mixing == "linear":
            self.mixing = Linear(inputs, outputs)

    def forward(self, y: Float[Tensor, "... inputs"]) -> Float[Tensor, "... outputs"]:
        """Returns the features of each position."""
        return self.mixing(self.activation(y))  # type: ignore[no-any-return]

    def finish(self, y: Tensor, x: Tensor, skip: Tensor | None) -> Tensor:
        """Returns the features of y + D x, in the type of x, for a D that may not be there."""
        y = y.to(x.dtype)
        return self(y if skip is None else y + skip * x)  # type: ignore[no-any-return]


def add_weight(module: nn.Module, name: str, value: Tensor, *, learned: bool) -> None:
    """Gives a module a weight: a parameter if it is learned, otherwise a buffer, saved but not trained."""
    if learned:
        module.register_parameter(name, nn.Parameter(value))
    else:
        module.register_buffer(name, value)


Discretisation = Literal["zoh", "bilinear"]


def draw_log_steps(count: int, smallest: float, largest: float) -> Float[Tensor, " count"]:
    """Returns logarithms of step sizes, drawn evenly between those of two positive numbers."""
    low, high = math.log(smallest), math.log(largest)
    return low + (high - low) * torch.rand(count)


def require_steps(smallest: float, largest: float) -> None:
    """Raises InputError unless the step sizes are a range of positive numbers."""
    if not 0 < smallest <= largest < math.inf:
        raise InputError(
            f"the step sizes go from {smallest} to {largest}; give two positive numbers in order"
        )


def discretise(
    rate: Complex[Tensor, "channels states"], step: Float[Tensor, " channels"], method: Discretisation
) -> tuple[Complex[Tensor, "channels states"], Complex[Tensor, "channels states"]]:
    """Returns the gate and the factor of B of each λ ("rate") for steps of these sizes.

    "zoh" is exact for inputs that stay constant between steps; "bilinear" is the trapezoidal rule.
    """
    turned = rate * step[:, None]
    if method == "bilinear":
        below = (1 - turned / 2).reciprocal()
        return (1 + turned / 2) * below, below * step[:, None]
    still = turned == 0
    # (e^z - 1)/z is 1 at z = 0, where neither the quotient nor its derivative can be computed as written.
    quotient = torch.expm1(turned) / torch.where(still, torch.ones_like(turned), turned)
    return turned.exp(), torch.where(still, 1 + turned / 2, quotient) * step[:, None]


def bilinear_matrix(
    matrix: Float[Tensor, "states states"],
    write: Float[Tensor, " states"],
    step: Float[Tensor, " channels"],
) -> tuple[Float[Tensor, "channels states states"], Float[Tensor, "channels states"]]:
    """Returns (I - Δ/2 A)⁻¹ (I + Δ/2 A) and (I - Δ/2 A)⁻¹ Δ B for each step size Δ."""
    half = step[:, None, None] / 2 * matrix
    one = torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device)
    right = torch.cat([one + half, step[:, None, None] * write[None, :, None]], dim=2)
    solved = torch.linalg.solve(one - half, right)
    return solved[..., :-1], solved[..., -1]


def legendre_matrices(
    states: int,
) -> tuple[Float[Tensor, "states states"], Float[Tensor, " states"]]:
    """Returns A and B of HiPPO-LegS in float64: h' = A h + B x.

    Implements: [GuDaoErmonRudraRe2020]
    """
    A, B = _matrices(states)
    return torch.from_numpy(A), torch.from_numpy(B)


def legendre_normal_form(
    states: int,
) -> tuple[
    Complex[Tensor, " half"],
    Complex[Tensor, " half"],
    Complex[Tensor, " half"],
    Complex[Tensor, "states half"],
]:
    """Returns Λ, P, B and V of HiPPO-LegS as diagonal plus low rank, in complex128, half of each.

    A + P Pᵀ = -½ I + S with S skew-symmetric, so it has orthonormal eigenvectors V; in their basis A is
    diag(Λ) - P P*, and B is V* B. The eigenvalues come in conjugate pairs: those with positive imaginary part
    are returned, the smallest first.

    Implements: [GuGoelRe2022]

    Args:
        states: number of states, even.
    """
    A, B = _matrices(states)
    P = np.sqrt(np.arange(states) + 0.5)
    skew = A + P[:, None] * P[None, :] + 0.5 * np.eye(states)
    frequencies, V = np.linalg.eigh(-1j * skew)
    kept = slice(states // 2, None)
    V = V[:, kept]
    rate = -0.5 + 1j * frequencies[kept]
    turned = V.conj().T
    return tuple(torch.from_numpy(m) for m in (rate, turned @ P, turned @ B, V))  # type: ignore[return-value]


def _matrices(states: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    n = np.arange(states)
    root = np.sqrt(2.0 * n + 1)
    A = -np.tril(root[:, None] * root[None, :], -1) - np.diag(n + 1.0)
    return A, root


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
        gate, write, read = shared(DiagonalSsm._in_steps, self)
        return DiscreteSystem(gate=gate, write=write, read=read)

    def _in_steps(self) -> tuple[Tensor, Tensor, Tensor]:
        rate = torch.complex(-widened(self.log_decay).exp(), widened(self.frequency))
        gate, factor = discretise(rate, widened(self.log_step).exp(), self.discretisation)
        return gate, factor * as_complex(self.B), 2 * as_complex(self.C)


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
