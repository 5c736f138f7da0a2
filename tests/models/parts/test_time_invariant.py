"""Systems in chunks against the sums that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from nerode.models.parts import time_invariant as module
from nerode.models.parts.time_invariant import (
    CHUNK,
    DENSE_CHUNK,
    FEW,
    LONG,
    WHOLE,
    dense_states,
    dense_system,
    diagonal_system,
    finite_convolution,
    gate_powers,
)

LENGTHS = (
    1,
    2,
    CHUNK - 1,
    CHUNK,
    CHUNK + 1,
    2 * CHUNK,
    WHOLE,
    WHOLE + 1,
    WHOLE + CHUNK,
    WHOLE + CHUNK + 5,
)


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


@pytest.fixture(params=["kernel", "plain"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "plain":
        monkeypatch.setattr(module, "runs_natively", lambda *_: False)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "time", [1, 2, 17, LONG - 1, LONG, LONG + 1, LONG + DENSE_CHUNK, LONG + DENSE_CHUNK + 3]
)
def test_states_are_sums_of_powers(time: int) -> None:
    generator = np.random.default_rng(time)
    A = generator.normal(size=(3, 3)) * 0.5
    u, h0 = generator.normal(size=(2, time, 3)), generator.normal(size=(2, 3))
    found = dense_states(*(torch.from_numpy(m) for m in (A, u, h0))).numpy()
    powers = [np.linalg.matrix_power(A, k) for k in range(time + 1)]
    for t in range(time):
        wanted = h0 @ powers[t + 1].T + sum(u[:, s] @ powers[t - s].T for s in range(t + 1))
        np.testing.assert_allclose(found[:, t], wanted, rtol=1e-9, atol=1e-9)


def test_both_ways_are_taken_and_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    monkeypatch.setattr(module, "runs_natively", lambda *_: False)
    for name in ("_loop", "_in_chunks"):
        original = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, n=name, f=original: (taken.append(n), f(*a))[1])
    matrix = torch.randn(4, 4, dtype=torch.float64) / 4
    few = torch.randn(2, LONG, 4, dtype=torch.float64)
    many = few.repeat(FEW, 1, 1)
    in_chunks = dense_states(matrix, few, torch.zeros(2, 4, dtype=torch.float64))
    assert taken[0] == "_in_chunks"
    taken.clear()
    looped = dense_states(matrix, many, torch.zeros(2 * FEW, 4, dtype=torch.float64))
    assert taken == ["_loop"]
    torch.testing.assert_close(in_chunks, looped[:2], rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("way")
def test_whole_numbers_stay_exact_in_every_order() -> None:
    matrix = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    inputs = torch.randint(-5, 6, (1, LONG + 9, 3)).float()
    states = dense_states(matrix, inputs, torch.zeros(1, 3))
    state = torch.zeros(1, 3)
    for t in range(LONG + 9):
        state = state @ matrix.T + inputs[:, t]
        assert torch.equal(states[:, t], state)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_power_that_overflows_does_not_reach_a_state_that_it_does_not_move(dtype: torch.dtype) -> None:
    growth = torch.finfo(dtype).max ** (1 / (DENSE_CHUNK - 1))
    matrix = torch.tensor([[growth, 0.0], [0.0, 0.5]], dtype=dtype)
    inputs = torch.zeros(1, LONG, 2, dtype=dtype)
    inputs[:, :, 1] = 1
    states = dense_states(matrix, inputs, torch.zeros(1, 2, dtype=dtype))
    assert not states[..., 0].any()
    assert states[0, -1, 1] == 2
