"""LSSL against scipy's bilinear rule, and against S4, which is the same system in another basis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.signal
import torch

from nerode.core import InputError
from nerode.models.architectures.lssl import Lssl, LsslSettings
from nerode.models.architectures.s4 import S4, S4Settings
from nerode.models.parts.state_space import legendre_matrices, legendre_normal_form
from tests.models.architectures.peers import features

PLAIN = {"skip": False, "activation": False, "mixing": "none"}


def layer(width: int, **settings: Any) -> Lssl:
    torch.manual_seed(0)
    made = Lssl(width, LsslSettings(**settings)).double().requires_grad_(False)
    A, B = legendre_matrices(made.settings.states)
    made.A.copy_(A)
    made.B.copy_(B)
    return made


def test_outputs_are_those_of_scipys_system() -> None:
    made = layer(2, states=6, channels=3, **PLAIN)
    x = features(1, 50, 2)
    y = made(x)[0].view(1, 50, 2, 3)
    A, B = (m.numpy() for m in legendre_matrices(6))
    for channel in range(2):
        system = (A, B[:, None], made.C[channel].numpy(), np.zeros((3, 1)))
        Ad, Bd, *_ = scipy.signal.cont2discrete(
            system, made.log_step[channel].exp().item(), method="bilinear"
        )
        h = np.zeros(6)
        for t in range(50):
            h = Ad @ h + Bd[:, 0] * x[0, t, channel].item()
            np.testing.assert_allclose(y[0, t, channel], made.C[channel].numpy() @ h, rtol=1e-9, atol=1e-11)


def test_s4_is_the_same_system_in_another_basis() -> None:
    states = 16
    dense = layer(3, states=states, **PLAIN)
    factored = S4(3, S4Settings(states=states, **PLAIN)).double().requires_grad_(False)
    rate, P, B, V = legendre_normal_form(states)
    factored.log_step.copy_(dense.log_step)
    factored.log_decay.fill_(np.log(0.5))
    factored.frequency.copy_(rate.imag)
    factored.P.copy_(torch.view_as_real(P))
    factored.B.copy_(torch.view_as_real(B))
    factored.C.copy_(torch.view_as_real((dense.C[:, 0] + 0j) @ V))
    x = features(2, 90, 3)
    torch.testing.assert_close(dense(x)[0], factored(x)[0], rtol=1e-9, atol=1e-9)


def test_what_is_trained() -> None:
    fixed = dict(Lssl(2, LsslSettings()).named_parameters())
    assert set(fixed) == {"C", "D", "readout.mixing.weight", "readout.mixing.bias"}
    free = dict(Lssl(2, LsslSettings(learned_matrix=True, learned_steps=True)).named_parameters())
    assert set(free) - set(fixed) == {"A", "B", "log_step"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"states": 0}, "states"), ({"channels": 0}, "channels"), ({"largest_step": 0.0}, "step")],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LsslSettings(**settings)
