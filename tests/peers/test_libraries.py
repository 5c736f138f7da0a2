"""Pairs of weights: layouts, copies, and what does not fit."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nerode.core import InputError
from tests.models.architectures.peers import features
from tests.peers.comparison import Match, compare, give_weights, match_weights
from tests.peers.libraries import pair_delta_rule, pair_gla, shake


def test_a_weight_is_given_in_the_layout_of_the_peer() -> None:
    ours = torch.arange(12.0).reshape(2, 2, 3)
    theirs = torch.zeros(6)
    give_weights([Match(name="w", ours=ours, theirs=theirs, part=1, turned=True, shift=-1.0)])
    # Row 1 is [[6, 7, 8], [9, 10, 11]]; turned it reads 6 9 7 10 8 11, and one less.
    assert theirs.tolist() == [5, 8, 6, 9, 7, 10]


def test_all_weights_are_paired_by_name() -> None:
    ours, theirs = nn.Linear(3, 2), nn.Linear(3, 2)
    matches = match_weights(ours, theirs)
    assert {m.name for m in matches} == {"weight", "bias"}
    give_weights(matches)
    assert torch.equal(ours.weight, theirs.weight)
    assert torch.equal(ours.bias, theirs.bias)


def test_names_may_differ() -> None:
    ours, theirs = nn.Linear(3, 2, bias=False), nn.Sequential(nn.Linear(3, 2, bias=False))
    (match,) = match_weights(ours, theirs, {"0.weight": "weight"})
    assert match.ours is ours.weight
    assert match.theirs is theirs[0].weight


@pytest.mark.parametrize(
    ("ours", "theirs", "names", "text"),
    [
        (nn.Linear(3, 2), nn.Linear(3, 2, bias=False), {}, "ours bias"),
        (nn.Linear(3, 2, bias=False), nn.Linear(3, 2), {}, "the peer's bias"),
        (nn.Linear(3, 2), nn.Linear(3, 2), {"wait": "weight"}, "no weight of the peer wait"),
        (nn.Linear(3, 2), nn.Linear(3, 4), {}, r"weight has the shape \(2, 3\), the peer's \(4, 3\)"),
    ],
)
def test_what_does_not_fit_is_refused(
    ours: nn.Module, theirs: nn.Module, names: dict[str, str], text: str
) -> None:
    with pytest.raises(InputError, match=text):
        match_weights(ours, theirs, names)


def test_shaking_moves_every_weight() -> None:
    layer = nn.Linear(3, 2).double()
    before = [weight.clone() for weight in layer.parameters()]
    shake(layer, torch.Generator().manual_seed(0), by=0.1)
    for old, new in zip(before, layer.parameters(), strict=True):
        assert (old != new).all()
        assert (old - new).abs().max() < 1


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
@pytest.mark.parametrize("build", [pair_gla, pair_delta_rule])
def test_the_recurrence_of_fla_is_ours(build: Any) -> None:
    pair = build(dtype=torch.float64, length=11)
    assert pair.device == "cuda"
    x = features(2, 11, pair.inputs)
    found = compare(pair.ours, pair.theirs, pair.matches, x)
    assert found.same, found.where
    assert found.outputs is not None
    assert found.outputs.largest < 1e-12
