"""Rotations that depend on the input: they are rotations, and they track groups of rotations."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from nerode.core import InputError
from nerode.models.architectures.orthogonal import Orthogonal, OrthogonalSettings, rotation


def layer(inputs: int = 4, **settings: object) -> Orthogonal:
    torch.manual_seed(0)
    return Orthogonal(inputs, OrthogonalSettings(**settings)).double().requires_grad_(False)  # type: ignore[arg-type]


def skew_basis(size: int) -> Tensor:
    """One skew matrix for each pair of coordinates: the turn of the first towards the second."""
    above, below = torch.triu_indices(size, size, offset=1)
    basis = torch.zeros(len(above), size, size)
    numbers = torch.arange(len(above))
    basis[numbers, below, above] = 1.0
    basis[numbers, above, below] = -1.0
    return basis


def skew(size: int, count: int = 20, scale: float = 2.0) -> Tensor:
    basis = skew_basis(size).double()
    angles = torch.randn(count, len(basis), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return torch.einsum("nc,cij->nij", scale * angles, basis)


@pytest.mark.parametrize("size", [2, 3, 4, 5])
@pytest.mark.parametrize("form", ["exponential", "cayley"])
def test_every_matrix_is_a_rotation(size: int, form: str) -> None:
    turns = layer(size=size, form=form).matrices(torch.randn(50, 4, dtype=torch.float64))
    assert turns.shape == (50, 8, size, size)
    identity = torch.eye(size, dtype=torch.float64).expand_as(turns)
    torch.testing.assert_close(turns @ turns.mT, identity, rtol=0, atol=1e-12)
    torch.testing.assert_close(torch.linalg.det(turns), torch.ones(50, 8, dtype=torch.float64))


@pytest.mark.parametrize("scale", [0.0, 1e-9, 1e-5, 1.0, 10.0])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_closed_form_is_the_exponential(size: int, scale: float) -> None:
    given = skew(size, scale=scale)
    wanted = torch.linalg.matrix_exp(given)
    torch.testing.assert_close(rotation(given, "exponential"), wanted, rtol=1e-12, atol=1e-12)


def test_gradients_are_right_where_nothing_turns() -> None:
    """By finite differences at zero, where the angle has no derivative."""
    basis = skew_basis(3).double()

    def turn(angles: Tensor) -> Tensor:
        return rotation(torch.einsum("c,cij->ij", angles, basis), "exponential")

    for angles in (torch.zeros(3), torch.tensor([1e-4, 0.0, -2e-4]), torch.tensor([1.0, -2.0, 0.5])):
        assert torch.autograd.gradcheck(turn, (angles.double().requires_grad_(),), eps=1e-6, atol=1e-6)


def test_a_turn_goes_from_the_first_coordinate_to_the_second() -> None:
    quarter = rotation(math.pi / 2 * skew_basis(2).double(), "exponential")[0]
    first = torch.tensor([1.0, 0.0], dtype=torch.float64)
    torch.testing.assert_close(quarter @ first, torch.tensor([0.0, 1.0], dtype=torch.float64))


def test_a_cycle_of_sixty_is_tracked_for_ten_thousand_letters() -> None:
    ours = layer(60, blocks=1, size=2)
    with torch.no_grad():
        ours.W.weight.zero_()
        ours.W.weight[2] = 2 * math.pi / 60 * torch.arange(60, dtype=torch.float64)
        letters = torch.randint(0, 60, (1, 10_000), generator=torch.Generator().manual_seed(1))
        _, state = ours(torch.nn.functional.one_hot(letters, 60).double())
    angle = 2 * math.pi * int(letters.sum()) / 60
    wanted = torch.tensor([math.cos(angle), math.sin(angle)], dtype=torch.float64)
    torch.testing.assert_close(state["h"][0, 0, :, 0], wanted, rtol=0, atol=1e-9)


def test_half_a_turn_is_beyond_the_cayley_form() -> None:
    """Its angle is 2 arctan of half the skew entry."""
    entry = 3.0
    turned = rotation(entry * skew_basis(2).double(), "cayley")[0]
    assert math.atan2(float(turned[1, 0]), float(turned[0, 0])) == pytest.approx(2 * math.atan(entry / 2))


def test_the_start_is_the_identity() -> None:
    ours = layer(size=3, columns=2, blocks=2, learned_start=True)
    assert ours.initial_state(1)["h"][0, 1].tolist() == [[1, 0], [0, 1], [0, 0]]
    assert "start" in dict(ours.named_parameters())
    assert "start" not in layer().state_dict()


def test_the_spread_of_the_first_angles() -> None:
    letters = torch.eye(60, dtype=torch.float64)
    skews = layer(60, blocks=20, size=2, spread=1.0).W(letters).unflatten(-1, (20, 2, 2))
    assert float((skews - skews.mT)[..., 0, 1].std()) == pytest.approx(1, rel=0.1)
    features = torch.randn(500, 60, dtype=torch.float64)
    skews = layer(60, blocks=20, size=2).W(features).unflatten(-1, (20, 2, 2))
    assert float((skews - skews.mT)[..., 0, 1].std()) == pytest.approx(1, rel=0.1)


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="size 1"):
        OrthogonalSettings(size=1)
    with pytest.raises(InputError, match="spread is -1"):
        OrthogonalSettings(spread=-1.0)
    with pytest.raises(InputError, match="blocks is 0"):
        OrthogonalSettings(blocks=0)


def test_matrices_that_are_given_are_taken_as_they_are() -> None:
    ours = layer(3, blocks=2, size=2, form="matrix")
    letters = torch.eye(3, dtype=torch.float64)
    assert torch.equal(ours.matrices(letters), ours.W.weight.T.reshape(3, 2, 2, 2))
