"""The dense recurrence, by a loop and in chunks, against powers of its matrix."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nerode.models.parts import dense as module
from nerode.models.parts.dense import CHUNK, FEW, LONG, dense_states


@pytest.mark.parametrize("time", [1, 2, 17, LONG - 1, LONG, LONG + 1, LONG + CHUNK, LONG + CHUNK + 3])
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


def test_whole_numbers_stay_exact_in_every_order() -> None:
    matrix = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    inputs = torch.randint(-5, 6, (1, LONG + 9, 3)).float()
    states = dense_states(matrix, inputs, torch.zeros(1, 3))
    state = torch.zeros(1, 3)
    for t in range(LONG + 9):
        state = state @ matrix.T + inputs[:, t]
        assert torch.equal(states[:, t], state)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_power_that_overflows_does_not_reach_a_state_that_it_does_not_move(dtype: torch.dtype) -> None:
    growth = torch.finfo(dtype).max ** (1 / (CHUNK - 1))
    matrix = torch.tensor([[growth, 0.0], [0.0, 0.5]], dtype=dtype)
    inputs = torch.zeros(1, LONG, 2, dtype=dtype)
    inputs[:, :, 1] = 1
    states = dense_states(matrix, inputs, torch.zeros(1, 2, dtype=dtype))
    assert not states[..., 0].any()
    assert states[0, -1, 1] == 2
