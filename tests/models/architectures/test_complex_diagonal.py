"""The complex diagonal layer: its recurrence by hand, its gates, and counting modulo n."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from nerode.core import InputError
from nerode.models.architectures.complex_diagonal import ComplexDiagonal, ComplexDiagonalSettings
from tests.models.architectures.peers import features


def layer(width: int, dtype: torch.dtype = torch.float64, **settings: Any) -> ComplexDiagonal:
    torch.manual_seed(0)
    return ComplexDiagonal(width, ComplexDiagonalSettings(**settings)).to(dtype)


def test_the_recurrence_in_real_numbers() -> None:
    made = layer(3, states=2)
    x = features(1, 6, 3)
    a, b = torch.zeros(2, 2, dtype=torch.float64).unbind()
    assert made.C is not None
    assert made.D is not None
    assert made.radius is not None
    outputs = []
    for t in range(6):
        r = 1 / (1 + torch.exp(-(made.radius.weight @ x[0, t] + made.radius.bias)))
        turn = made.angle.weight @ x[0, t] + made.angle.bias
        write = (made.write.weight @ x[0, t] + made.write.bias).view(2, 2)
        a, b = (
            r * (turn.cos() * a - turn.sin() * b) + write[:, 0],
            r * (turn.sin() * a + turn.cos() * b) + write[:, 1],
        )
        outputs.append(made.C[..., 0] @ a - made.C[..., 1] @ b + made.D * x[0, t])
    torch.testing.assert_close(made(x)[0][0], torch.stack(outputs), rtol=1e-12, atol=1e-12)


def test_radii_begin_near_one() -> None:
    gates = layer(200).transition(torch.zeros(1, 1, 200, dtype=torch.float64)).gate
    assert 0.9 <= gates.abs().min() < 0.91
    assert 0.99 < gates.abs().max() <= 0.9991
    assert gates.angle().min() < -3
    assert gates.angle().max() > 3


@pytest.mark.parametrize("radius", ["sigmoid", "clamp", "one"])
def test_gates_lie_in_the_unit_disk(radius: str) -> None:
    sizes = layer(6, radius=radius).transition(30 * features(4, 50, 6)).gate.abs()
    assert sizes.max() <= 1 + 1e-15
    if radius == "one":
        assert sizes.min() >= 1 - 1e-15
    if radius == "clamp":
        assert {0.0, 1.0} <= set(sizes.round(decimals=14).flatten().tolist())


@pytest.mark.parametrize("modulus", [2, 3, 5, 60])
def test_a_rotation_counts_modulo_n(modulus: int) -> None:
    made = layer(1, states=1, radius="one", readout=False, learned_start=True)
    with torch.no_grad():
        made.angle.weight.fill_(2 * math.pi / modulus)
        made.angle.bias.zero_()
        made.write.weight.zero_()
        made.write.bias.zero_()
        made.start.copy_(torch.tensor([[1.0, 0.0]]))  # type: ignore[union-attr]
        steps = torch.randint(modulus, (2, 3000, 1), generator=torch.Generator().manual_seed(0)).double()
        h, _ = made(steps)
    counted = torch.atan2(h[..., 1], h[..., 0]) * modulus / (2 * math.pi)
    expected = steps.cumsum(1)[..., 0] % modulus
    assert torch.equal(counted.round() % modulus, expected)


def test_the_state_keeps_32_bits_a_part() -> None:
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        y, state = layer(4, dtype)(features(1, 3, 4, dtype=dtype))
        assert (y.dtype, state["h"].dtype) == (dtype, torch.complex64)


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(InputError, match="states is 0"):
        ComplexDiagonalSettings(states=0)
