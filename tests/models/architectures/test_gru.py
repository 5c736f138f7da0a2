"""The GRU layer beside torch's, and its first published form beside its formula."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nerode.core import InputError
from nerode.models.architectures.gru import Gru, GruSettings
from tests.models.architectures.peers import assert_same_as_peer, features


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_torch_gives_the_same(dtype: torch.dtype) -> None:
    assert_same_as_peer("torch-gru", dtype)


@pytest.mark.parametrize("recurrent_bias", [False, True])
def test_the_first_published_form_is_its_formula(recurrent_bias: bool) -> None:
    layer = Gru(4, GruSettings(hidden=3, reset_after=False, recurrent_bias=recurrent_bias)).double()
    x = features(1, 6, 4)

    def sigmoid(v):  # type: ignore[no-untyped-def]
        return 1 / (1 + np.exp(-v))

    w, u, b = (p.detach().numpy() for p in (layer.read.weight, layer.recurrent, layer.read.bias))
    if layer.recurrent_bias is not None:
        b = b + layer.recurrent_bias.detach().numpy()
    h = np.zeros(3)
    for given in x[0].numpy():
        a = w @ given + b
        r, z = sigmoid(a[:3] + u[:3] @ h), sigmoid(a[3:6] + u[3:6] @ h)
        h = z * h + (1 - z) * np.tanh(a[6:] + u[6:] @ (r * h))
    np.testing.assert_allclose(layer(x)[1]["h"][0].detach().numpy(), h, atol=1e-12)


def test_the_forms_differ() -> None:
    torch.manual_seed(0)
    after = Gru(4, GruSettings())
    before = Gru(4, GruSettings(reset_after=False))
    before.load_state_dict(after.state_dict())
    x = features(2, 5, 4, dtype=torch.float32)
    assert not torch.allclose(after(x)[0], before(x)[0], atol=1e-3)


def test_no_units_are_refused() -> None:
    with pytest.raises(InputError, match="hidden is -1"):
        GruSettings(hidden=-1)


@pytest.mark.parametrize("reset_after", [False, True])
def test_a_cap_bounds_the_share_that_is_kept(reset_after: bool) -> None:
    torch.manual_seed(0)
    settings = GruSettings(
        hidden=3, reset_after=reset_after, recurrent_bias=False, cap=0.5, learned_start=True
    )
    layer = Gru(4, settings).double()
    with torch.no_grad():
        layer.start.fill_(0.7)
    x = features(2, 6, 4)
    outputs, _ = layer(x)
    torch.testing.assert_close(outputs, layer.reference(x)[0], rtol=0, atol=1e-14)
    with torch.no_grad():
        layer.read.bias[3:6] = 100.0  # z = cap
        layer.read.weight[6:], layer.recurrent[6:], layer.read.bias[6:] = 0.0, 0.0, 0.0  # n = 0
    kept, _ = layer(x)
    torch.testing.assert_close(kept[0, :, 0], 0.7 * 0.5 ** torch.arange(1.0, 7.0, dtype=torch.float64))


def test_a_cap_of_one_changes_nothing_and_gradients_of_another_are_right() -> None:
    torch.manual_seed(0)
    plain, capped = Gru(2, GruSettings(hidden=2)).double(), Gru(2, GruSettings(hidden=2, cap=0.9)).double()
    capped.load_state_dict(plain.state_dict())
    x = features(1, 3, 2).requires_grad_()
    assert not torch.allclose(plain(x)[0], capped(x)[0], atol=1e-6)
    assert torch.autograd.gradcheck(lambda v: capped(v)[0], (x,))


@pytest.mark.parametrize("cap", [0.0, 1.5, -1.0])
def test_a_cap_that_is_no_share_is_refused(cap: float) -> None:
    with pytest.raises(InputError, match="cap is"):
        GruSettings(cap=cap)
