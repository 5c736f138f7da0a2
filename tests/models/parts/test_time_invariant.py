"""Systems in chunks against the sums that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from nerode.models.parts.time_invariant import (
    CHUNK,
    WHOLE,
    dense_system,
    diagonal_system,
    finite_convolution,
    gate_powers,
)

LENGTHS = (1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, WHOLE, WHOLE + 1, WHOLE + CHUNK, WHOLE + CHUNK + 5)


def draw(*shape: int, complex_too: bool = False, seed: int = 0) -> torch.Tensor:
    dtype = torch.complex128 if complex_too else torch.float64
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.mark.parametrize("time", LENGTHS)
def test_diagonal_system_is_a_sum_over_the_past(time: int) -> None:
    x, state = draw(2, time, 3), draw(2, 3, 4, complex_too=True)
    gate = torch.polar(torch.rand(3, 4, dtype=torch.float64), 6 * torch.rand(3, 4, dtype=torch.float64))
    write, read = draw(3, 4, complex_too=True, seed=1), draw(3, 4, complex_too=True, seed=2)
    y, last = diagonal_system(x, gate, write, read, state)
    a, b, c, xs, h0 = (t.numpy() for t in (gate, write, read, x, state))
    for t in range(time):
        h = a ** (t + 1) * h0 + sum(a ** (t - s) * b * xs[:, s, :, None] for s in range(t + 1))
        np.testing.assert_allclose(y[:, t].numpy(), (c * h).sum(-1).real, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(last.numpy(), h, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("time", LENGTHS)
def test_no_state_is_the_zero_state(time: int) -> None:
    x = draw(2, time, 3)
    weights = [0.9 * draw(3, 4, complex_too=True, seed=s) / 4 for s in range(3)]
    nothing = diagonal_system(x, *weights)
    zero = diagonal_system(x, *weights, torch.zeros(2, 3, 4, dtype=torch.complex128))
    for mine, other in zip(nothing, zero, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("time", LENGTHS)
def test_dense_system_is_a_sum_over_the_past(time: int) -> None:
    x, state = draw(2, time, 3), draw(2, 3, 5)
    matrix, write, read = 0.3 * draw(3, 5, 5), draw(3, 5, seed=1), draw(3, 2, 5, seed=2)
    y, last = dense_system(x, matrix, write, read, state)
    assert y.shape == (2, time, 3, 2)
    for channel in range(3):
        a, b, c = (t[channel].numpy() for t in (matrix, write, read))
        powers = [np.linalg.matrix_power(a, k) for k in range(time + 1)]
        for row in range(2):
            xs, h0 = x[row, :, channel].numpy(), state[row, channel].numpy()
            for t in range(time):
                h = powers[t + 1] @ h0 + sum(powers[t - s] @ b * xs[s] for s in range(t + 1))
                np.testing.assert_allclose(y[row, t, channel].numpy(), c @ h, rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(last[row, channel].numpy(), h, rtol=1e-10, atol=1e-10)


@settings(max_examples=30, deadline=None)
@given(time=st.integers(1, 80), size=st.integers(1, 40), seed=st.integers(0, 100))
def test_finite_convolution_is_numpys(time: int, size: int, seed: int) -> None:
    seen, kernel = draw(2, time + size - 1, 3, seed=seed), draw(3, size, seed=seed + 1)
    y = finite_convolution(seen, kernel)
    for row in range(2):
        for channel in range(3):
            wanted = np.convolve(seen[row, :, channel], kernel[channel], mode="valid")
            np.testing.assert_allclose(y[row, :, channel], wanted, rtol=1e-10, atol=1e-10)


def test_powers_of_fourth_roots_of_unity_are_exact() -> None:
    roots = torch.tensor([[1, 1j, -1, -1j]])
    powers = gate_powers(roots, 37)
    assert powers.shape == (1, 4, 38)
    for k in range(38):
        assert torch.equal(powers[0, :, k], roots[0][torch.arange(4) * k % 4])
