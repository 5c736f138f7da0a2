"""Steps against scipy: the matrix exponential and its bilinear rule."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
import scipy.signal
import torch

from nerode.core import InputError
from nerode.models.parts.discretisation import bilinear_matrix, discretise, draw_log_steps, require_steps


def test_zoh_is_the_matrix_exponential() -> None:
    rate = torch.tensor([[-0.5 + 3j, -1 - 2j], [-0.01 + 0j, 2j]], dtype=torch.complex128)
    step = torch.tensor([0.1, 0.7], dtype=torch.float64)
    gate, factor = discretise(rate, step, "zoh")
    for channel in range(2):
        for state in range(2):
            both = np.array([[complex(rate[channel, state]), 1], [0, 0]]) * float(step[channel])
            exponential = scipy.linalg.expm(both)
            np.testing.assert_allclose(complex(gate[channel, state]), exponential[0, 0], rtol=1e-13)
            np.testing.assert_allclose(complex(factor[channel, state]), exponential[0, 1], rtol=1e-13)


def test_bilinear_is_scipys() -> None:
    rate = torch.tensor([[-0.5 + 3j, -1 - 2j]], dtype=torch.complex128)
    gate, factor = discretise(rate, torch.tensor([0.3], dtype=torch.float64), "bilinear")
    one = np.ones((1, 1))
    for state in range(2):
        system = (one * complex(rate[0, state]), one, one, 0 * one)
        A, B, *_ = scipy.signal.cont2discrete(system, 0.3, method="bilinear")
        np.testing.assert_allclose(complex(gate[0, state]), A[0, 0], rtol=1e-13)
        np.testing.assert_allclose(complex(factor[0, state]), B[0, 0], rtol=1e-13)


def test_a_rate_of_zero_adds_up_its_inputs() -> None:
    rate = torch.zeros(1, 1, dtype=torch.complex128, requires_grad=True)
    step = torch.tensor([0.25], dtype=torch.float64)
    gate, factor = discretise(rate, step, "zoh")
    assert gate.item() == 1
    assert factor.item() == 0.25
    # ∂/∂λ of (e^{λΔ} - 1)/λ at 0 is Δ²/2.
    (gradient,) = torch.autograd.grad(factor.real.sum(), rate)
    assert complex(gradient) == 0.25**2 / 2


def test_bilinear_matrix_is_scipys() -> None:
    generator = np.random.default_rng(0)
    A, B = generator.normal(size=(4, 4)), generator.normal(size=4)
    steps = torch.tensor([0.01, 0.4], dtype=torch.float64)
    matrices, writes = bilinear_matrix(torch.from_numpy(A), torch.from_numpy(B), steps)
    for number, step in enumerate(steps.tolist()):
        system = (A, B[:, None], np.eye(4), np.zeros((4, 1)))
        wanted, write, *_ = scipy.signal.cont2discrete(system, step, method="bilinear")
        np.testing.assert_allclose(matrices[number], wanted, rtol=1e-10)
        np.testing.assert_allclose(writes[number], write[:, 0], rtol=1e-10)


def test_step_sizes_are_drawn_in_their_range() -> None:
    torch.manual_seed(0)
    logs = draw_log_steps(10_000, 1e-3, 0.1)
    assert logs.min() >= math.log(1e-3) - 1e-6
    assert logs.max() <= math.log(0.1) + 1e-6
    assert abs(float(logs.mean()) - math.log(1e-2)) < 0.05


@pytest.mark.parametrize(("smallest", "largest"), [(0, 1), (-1, 1), (0.2, 0.1), (0.1, math.inf)])
def test_wrong_step_sizes(smallest: float, largest: float) -> None:
    with pytest.raises(InputError, match="step sizes"):
        require_steps(smallest, largest)
