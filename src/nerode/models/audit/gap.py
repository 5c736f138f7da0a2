"""How far two tensors are apart, beside what rounding alone does.

A difference is a share of the largest exact number in the same tensor, so that it does not depend on the
scale of outputs or gradients. A NaN, or an infinity on one side only, is a difference without bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

ROUNDING = 4.0
"""A peer may be off by this many times as much as our own layer in the same type is."""

_MOST = 100.0
"""But by no more than this many tolerances, whatever ours does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """How far a tensor of the peer's is from the exact one.

    Attributes:
        largest: the largest difference.
        own: the largest difference of ours, in the same type, from the exact one.
        allowed: what counts as none: the tolerance, or what rounding alone does where that is more.
    """

    largest: float
    own: float
    allowed: float

    @property
    def beyond(self) -> bool:
        """Whether this is a difference."""
        return self.largest > self.allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionGap(Gap):
    """The same for a tensor (batch, time, …).

    Attributes:
        at: the position of the largest difference.
        first: the first position that differs by more than is allowed; None if no position does.
        last: the last such position. A backward pass runs from the end, so its error comes in there.
    """

    at: int
    first: int | None
    last: int | None


def gap_of(exact: Tensor, ours: Tensor, theirs: Tensor, tolerance: float, least: float = 0.0) -> Gap:
    """Returns the gap of two tensors; `least` is the least number that differences are a share of."""
    own, largest = (float(differences(exact, other, least).max()) for other in (ours, theirs))
    return Gap(largest=largest, own=own, allowed=_allowed(own, tolerance))


def position_gap_of(
    exact: Tensor, ours: Tensor, theirs: Tensor, tolerance: float, least: float = 0.0
) -> PositionGap:
    """Returns the gap of two tensors (batch, time, …), with positions."""
    own = float(differences(exact, ours, least).max())
    allowed = _allowed(own, tolerance)
    by_position = differences(exact, theirs, least).transpose(0, 1).flatten(1).amax(dim=1)
    beyond = (by_position > allowed).nonzero().flatten().tolist()
    return PositionGap(
        largest=float(by_position.max()),
        own=own,
        allowed=allowed,
        at=int(by_position.argmax()),
        first=beyond[0] if beyond else None,
        last=beyond[-1] if beyond else None,
    )


def differences(exact: Tensor, other: Tensor, least: float = 0.0) -> Tensor:
    """Returns |exact - other| as a share of the largest exact number, or of `least` where that is more."""
    right, given = exact.detach().double(), other.detach().to(exact.device).double()
    shares = (right - given).abs() / (max(largest_of(right), least) or 1.0)
    # Infinities of the same sign agree; all else that is not a number does not.
    return torch.where(right == given, 0.0, shares).nan_to_num(nan=math.inf, posinf=math.inf)


def largest_of(tensor: Tensor) -> float:
    """Returns the largest finite number, in size."""
    finite = tensor.detach()[tensor.isfinite()].abs()
    return float(finite.max()) if finite.numel() else 0.0


def _allowed(own: float, tolerance: float) -> float:
    return max(tolerance, min(ROUNDING * own, _MOST * tolerance))
