"""A planted mistake is found, and said to be where it is."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from nerode.core import InputError, UnknownName
from nerode.models.zoo import all_kinds
from tests.models.architectures.peers import features
from tests.peers.comparison import (
    Match,
    Pair,
    Peer,
    all_peers,
    audit_layer,
    audit_peer,
    compare,
    match_weights,
)
from tests.peers.libraries import give_weights
from tests.peers.planted import NAMES, Planted, gru

X = features(2, 120, 4, dtype=torch.float32)


def against(theirs: Planted, x: Tensor = X, **options: Any) -> Any:
    ours = gru()
    return compare(ours, theirs, match_weights(ours, theirs, NAMES), x, **options)


def test_a_layer_is_as_itself() -> None:
    found = against(Planted())
    assert found.same
    assert found.where == ""
    assert found.length == 120
    assert found.tolerance == 1e-5
    assert found.forward < 1e-6
    assert found.backward < 1e-6
    assert set(found.weights) == {"read.weight", "recurrent", "read.bias", "recurrent_bias"}


def test_a_wrong_position_is_found() -> None:
    found = against(Planted(100))
    assert not found.same
    assert (found.outputs.first, found.outputs.last, found.outputs.at) == (100, 100, 100)
    assert found.where == "output of position 100 of 120"
    assert 1e-3 < found.forward < 0.011


def test_the_first_of_several_is_named() -> None:
    found = against(Planted(100, 7, 50))
    assert (found.outputs.first, found.outputs.last) == (7, 100)


def test_a_wrong_gradient_is_found_from_its_end() -> None:
    found = against(Planted(60, forward=False))
    assert found.outputs.first is None
    assert found.forward < 1e-6
    # What position 60 gives depends on all inputs up to 60, and on none after it.
    assert found.inputs.last == 60
    assert found.inputs.first < 60
    assert found.where == "gradient of position 60 of 120 (from the end)"


def test_a_changed_weight_is_found() -> None:
    ours, theirs = gru(), Planted()
    with torch.no_grad():
        theirs.cell.recurrent[3, 2] += 0.01
    found = compare(ours, theirs, match_weights(ours, theirs, NAMES), X)
    assert not found.same
    # With h = 0 before position 0, the recurrent weights matter from position 1 on.
    assert found.outputs.first == 1


class WrongGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor) -> Tensor:
        return weight.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return 1.1 * gradient


def test_a_wrong_gradient_of_one_weight_is_named() -> None:
    ours, theirs = gru(), gru()
    bias = theirs.read.bias

    def run(x: Tensor) -> Any:
        weights = {"read.bias": WrongGradient.apply(bias)}
        return torch.func.functional_call(theirs, weights, (x,))

    found = compare(ours, run, match_weights(ours, theirs), X)
    assert found.outputs.first is None
    assert found.inputs.first is None
    assert {name for name, gap in found.weights.items() if gap.beyond} == {"read.bias"}
    assert found.where == "gradient of read.bias at length 120"


def test_what_the_peer_raises_is_reported() -> None:
    def theirs(x: Tensor) -> Tensor:
        raise ValueError("sequences of 120 are too long")

    found = compare(gru(), theirs, (), X)
    assert not found.same
    assert found.troubles == ("the peer raised ValueError: sequences of 120 are too long",)
    assert (found.forward, found.backward, found.outputs) == (math.inf, math.inf, None)


def test_what_ours_raises_is_raised() -> None:
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        compare(gru().read, lambda x: x, (), X[..., :3])


def test_another_shape_is_reported() -> None:
    found = compare(gru(), lambda x: gru()(x)[0][:, 1:], (), X)
    assert found.where == "the peer gives outputs of shape (2, 119, 6); ours are (2, 120, 6)"


@pytest.mark.parametrize(("number", "kind"), [(math.nan, "NaN"), (math.inf, "infinite")])
def test_numbers_that_are_not_finite_are_reported(number: float, kind: str) -> None:
    found = against(Planted(33, by=number))
    assert not found.same
    assert found.forward == math.inf
    assert found.outputs.first == 33
    assert found.troubles[0] == f"the peer's outputs are {kind} from position 33 on"


def test_outputs_and_gradients_may_have_any_scale() -> None:
    """A mistake of one per cent is one, whether numbers are small or large."""
    for scale in (1e-12, 1e12):
        found = compare(lambda x, s=scale: gru()(x)[0] * s, lambda x, s=scale: Planted(100)(x)[0] * s, (), X)
        assert found.outputs is not None
        assert found.outputs.first == 100
        assert 1e-3 < found.forward < 0.011


class Sum(nn.Module):
    """x + 1e4 - 1e4 in some order: in float32 only three or four digits of x are left, if x is not last."""

    def __init__(self, *order: int) -> None:
        super().__init__()
        self.order = order

    def forward(self, x: Tensor) -> Tensor:
        parts = [x, torch.full_like(x, 1e4), torch.full_like(x, -1e4)]
        first, second, third = (parts[i] for i in self.order)
        return first + second + third


class WrongInFloat32(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 1.01 if x.dtype == torch.float32 else x


def test_rounding_that_ours_has_too_is_no_difference() -> None:
    x = 0.1 + features(2, 30, 4, dtype=torch.float32)
    found = compare(Sum(0, 1, 2), Sum(0, 2, 1), (), x)
    assert found.forward > 1e-5
    assert found.outputs is not None
    assert found.outputs.own > 1e-5
    assert found.same


def test_rounding_that_ours_has_not_is_a_difference() -> None:
    x = 0.1 + features(2, 30, 4, dtype=torch.float32)
    found = compare(Sum(1, 2, 0), Sum(0, 1, 2), (), x)
    assert found.outputs is not None
    assert found.outputs.own < 1e-6
    assert not found.same


def test_what_ours_does_excuses_no_large_difference() -> None:
    """Ours is wrong, too, but only in float32: the peer is not excused by more than 100 tolerances."""
    found = compare(WrongInFloat32(), lambda x: x * 1.01, (), X)
    assert found.outputs is not None
    assert found.outputs.allowed == pytest.approx(1e-3)
    assert not found.same


def test_the_tolerance_can_be_chosen() -> None:
    assert against(Planted(100), tolerance=0.02).same
    assert not against(Planted(100), tolerance=1e-3).same


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_other_types(dtype: torch.dtype) -> None:
    ours, theirs = gru(dtype), Planted(100, by=1.5).to(dtype)
    found = compare(ours, theirs, match_weights(ours, theirs, NAMES), X.to(dtype))
    assert found.outputs.first == 100  # type: ignore[union-attr]


def test_a_weight_without_a_gradient_has_the_gradient_zero() -> None:
    ours, theirs = gru(), gru()
    unused = torch.nn.Parameter(torch.ones(3))
    match = Match(name="read.bias", ours=ours.read.bias[:3], theirs=unused)
    found = compare(ours, theirs, [match], X)
    assert found.weights["read.bias"].largest == 0


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
    # transformers 5.22 norms all groups together; 5.23 norms each by itself, as the authors do.
    same = by_group or not peer.version.startswith("5.22.")
    pair = peer.pair()
    mixer: Any = pair.theirs
    if by_group:
        norm = mixer.norm
        norm.forward = lambda x, gate=None: norm_by_group(x, gate, norm.weight, groups=2)
    found = compare(pair.ours, mixer, pair.matches, features(3, 19, pair.inputs, dtype=torch.float32))
    assert found.same == same
    assert same or found.where == "output of position 0 of 19"


def test_every_peer_is_beside_a_member_of_the_zoo() -> None:
    for name, peer in all_peers().items():
        assert peer.name == name
        assert peer.ours in all_kinds()


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
