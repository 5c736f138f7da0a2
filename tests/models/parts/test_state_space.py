"""Steps against scipy: the matrix exponential and its bilinear rule."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
import scipy.signal
import torch
from torch import nn
from torch.nn.functional import gelu

from nerode.core import InputError
from nerode.models.parts.state_space import (
    Readout,
    add_weight,
    bilinear_matrix,
    discretise,
    draw_log_steps,
    legendre_matrices,
    legendre_normal_form,
    require_steps,
)


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


@pytest.mark.parametrize("states", [1, 2, 7])
def test_entries(states: int) -> None:
    A, B = legendre_matrices(states)
    for n in range(states):
        assert math.isclose(float(B[n]), math.sqrt(2 * n + 1))
        for k in range(states):
            entry = -math.sqrt((2 * n + 1) * (2 * k + 1)) if n > k else (-(n + 1) if n == k else 0)
            assert math.isclose(float(A[n, k]), entry)


@pytest.mark.parametrize("states", [2, 8, 64])
def test_the_normal_form_is_the_same_system(states: int) -> None:
    A, B = (m.numpy() for m in legendre_matrices(states))
    rate, P, turned, V = (m.numpy() for m in legendre_normal_form(states))
    every = np.concatenate([V, V.conj()], axis=1)
    np.testing.assert_allclose(every.conj().T @ every, np.eye(states), atol=1e-10)
    P = np.concatenate([P, P.conj()])
    diagonal = np.diag(np.concatenate([rate, rate.conj()]))
    again = every @ (diagonal - np.outer(P, P.conj())) @ every.conj().T
    np.testing.assert_allclose(again, A, atol=1e-9 * states**2)
    np.testing.assert_allclose(every @ np.concatenate([turned, turned.conj()]), B, atol=1e-10)


def test_rates_lie_on_one_line_in_order() -> None:
    rate = legendre_normal_form(16)[0]
    assert torch.equal(rate.real, torch.full((8,), -0.5, dtype=torch.float64))
    assert (rate.imag > 0).all()
    assert (rate.imag.diff() > 0).all()


def test_large_imaginary_parts_follow_the_law_that_s4d_inv_is_made_from() -> None:
    states = 64
    largest = float(legendre_normal_form(states)[0].imag[-1])
    assert math.isclose(largest, states / math.pi * (states - 1), rel_tol=0.05)


def test_linear_and_none() -> None:
    torch.manual_seed(0)
    y = torch.randn(2, 3, 4)
    linear = Readout(4, 5, activation=True, mixing="linear")
    torch.testing.assert_close(linear(y), gelu(y) @ linear.mixing.weight.T + linear.mixing.bias)
    nothing = Readout(4, 4, activation=False, mixing="none")
    assert torch.equal(nothing(y), y)
    assert not list(nothing.parameters())


def test_glu_multiplies_one_half_by_the_gates_of_the_other() -> None:
    torch.manual_seed(0)
    y = torch.randn(2, 3, 4)
    gated = Readout(4, 5, activation=False, mixing="glu")
    both = y @ gated.mixing[0].weight.T + gated.mixing[0].bias
    assert gated(y).shape == (2, 3, 5)
    torch.testing.assert_close(gated(y), both[..., :5] / (1 + torch.exp(-both[..., 5:])))


def test_a_learned_weight_is_trained_and_a_fixed_one_only_saved() -> None:
    module = nn.Module()
    add_weight(module, "learned", torch.ones(2), learned=True)
    add_weight(module, "fixed", torch.ones(3), learned=False)
    assert [name for name, _ in module.named_parameters()] == ["learned"]
    assert set(module.state_dict()) == {"learned", "fixed"}
