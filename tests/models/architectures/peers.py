"""Comparison of a layer with a peer's that has the same weights."""

from __future__ import annotations

import contextlib

import torch
from torch import Tensor, nn

from tests.peers.comparison import Pair, all_peers, keep_float64

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}


def features(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 1) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def assert_same_as_peer(name: str, dtype: torch.dtype, *, length: int = 19) -> None:
    """A peer of the audit gives what ours gives, number by number; in float64 without its detours."""
    with keep_float64() if dtype == torch.float64 else contextlib.nullcontext():
        assert_same_pair(all_peers()[name].pair(dtype=dtype, length=length), dtype, length=length)


def assert_same_pair(pair: Pair, dtype: torch.dtype, *, length: int = 19) -> None:
    """Both layers of a pair give the same, and no weight of ours is left out."""
    assert isinstance(pair.ours, nn.Module)
    assert {id(m.ours) for m in pair.matches} == {id(weight) for weight in pair.ours.parameters()}
    x = features(3, length, pair.inputs, dtype=dtype)
    results = []
    for function, side in ((pair.ours, "ours"), (pair.theirs, "theirs")):
        leaf = x.clone().requires_grad_()
        outputs = function(leaf)
        y = outputs if isinstance(outputs, Tensor) else outputs[0]
        loss = (y * features(*y.shape, dtype=dtype, seed=2)).sum()
        results.append([y, *torch.autograd.grad(loss, [leaf, *(getattr(m, side) for m in pair.matches)])])
    mine, other = results
    mine[2:] = [m.lay_out(gradient) for m, gradient in zip(pair.matches, mine[2:], strict=True)]
    for one, two in zip(mine, other, strict=True):
        torch.testing.assert_close(
            one.flatten(), two.flatten().to(dtype), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]
        )
