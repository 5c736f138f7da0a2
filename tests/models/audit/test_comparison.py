"""A planted mistake is found, and said to be where it is."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nerode.models.audit import Match, compare, match_weights
from tests.models.architectures.peers import features
from tests.models.audit.planted import NAMES, Planted, gru

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
