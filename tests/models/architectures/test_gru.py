"""The GRU layer beside torch's, and its first published form beside its formula."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nerode.core.errors import InputError
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
