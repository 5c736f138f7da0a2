"""CEMA by its definition, and the values that it begins with."""

from __future__ import annotations

import cmath
import math

import torch

from nerode.models.parts.complex_moving_average import ComplexMovingAverage


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_gate_write_and_read() -> None:
    torch.manual_seed(0)
    average = ComplexMovingAverage(3, 4).double()
    torch.nn.init.normal_(average.gamma)
    average.requires_grad_(False)
    system = average.discrete()
    for channel in range(3):
        for n in range(4):
            alpha, delta = (sigmoid(float(w[channel, n])) for w in (average.alpha, average.delta))
            angle = (n + 1) * 2 * math.pi / 4 * sigmoid(float(average.theta[channel]))
            gate = (1 - alpha * delta) * cmath.exp(1j * angle)
            gamma = complex(*average.gamma[channel, n].tolist()) / 2
            assert cmath.isclose(complex(system.gate[channel, n]), gate, rel_tol=1e-12)
            assert cmath.isclose(complex(system.write[channel, n]), alpha, rel_tol=1e-12)
            assert cmath.isclose(complex(system.read[channel, n]), gamma, rel_tol=1e-12)


def test_it_begins_with_angles_on_a_logarithmic_scale_and_a_real_reading() -> None:
    torch.manual_seed(0)
    average = ComplexMovingAverage(64, 16).requires_grad_(False)
    shares = torch.sort(average.theta.sigmoid()).values
    wanted = torch.exp(-torch.arange(64, 0, -1) * math.log(64) / 64)
    torch.testing.assert_close(shares, wanted, rtol=1e-4, atol=1e-5)
    assert not average.gamma[..., 1].any()
    assert abs(float(average.gamma[..., 0].std()) - 1) < 0.1
    assert abs(float(average.alpha.std()) - 0.2) < 0.02
