"""The sLSTM layer beside the authors' package and beside its formula without the stabiliser."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from nerode.core import InputError
from nerode.models.architectures.slstm import Slstm, SlstmSettings, forget_biases
from tests.models.architectures.peers import assert_same_pair, features
from tests.peers.libraries import pair_slstm

WIDTH, HEADS = 12, 3


def package_layer(convolution: int, **settings: Any) -> Any:
    from xlstm.blocks.slstm.layer import sLSTMLayer, sLSTMLayerConfig

    config = sLSTMLayerConfig(
        embedding_dim=WIDTH,
        num_heads=HEADS,
        conv1d_kernel_size=convolution,
        backend="vanilla",
        dtype="float32",
        recurrent_weight_init="standard",
        **settings,
    )
    layer = sLSTMLayer(config)
    layer.reset_parameters()
    return layer


@pytest.mark.parametrize("convolution", [0, 4])
def test_the_package_gives_the_same(convolution: int) -> None:
    torch.manual_seed(0)
    assert_same_pair(pair_slstm(dtype=torch.float64, length=19, convolution=convolution), torch.float64)


def test_weights_start_as_in_the_package() -> None:
    torch.manual_seed(0)
    for place, (index, blocks) in ((0.0, (0, 1)), (0.5, (1, 3)), (1.0, (2, 3))):
        peer = package_layer(0, _block_idx=index, _num_blocks=blocks)
        ours = Slstm(WIDTH, SlstmSettings(heads=HEADS, headwise=True, place=place))
        torch.testing.assert_close(ours.bias.flatten(), peer.slstm_cell._bias_)
    wide = Slstm(200, SlstmSettings())
    assert wide.read.std().item() == pytest.approx((2 / 1000) ** 0.5, rel=0.02)
    assert not wide.recurrent.any()
    assert forget_biases(1, 0.0).tolist() == [5.0]


def plain(layer: Slstm, x: Tensor, state: tuple[np.ndarray, ...]) -> np.ndarray:
    """h by the published equations, without a stabiliser; one head."""
    w, b, r = (p.detach().numpy() for p in (layer.read, layer.bias, layer.recurrent))
    h, c, n = state

    def sigmoid(v: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-v))

    for given in x[0].numpy():
        i, f, z, o = w @ given + b + (r[0] @ h).reshape(4, -1)
        forget = np.exp(f) if layer.settings.forget == "exp" else sigmoid(f)
        c = forget * c + np.exp(i) * np.tanh(z)
        n = forget * n + np.exp(i)
        h = sigmoid(o) * c / n
    return h


@pytest.mark.parametrize("forget", ["sigmoid", "exp"])
@pytest.mark.parametrize("start", [False, True])
def test_the_stabiliser_changes_nothing(forget: Any, start: bool) -> None:
    torch.manual_seed(0)
    settings = SlstmSettings(hidden=5, heads=1, forget=forget, learned_start=start)
    layer = Slstm(4, settings).double()
    state = (np.zeros(5), np.zeros(5), np.zeros(5))
    with torch.no_grad():
        layer.recurrent.normal_()
        if layer.start is not None:
            layer.start.copy_(features(3, 5))
            state = (layer.start[0].numpy(), layer.start[1].numpy(), layer.start[2].abs().numpy())
    x = features(1, 12, 4)
    wanted = plain(layer, x, state)
    np.testing.assert_allclose(layer(x)[1]["h"][0].detach().numpy(), wanted, atol=1e-11)


def test_gates_far_out_of_range_do_no_harm() -> None:
    layer = Slstm(1, SlstmSettings(heads=1))
    with torch.no_grad():
        layer.read.zero_()
        layer.read[0] = 1.0
        layer.bias.copy_(torch.tensor([[0.0], [2.0], [1.0], [50.0]]))
    x = torch.tensor([[[-3000.0], [-2000.0], [2000.0], [-2500.0], [0.0]]])
    outputs = layer(x)[0].flatten()
    torch.testing.assert_close(outputs, torch.full((5,), 1.0).tanh())


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"heads": 5}, "5 heads do not divide 8 units"),
        ({"hidden": 12, "heads": 3, "headwise": True}, "3 heads do not divide 12 units and 8 inputs"),
        ({"heads": 8, "group_norm": True}, "one unit is always 0"),
        ({"heads": 0}, "heads is 0"),
        ({"hidden": 0}, "hidden is 0"),
        ({"convolution": -1}, "convolution is -1"),
        ({"place": 1.5}, "place is 1.5"),
    ],
)
def test_settings_that_do_not_fit_are_refused(wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        Slstm(8, SlstmSettings(**wrong))
