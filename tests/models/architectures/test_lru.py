"""LRU: its ring, its normalisation, its equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from nerode.core import InputError
from nerode.models.architectures.lru import Lru, LruSettings
from tests.models.architectures.peers import features


def layer(width: int, **settings: Any) -> Lru:
    torch.manual_seed(0)
    return Lru(width, LruSettings(**settings)).double().requires_grad_(False)


def test_the_equations() -> None:
    made = layer(3, states=5, activation=False, mixing="none")
    x = features(2, 40, 3)
    y, state = made(x)
    gate = np.exp(-np.exp(made.log_decay.numpy()) + 1j * np.exp(made.log_angle.numpy()))
    B, C = (torch.view_as_complex(w).numpy() for w in (made.B, made.C))
    h = np.zeros((2, 5), dtype=complex)
    for t in range(40):
        xt = x[:, t].numpy()
        h = gate * h + np.exp(made.log_scale.numpy()) * (xt @ B.T)
        np.testing.assert_allclose(y[:, t], (h @ C.T).real + made.D.numpy() * xt, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(state["h"], h, rtol=1e-10, atol=1e-10)


def test_the_ring_is_filled_evenly() -> None:
    made = layer(2, states=20_000, inner_radius=0.6, outer_radius=0.95, largest_angle=0.3)
    gate = made.transition(torch.zeros(1, 1, 2)).gate[0, 0]
    radius, angle = gate.abs(), gate.angle()
    assert 0.6 - 1e-6 <= radius.min() < 0.601
    assert 0.949 < radius.max() <= 0.95 + 1e-6
    assert angle.min() > 0
    assert 0.299 < angle.max() <= 0.3 + 1e-6
    # Evenly over the area: half of the area lies inside the radius whose square is in the middle.
    middle = ((0.6**2 + 0.95**2) / 2) ** 0.5
    assert abs(float((radius < middle).double().mean()) - 0.5) < 0.02
    torch.testing.assert_close(made.log_scale.exp(), (1 - radius**2).sqrt(), rtol=1e-5, atol=1e-6)


def test_states_begin_of_size_one() -> None:
    made = layer(16, states=64, inner_radius=0.9, outer_radius=0.99)
    x = features(8, 2000, 16)
    _, state = made(x)
    # |B x|² is 1 on average over B and x, so |h|² is γ²/(1 - |λ|²) = 1.
    assert 0.7 < state["h"].abs().square().mean().item() < 1.4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"states": 0}, "states"),
        ({"inner_radius": 0.9, "outer_radius": 0.5}, "ring"),
        ({"outer_radius": 1.1}, "ring"),
        ({"largest_angle": 0.0}, "angle"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LruSettings(**settings)
