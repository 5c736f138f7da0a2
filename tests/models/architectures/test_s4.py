"""S4 against the dense matrices that its factors stand for, discretised by scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.signal
import torch

from nerode.core import InputError
from nerode.models.architectures.s4 import S4, S4Settings
from nerode.models.parts.state_space import legendre_matrices, legendre_normal_form

PLAIN = {"skip": False, "activation": False, "mixing": "none"}


def layer(width: int, *, shaken: bool, **settings: Any) -> S4:
    torch.manual_seed(0)
    made = S4(width, S4Settings(**settings)).double().requires_grad_(False)
    if shaken:
        for weight in made.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return made


def with_conjugates(values: torch.Tensor) -> np.ndarray:
    pairs = torch.view_as_complex(values).numpy()
    return np.concatenate([pairs, pairs.conj()], axis=-1)


def dense(made: S4, channel: int) -> tuple[np.ndarray, ...]:
    """A, B and C of one feature in continuous time, all conjugates written out."""
    rate = (-made.log_decay.exp() + 1j * made.frequency)[channel].numpy()
    P, B, C = (with_conjugates(w)[channel] for w in (made.P, made.B, made.C))
    return np.diag(np.concatenate([rate, rate.conj()])) - np.outer(P, P.conj()), B[:, None], C[None]


@pytest.mark.parametrize("shaken", [False, True])
def test_the_kernel_is_that_of_the_dense_system(shaken: bool) -> None:
    made = layer(3, shaken=shaken, states=8, **PLAIN)
    x = torch.zeros(1, 70, 3, dtype=torch.float64)
    x[:, 0] = 1
    found = made(x)[0][0].numpy()
    for channel in range(3):
        step = made.log_step[channel].exp().item()
        system = (*dense(made, channel), np.zeros((1, 1)))
        A, B, *_ = scipy.signal.cont2discrete(system, step, method="bilinear")
        C = system[2]
        for t in (0, 1, 2, 31, 32, 33, 69):
            wanted = (C @ np.linalg.matrix_power(A, t) @ B).item().real
            np.testing.assert_allclose(found[t, channel], wanted, rtol=1e-9, atol=1e-11)


def test_the_transition_has_the_eigenvalues_of_the_dense_system() -> None:
    made = layer(2, shaken=True, states=6, **PLAIN)
    found = made.transition(torch.zeros(1, 1, 2)).eigenvalues()[0, 0]
    for channel in range(2):
        half = made.log_step[channel].exp().item() / 2
        slow = np.linalg.eigvals(dense(made, channel)[0])
        wanted = np.poly((1 + half * slow) / (1 - half * slow))
        np.testing.assert_allclose(np.poly(found[channel].numpy()), wanted, atol=1e-9)


def test_it_begins_as_hippo() -> None:
    made = layer(2, shaken=False, states=16)
    V = legendre_normal_form(16)[3].numpy()
    every = np.concatenate([V, V.conj()], axis=1)
    for mine, wanted in zip(dense(made, 1)[:2], legendre_matrices(16), strict=True):
        turned = every @ mine @ (every.conj().T if mine.shape[1] > 1 else np.eye(1))
        np.testing.assert_allclose(turned.squeeze(), wanted.numpy(), atol=1e-4)


@pytest.mark.parametrize(
    ("settings", "message"), [({"states": 5}, "conjugates"), ({"largest_step": 1e-5}, "step sizes")]
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        S4Settings(**settings)
