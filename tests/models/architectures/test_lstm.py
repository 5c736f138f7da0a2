"""The LSTM layer beside torch's."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from nerode.core import InputError
from nerode.models.architectures.lstm import Lstm, LstmSettings
from tests.models.architectures.peers import assert_same_as_peer, features
from tests.peers.comparison import all_peers


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_torch_gives_the_same(dtype: torch.dtype) -> None:
    assert_same_as_peer("torch-lstm", dtype)
    pair = all_peers()["torch-lstm"].pair(dtype=dtype)
    x = features(3, 11, pair.inputs, dtype=dtype)
    state = pair.ours(x)[1]
    for mine, other in zip((state["h"], state["c"]), pair.theirs(x)[1], strict=True):
        torch.testing.assert_close(mine, other[0])


def test_the_number_of_parameters_is_torchs() -> None:
    ours, peer = Lstm(3, LstmSettings(hidden=8, recurrent_bias=True)), nn.LSTM(3, 8)
    assert sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in peer.parameters())


def test_weights_are_drawn_as_torch_draws_them() -> None:
    for parameter in Lstm(3, LstmSettings(hidden=100)).parameters():
        assert 0.09 < parameter.abs().max() <= 0.1


@pytest.mark.parametrize("recurrent_bias", [False, True])
def test_the_forget_gate_starts_where_it_is_told(recurrent_bias: bool) -> None:
    layer = Lstm(3, LstmSettings(hidden=4, forget_bias=1.5, recurrent_bias=recurrent_bias))
    nothing = torch.zeros(1, 3)
    total = layer._project(nothing)[0]
    assert torch.equal(total[4:8], torch.full((4,), 1.5))
    assert (total[:4] != 1.5).all()
    assert (total[8:] != 1.5).all()


def test_a_learned_start_is_where_a_sequence_starts_and_gets_a_gradient() -> None:
    layer = Lstm(3, LstmSettings(hidden=2, learned_start=True))
    assert layer.start is not None
    with torch.no_grad():
        layer.start.copy_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    state = layer.initial_state(5)
    assert torch.equal(state["h"], torch.tensor([[1.0, 2.0]]).expand(5, 2))
    assert torch.equal(state["c"], torch.tensor([[3.0, 4.0]]).expand(5, 2))
    layer(features(5, 3, 3, dtype=torch.float32))[0].sum().backward()
    assert layer.start.grad is not None
    assert (layer.start.grad != 0).all()


def test_no_units_are_refused() -> None:
    with pytest.raises(InputError, match="hidden is 0"):
        LstmSettings(hidden=0)
