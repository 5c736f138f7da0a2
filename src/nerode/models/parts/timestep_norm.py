"""A norm over all positions so far: each group of features by the mean and variance of its past."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models.parts.precision import widened


class TimestepNorm(nn.Module):
    """y_t = w ∘ (x_t - μ_t) / √(σ²_t + ε) + b, with μ_t and σ²_t over a group's features at positions 1 … t.

    A causal norm that is carried on: count, mean and variance are the state. They are in float32 at least.

    Implements: [Ma2024]

    Args:
        width: number of features.
        groups: number of groups that they are cut into, of two features or more.
        eps: ε.
    """

    def __init__(self, width: int, groups: int, eps: float = 1e-5) -> None:
        super().__init__()
        if groups < 1 or width % groups or width // groups < 2:
            raise InputError(
                f"{width} features cannot be cut into {groups} groups for a norm over time; "
                "give a number that divides them into groups of two or more"
            )
        self.groups, self.eps = groups, eps
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def initial_state(self, batch: int) -> tuple[Tensor, Tensor, Tensor]:
        """Returns count, mean and variance before the first position."""
        nothing = widened(self.weight.new_zeros(batch, self.groups))
        return torch.zeros(batch, dtype=torch.int64, device=nothing.device), nothing, nothing

    def step(
        self,
        x: Float[Tensor, "batch width"],
        count: Int[Tensor, " batch"],
        mean: Float[Tensor, "batch groups"],
        variance: Float[Tensor, "batch groups"],
    ) -> tuple[Float[Tensor, "batch width"], Tensor, Tensor, Tensor]:
        """Returns the features of one position, and count, mean and variance with it."""
        now, spread = self._moments(x)
        count = count + 1
        share = 1 / count[:, None].to(mean.dtype)
        moved = now - mean
        after = mean + share * moved
        # The variances of the past and of this position, and that between the two means.
        variance = (1 - share) * variance + share * spread + share * (1 - share) * moved.square()
        return self._normalise(x, after, variance), count, after, variance

    def forward(
        self,
        x: Float[Tensor, "batch time width"],
        count: Int[Tensor, " batch"],
        mean: Float[Tensor, "batch groups"],
        variance: Float[Tensor, "batch groups"],
    ) -> tuple[Float[Tensor, "batch time width"], Tensor, Tensor, Tensor]:
        """Returns the features of a sequence, and count, mean and variance after it."""
        now, spread = self._moments(x)
        past = count[:, None].to(mean.dtype)
        # Sums of squares are taken around a value near the mean, so that little is lost when they are
        # subtracted. The result does not depend on that value, so no gradient flows through it.
        near = torch.where(past > 0, mean, now[:, 0]).detach()
        numbers = torch.arange(1, x.shape[1] + 1, dtype=mean.dtype, device=x.device)
        total = (past + numbers)[..., None]
        first = (now - near[:, None]).cumsum(1) + (past * (mean - near))[:, None]
        second = (spread + (now - near[:, None]).square()).cumsum(1)
        second = second + (past * (variance + (mean - near).square()))[:, None]
        means = near[:, None] + first / total
        variances = second / total - (first / total).square()
        return (
            self._normalise(x, means, variances),
            count + x.shape[1],
            means[:, -1],
            variances[:, -1],
        )

    def _moments(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of each group at each position by itself."""
        grouped = torch.unflatten(widened(x), -1, (self.groups, -1))
        return grouped.mean(-1), grouped.var(-1, unbiased=False)

    def _normalise(self, x: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        grouped = torch.unflatten(widened(x), -1, (self.groups, -1))
        normed = (grouped - mean[..., None]) * (variance + self.eps).rsqrt()[..., None]
        return self.weight * normed.flatten(-2).to(x.dtype) + self.bias
