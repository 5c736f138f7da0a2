"""The HiPPO matrix by its definition, and its normal form by putting it together again."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from nerode.models.parts.hippo import legendre_matrices, legendre_normal_form


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
