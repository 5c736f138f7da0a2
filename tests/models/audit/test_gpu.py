"""What can be said of the GPU peers without a GPU: the side that is ours is the recurrence it should be.

The libraries are replaced by stand-ins that compute the published recurrences by their own loops, in the axes
and with the scale that the libraries document. So the wiring is tested, not the libraries.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest
import torch
from torch import Tensor

from nerode.models.audit import compare
from nerode.models.audit.peers import gpu
from tests.models.architectures.peers import features


def loop(q: Tensor, k: Tensor, v: Tensor, move: Any) -> tuple[Tensor, None]:
    """o = qᵀ S / √keys, S moved by `move(S, t)`; (batch, time, heads, size) as in fla."""
    state = torch.zeros(*k[:, 0].shape, v.shape[-1], dtype=q.dtype)
    rows = []
    for t in range(q.shape[1]):
        state = move(state, t)
        rows.append(torch.einsum("bhk,bhkv->bhv", q[:, t], state) / k.shape[-1] ** 0.5)
    return torch.stack(rows, dim=1), None


def chunk_gla(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> tuple[Tensor, None]:
    outer = torch.einsum("bthk,bthv->bthkv", k, v)
    return loop(q, k, v, lambda state, t: g[:, t].exp()[..., None] * state + outer[:, t])


def delta_rule(q: Tensor, k: Tensor, v: Tensor, beta: Tensor) -> tuple[Tensor, None]:
    def move(state: Tensor, t: int) -> Tensor:
        strength = beta[:, t, :, None, None]
        eye = torch.eye(k.shape[-1], dtype=q.dtype)
        erased = (eye - strength * torch.einsum("bhi,bhj->bhij", k[:, t], k[:, t])) @ state
        return erased + strength * torch.einsum("bhi,bhj->bhij", k[:, t], v[:, t])

    return loop(q, k, v, move)


@pytest.fixture
def fla(monkeypatch: pytest.MonkeyPatch) -> None:
    modules = {
        "fla": {},
        "fla.ops": {},
        "fla.ops.gla": {"chunk_gla": chunk_gla},
        "fla.ops.delta_rule": {"chunk_delta_rule": None, "fused_recurrent_delta_rule": delta_rule},
    }
    for name, members in modules.items():
        module = types.ModuleType(name)
        module.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.usefixtures("fla")
@pytest.mark.parametrize("build", [gpu.pair_gla, gpu.pair_delta_rule])
def test_the_recurrence_of_fla_is_ours(build: Any) -> None:
    pair = build(dtype=torch.float64, length=11)
    assert pair.device == "cuda"
    x = features(2, 11, pair.inputs)
    found = compare(pair.ours, pair.theirs, pair.matches, x)
    assert found.same, found.where
    assert found.outputs is not None
    assert found.outputs.largest < 1e-12
