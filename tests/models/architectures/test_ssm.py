"""The state space model of the n-gram paper: its window, its decay, its readouts."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from nerode.core import InputError
from nerode.models.architectures.ssm import Ssm, SsmSettings
from tests.models.architectures.peers import features


def layer(**settings: Any) -> Ssm:
    torch.manual_seed(0)
    return Ssm(3, SsmSettings(**settings)).double().requires_grad_(False)


def test_readouts() -> None:
    x = features(2, 5, 3)
    for readout in ("relu", "linear", "none"):
        made = layer(states=7, readout=readout)
        y, _ = made(x)
        h = torch.zeros(2, 7, dtype=torch.float64)
        for t in range(5):
            h = h @ made.A.T + x[:, t] @ made.B.T
            wanted = {
                "relu": lambda h=h, m=made: (h + m.bias).clamp(min=0) @ m.C.T,
                "linear": lambda h=h, m=made: h @ m.C.T,
                "none": lambda h=h: h,
            }[readout]()
            torch.testing.assert_close(y[:, t], wanted, rtol=1e-10, atol=1e-10)
        assert made.outputs == y.shape[2]


@pytest.mark.parametrize(("states", "window"), [(9, 3), (10, 3), (4, None), (5, 1), (3, 8)])
def test_a_nilpotent_matrix_sees_a_window(states: int, window: int | None) -> None:
    """Proposition 4.6 of the paper: if A^n = 0, an output depends on the last n inputs."""
    made = layer(states=states, matrix="nilpotent", window=window, readout="linear")
    order = min(window or states, states)
    A = made.transition_matrix()
    assert not torch.linalg.matrix_power(A, order).any()
    assert order == 1 or torch.linalg.matrix_power(A, order - 1).any()
    x, other = features(1, 20, 3), features(1, 20, 3, seed=2)
    last, _ = made(x)
    for kept in range(1, 12):
        changed, _ = made(torch.cat([other[:, : 20 - kept], x[:, 20 - kept :]], dim=1))
        assert torch.equal(changed[:, -1], last[:, -1]) == (kept >= order)


def test_a_decayed_matrix_has_a_bounded_norm() -> None:
    made = layer(states=12, matrix="decayed", decay=0.8)
    made.A.mul_(50)
    norm = torch.linalg.svdvals(made.transition_matrix())[0]
    torch.testing.assert_close(norm, torch.tensor(0.8, dtype=torch.float64))
    made.A.mul_(1e-4)
    torch.testing.assert_close(made.transition_matrix(), 0.8 * made.A)


def test_weights_begin_within_their_bound() -> None:
    made = layer(states=100)
    for weight in made.parameters():
        assert 0.09 < weight.abs().max() <= 0.1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"states": 0}, "states"),
        ({"outputs": 0}, "outputs"),
        ({"matrix": "nilpotent", "window": 0}, "window"),
        ({"window": 3}, "nilpotent"),
        ({"decay": 0.0}, "decay"),
        ({"decay": 1.5}, "decay"),
        ({"readout": "none", "outputs": 2}, "readout"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SsmSettings(**settings)
