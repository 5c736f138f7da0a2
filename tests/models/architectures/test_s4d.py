"""S4D: the rates that it begins with, its kernel, its size, and a network that counts with it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import torch

from nerode.core import InputError
from nerode.models.architectures.s4d import S4d, S4dSettings
from nerode.models.config import ModelConfig
from nerode.models.model import build_model
from nerode.models.parts.state_space import legendre_matrices
from nerode.models.zoo import LayerConfig

PLAIN = {"skip": False, "activation": False, "mixing": "none"}


def layer(width: int, **settings: Any) -> S4d:
    torch.manual_seed(0)
    return S4d(width, S4dSettings(**settings)).double().requires_grad_(False)


def impulse_response(made: S4d, time: int) -> np.ndarray:
    x = torch.zeros(1, time, made.inputs, dtype=torch.float64)
    x[:, 0] = 1
    return made(x)[0][0].numpy()


def test_the_kernel_is_a_sum_of_exponentials() -> None:
    made = layer(3, states=6, **PLAIN)
    found = impulse_response(made, 170)
    rate = (-made.ssm.log_decay.exp() + 1j * made.ssm.frequency).numpy()
    C, step = torch.view_as_complex(made.ssm.C).numpy(), made.ssm.log_step.exp().numpy()
    for channel in range(3):
        for t in (0, 1, 31, 32, 33, 169):
            total = 0.0
            for n in range(3):
                for z, c in (
                    (rate[channel, n], C[channel, n]),
                    (rate[channel, n].conj(), C[channel, n].conj()),
                ):
                    both = scipy.linalg.expm(np.array([[z, 1], [0, 0]]) * step[channel])
                    total += (c * both[0, 0] ** t * both[0, 1]).real
            np.testing.assert_allclose(found[t, channel], total, rtol=1e-9, atol=1e-12)


def test_rates_at_the_beginning() -> None:
    n = torch.arange(4, dtype=torch.float64)
    assert torch.allclose(layer(2, states=8).ssm.frequency, math.pi * n)
    inverse = 8 / math.pi * (8 / (2 * n + 1) - 1)
    assert torch.allclose(layer(2, states=8, rates="inv").ssm.frequency, inverse)
    A, _ = legendre_matrices(8)
    P = torch.sqrt(torch.arange(8, dtype=torch.float64) + 0.5)
    imaginary = torch.linalg.eigvals(A + torch.outer(P, P)).imag
    legs = layer(2, states=8, rates="legs").ssm.frequency[1]
    assert torch.allclose(legs, imaginary[imaginary > 0].sort().values, rtol=1e-5)
    for rates in ("lin", "inv", "legs"):
        made = layer(2, states=8, rates=rates)
        assert torch.allclose(made.ssm.log_decay.exp(), torch.tensor(0.5, dtype=torch.float64))


def test_legs_approaches_hippo() -> None:
    """A large S4D-LegS remembers of a signal what HiPPO-LegS remembers of it."""
    states, time, step = 256, 60, 0.02
    made = layer(1, states=states, rates="legs", **PLAIN)
    made.ssm.log_step.fill_(math.log(step))
    A = legendre_matrices(states)[0].numpy()
    P = np.sqrt(np.arange(states) + 0.5)
    _, V = np.linalg.eigh(-1j * (A + np.outer(P, P) + 0.5 * np.eye(states)))
    first = V[:, states // 2 :][0]  # the first Legendre coefficient, read in the basis of the eigenvectors
    made.ssm.C.copy_(torch.view_as_real(torch.from_numpy(first))[None])
    x = torch.ones(1, time, 1, dtype=torch.float64)
    found = made(x)[0][0, -1, 0].item()
    # h' = A h + B: the first coefficient of HiPPO is 1 - e^{-t}, the average over an exponential window.
    wanted = 1 - math.exp(-time * step)
    assert abs(found - wanted) < 0.02


def test_distributions_at_the_beginning() -> None:
    made = layer(200)
    steps = made.ssm.log_step
    assert steps.min() >= math.log(1e-3) - 1e-6
    assert steps.max() <= math.log(0.1) + 1e-6
    assert abs(float(made.ssm.C.square().sum(-1).mean()) - 1) < 0.05
    assert abs(float(made.D.std()) - 1) < 0.15


@pytest.mark.parametrize(("width", "parameters"), [(8, 1225), (64, 16961)])
def test_sizes_of_the_counting_models(width: int, parameters: int) -> None:
    """Table 8 of [MemoryGeneralization]: one number in, one out, one S4D layer with a norm."""
    config = ModelConfig(layers=(LayerConfig(name="s4d"),), outputs=1, features=1, width=width)
    assert build_model(config).num_parameters == parameters


def test_readout_is_a_gated_map_of_gelu() -> None:
    made = layer(3, states=4)
    bare = layer(3, states=4, **PLAIN)
    bare.load_state_dict(made.state_dict(), strict=False)
    x = torch.randn(2, 5, 3, dtype=torch.float64)
    y = torch.nn.functional.gelu(bare(x)[0] + made.D * x)
    both = made.readout.mixing[0](y)
    torch.testing.assert_close(made(x)[0], both[..., :3] * both[..., 3:].sigmoid())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_one_complex_number_foretells_the_end_of_bursts(dtype: torch.dtype) -> None:
    """Appendix I of [MemoryGeneralization] in a real layer: h = e(1/n) h + (1 - e(1/n)) rest, from h = 1."""
    n, bursts = 5, 40
    made = S4d(1, S4dSettings(states=2, learned_start=True, learned_write=True, **PLAIN)).to(dtype)
    rate = 2j * math.pi / n
    with torch.no_grad():
        made.ssm.log_step.zero_()
        made.ssm.log_decay.fill_(-200.0)  # e^{-200} is no decay at all
        made.ssm.frequency.fill_(rate.imag)
        made.ssm.B.copy_(torch.view_as_real(torch.tensor([[-rate]], dtype=torch.complex128)))
        made.ssm.C.copy_(torch.tensor([[[0.5, 0.0]]]))
        made.start.copy_(torch.tensor([[[1.0, 0.0]]]))
    rest = torch.ones(1, 1, 1, dtype=dtype)
    word = torch.cat(
        [torch.cat([rest.repeat(1, k % 7 + 1, 1), 0 * rest.repeat(1, n, 1)], 1) for k in range(bursts)], 1
    )
    with torch.no_grad():
        y, _ = made(word)
    turns = 0
    for t in range(word.shape[1]):
        turns = 0 if word[0, t] == 1 else turns + 1
        tolerance = 1e-3 if dtype == torch.float32 else 1e-11
        assert abs(float(y[0, t, 0]) - math.cos(2 * math.pi * turns / n)) < tolerance


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"states": 3}, "conjugates"), ({"states": 0}, "conjugates"), ({"smallest_step": 0.0}, "step sizes")],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        S4dSettings(**settings)
