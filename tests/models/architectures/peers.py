"""Comparison of a layer with a peer's that has the same weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
import torch
from torch import Tensor

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}


def features(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 1) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def keep_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes the detours through float32 out of the peers, so that they can be compared in float64."""
    monkeypatch.setattr(torch.Tensor, "float", lambda tensor: tensor)
    for name in ("float32", "float"):
        monkeypatch.setattr(torch, name, torch.float64)


def assert_same_with_gradients(
    ours: Callable[[Tensor], Tensor],
    peer: Callable[[Tensor], Tensor],
    x: Tensor,
    weights: Iterable[tuple[Tensor, Tensor]],
) -> None:
    """Both give the same outputs, and the same gradients for the inputs and for pairs of weights."""
    pairs = list(weights)
    results = []
    for function, side in ((ours, 0), (peer, 1)):
        leaf = x.clone().requires_grad_()
        y = function(leaf)
        loss = (y * features(*y.shape, dtype=y.dtype, seed=2)).sum()
        results.append([y, *torch.autograd.grad(loss, [leaf, *(pair[side] for pair in pairs)])])
    for mine, other in zip(*results, strict=True):
        tolerance = TOLERANCE[mine.dtype]
        torch.testing.assert_close(
            mine.flatten(), other.flatten().to(mine.dtype), rtol=tolerance, atol=tolerance
        )
