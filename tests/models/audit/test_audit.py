"""Audits of peers: those of the table, a planted one, one that is missing, and a layer of one's own."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from nerode.core import InputError, UnknownName
from nerode.models.audit import Pair, Peer, all_peers, audit_layer, audit_peer, compare, match_weights
from nerode.models.audit.peer import give_weights
from nerode.models.zoo import all_members
from tests.models.architectures.peers import features
from tests.models.audit.planted import NAMES, Planted, gru

DIFFERENT = "transformers-mamba-2-groups"
HERE = [name for name, peer in all_peers().items() if not peer.cuda and name != DIFFERENT]


def planted_peer(theirs: nn.Module, **changes: Any) -> Peer:
    def build(*, dtype: torch.dtype, length: int) -> Pair:
        ours, layer = gru().to(dtype), theirs.to(dtype)
        matches = match_weights(ours, layer, NAMES)
        give_weights(matches)
        return Pair(ours=ours, theirs=layer, matches=matches, inputs=4)

    about = {"name": "planted", "library": "torch", "module": "torch", "layer": "Planted", "ours": "gru"}
    return Peer(**{**about, "build": build, **changes})


@pytest.mark.parametrize("name", HERE)
def test_no_peer_differs_in_float32(name: str) -> None:
    found = audit_peer(all_peers()[name], lengths=(1, 3, 64, 129))
    assert found.verdict == "same", found.where
    assert [c.length for c in found.comparisons] == [1, 3, 64, 129]
    assert found.forward < 1e-5


DETOURS = ("mambapy", "transformers-mamba-2", "transformers-recurrent-gemma", "transformers-xlstm")


@pytest.mark.parametrize("name", DETOURS)
def test_a_detour_through_float32_is_told_from_another_formula(name: str) -> None:
    found = audit_peer(all_peers()[name], lengths=(2, 19), dtype=torch.float64)
    assert found.verdict == "float32 inside"
    assert 1e-10 < max(found.forward, found.backward) < 1e-5
    assert not found.same


def test_another_formula_is_no_detour() -> None:
    """The ε of the parallel mLSTM is scaled otherwise than in its recurrent form, and so than ours."""
    found = audit_peer(all_peers()["xlstm-mlstm"], lengths=(19,), dtype=torch.float64)
    assert found.verdict == "differs"
    assert found.forward < 1e-6


def norm_by_group(x: Tensor, gate: Tensor, weight: Tensor, groups: int) -> Tensor:
    parts = (x * functional.silu(gate)).reshape(*x.shape[:-1], groups, -1)
    return weight * (parts * torch.rsqrt(parts.square().mean(-1, keepdim=True) + 1e-5)).flatten(-2)


@pytest.mark.parametrize("by_group", [False, True])
def test_the_norm_of_groups_is_all_that_differs(by_group: bool) -> None:
    peer = all_peers()[DIFFERENT]
    if not by_group and peer.version != "5.22.2":
        pytest.skip("measured in transformers 5.22.2; a later version may have put it right")
    pair = peer.pair()
    mixer: Any = pair.theirs
    if by_group:
        norm = mixer.norm
        norm.forward = lambda x, gate=None: norm_by_group(x, gate, norm.weight, groups=2)
    found = compare(pair.ours, mixer, pair.matches, features(3, 19, pair.inputs, dtype=torch.float32))
    assert found.same == by_group
    assert by_group or found.where == "output of position 0 of 19"


def test_every_peer_is_beside_a_member_of_the_zoo() -> None:
    for name, peer in all_peers().items():
        assert peer.name == name
        assert peer.ours in all_members()


def test_weights_come_from_the_seed_alone() -> None:
    peer = all_peers()["torch-gru"]
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first, again, other = (peer.pair(seed=seed).matches[0].ours for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_planted_error_is_found_at_the_length_where_it_shows() -> None:
    found = audit_peer(planted_peer(Planted(100)), lengths=(1, 7, 64, 257))
    assert found.verdict == "differs"
    assert [c.same for c in found.comparisons] == [True, True, True, False]
    assert found.where == "output of position 100 of 257"


def test_a_peer_that_always_raises_fails() -> None:
    class Raises(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = gru()

        def forward(self, x: Tensor) -> Tensor:
            raise NotImplementedError("no such kernel")

    found = audit_peer(planted_peer(Raises()), lengths=(2,))
    assert found.verdict == "fails"
    assert found.where == "the peer raised NotImplementedError: no such kernel"


def test_a_missing_library_is_named_with_what_to_install() -> None:
    peer = planted_peer(Planted(), library="no-such-library", module="no_such_library")
    assert peer.version is None
    with pytest.raises(InputError, match="`pip install no-such-library`"):
        audit_peer(peer)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
@pytest.mark.parametrize("name", [name for name, peer in all_peers().items() if peer.cuda])
def test_a_machine_without_cuda_says_so(name: str) -> None:
    with pytest.raises(InputError, match="needs a CUDA device"):
        audit_peer(all_peers()[name])


@pytest.mark.parametrize("lengths", [(), (0,), (3, -1)])
def test_lengths_are_positive(lengths: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="each 1 or more"):
        audit_peer(all_peers()["torch-gru"], lengths=lengths)


def test_an_unknown_peer_has_a_nearest_name() -> None:
    with pytest.raises(UnknownName, match="did you mean mambapy"):
        all_peers()["mambapi"]


def test_a_layer_of_ones_own_gets_our_weights() -> None:
    torch.manual_seed(1)
    theirs = nn.GRU(4, 6, batch_first=True)
    names = {
        "weight_ih_l0": "read.weight",
        "weight_hh_l0": "recurrent",
        "bias_ih_l0": "read.bias",
        "bias_hh_l0": "recurrent_bias",
    }
    ours = gru()
    x = features(2, 30, 4, dtype=torch.float32)
    assert audit_layer(ours, theirs, names, x).same
    assert torch.equal(ours.recurrent, theirs.weight_hh_l0)
    found = audit_layer(ours, theirs, match_weights(ours, theirs, names)[:2], x)
    assert set(found.weights) == {"read.weight", "recurrent"}


def test_a_layer_of_ones_own_with_a_mistake() -> None:
    x = features(2, 30, 4, dtype=torch.float32)
    assert audit_layer(gru(), Planted(17), NAMES, x).where == "output of position 17 of 30"
