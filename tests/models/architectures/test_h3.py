"""H3 by its definition: a real shift register, a diagonal model for each pair of features of a head."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from nerode.core import InputError
from nerode.models.architectures.h3 import H3, H3Settings
from tests.models.architectures.peers import features


def layer(width: int, **settings: Any) -> H3:
    torch.manual_seed(0)
    made = H3(width, H3Settings(**settings)).double().requires_grad_(False)
    made.shift_write.add_(0.5 * torch.randn_like(made.shift_write))
    return made


def linear(module: torch.nn.Linear, x: np.ndarray) -> np.ndarray:
    return module.weight.numpy() @ x + module.bias.numpy()


@pytest.mark.parametrize("head", [1, 2, 4])
def test_the_definition(head: int) -> None:
    made = layer(4, states=6, shift_states=5, head_width=head)
    x = features(1, 45, 4)
    y, _ = made(x)
    heads, shifts = 4 // head, 5
    rate = (-made.ssm.log_decay.exp() + 1j * made.ssm.frequency).numpy()
    step = made.ssm.log_step.exp().numpy()[:, None]
    gate = (1 + step * rate / 2) / (1 - step * rate / 2)
    write = step / (1 - step * rate / 2) * torch.view_as_complex(made.ssm.B).numpy()
    read = torch.view_as_complex(made.ssm.C).numpy()
    register = np.zeros((4, shifts))
    h = np.zeros((heads, head, head, 3), dtype=complex)
    for t in range(45):
        xt = x[0, t].numpy()
        q, k, v = (linear(m, xt) for m in (made.q, made.k, made.v))
        register = np.concatenate([np.zeros((4, 1)), register[:, :-1]], axis=1)
        register = register + made.shift_write.numpy() * k[:, None]
        k = (made.shift_read.numpy() * register).sum(1) + made.shift_skip.numpy() * k
        out = np.zeros(4)
        for number in range(heads):
            for i in range(head):
                for j in range(head):
                    product = k[number * head + i] * v[number * head + j]
                    h[number, i, j] = gate[number] * h[number, i, j] + write[number] * product
                    value = 2 * (read[number] * h[number, i, j]).sum().real + made.D[number].item() * product
                    out[number * head + j] += q[number * head + i] * value
        np.testing.assert_allclose(y[0, t], linear(made.out, out), rtol=1e-9, atol=1e-10)


def test_the_shift_begins_as_a_plain_convolution() -> None:
    torch.manual_seed(0)
    made = H3(6, H3Settings(states=16)).requires_grad_(False)
    assert made.shift_write[:, 0].eq(1).all()
    assert not made.shift_write[:, 1:].any()
    assert 0.2 < made.shift_read.abs().max() <= 16**-0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"states": 3}, "conjugates"),
        ({"head_width": 0}, "head_width"),
        ({"shift_states": 0}, "shift_states"),
        ({"smallest_step": -1.0}, "step sizes"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        H3Settings(**settings)


def test_heads_divide_the_width() -> None:
    with pytest.raises(InputError, match="divides 6"):
        H3(6, H3Settings(head_width=4))
