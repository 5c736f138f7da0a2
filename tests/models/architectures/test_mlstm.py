"""The mLSTM against the xlstm package with the same weights, its own equations, and their delicate places."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from nerode.core import InputError
from nerode.models.architectures.mlstm import MLstmBlock, MLstmCell, MLstmSettings, build_mlstm
from nerode.models.parts.precision import stabilisers
from tests.models.architectures.peers import assert_same_as_peer, assert_same_pair, features
from tests.models.architectures.weights import shaken
from tests.peers.comparison import all_peers
from tests.peers.libraries import pair_mlstm


def test_a_block_is_the_layer_of_the_xlstm_package() -> None:
    """Its parallel form, which scales the ε of the denominator in another way than its recurrent one does."""
    assert_same_pair(pair_mlstm(dtype=torch.float64, length=19, epsilon=0.0), torch.float64)
    assert_same_as_peer("xlstm-mlstm", torch.float32)


def test_a_block_steps_as_the_xlstm_package() -> None:
    pair = all_peers()["xlstm-mlstm"].pair(dtype=torch.float64, length=19)
    peer: Any = pair.theirs
    x = features(3, 19, 32)
    with torch.no_grad():
        state: dict[str, Any] = {}
        rows = []
        for position in x.split(1, dim=1):
            y, state = peer.step(position, **state)
            rows.append(y)
        torch.testing.assert_close(pair.ours(x)[0], torch.cat(rows, dim=1), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("forget", ["sigmoid", "exp"])
def test_a_cell_is_its_equations(forget: Any) -> None:
    """Without a stabiliser, in plain sums over pairs of positions."""
    layer = shaken(
        MLstmCell(6, MLstmSettings(form="cell", heads=2, keys=4, values=6, forget=forget, epsilon=0.0))
    )
    x = features(2, 9, 6)

    def heads(part: torch.nn.Linear) -> Tensor:
        return (x @ part.weight.T + part.bias).reshape(2, 9, 2, -1)

    q, k, v = heads(layer.query), heads(layer.key) / math.sqrt(2), heads(layer.value)
    write = torch.exp(heads(layer.input_gate))
    logit = heads(layer.forget_gate)
    keep = torch.sigmoid(logit) if forget == "sigmoid" else torch.exp(logit)
    rows = []
    for t in range(9):
        top, bottom = torch.zeros_like(v[:, 0]), torch.zeros_like(v[:, 0, :, :1])
        for s in range(t + 1):
            weight = (q[:, t] * k[:, s]).sum(-1, keepdim=True) * write[:, s] * keep[:, s + 1 : t + 1].prod(1)
            top, bottom = top + weight * v[:, s], bottom + weight
        rows.append(top / bottom.abs().clamp(min=1))
    assert layer.output_gate is not None
    expected = torch.sigmoid(heads(layer.output_gate)).flatten(-2) * torch.stack(rows, dim=1).flatten(-2)
    torch.testing.assert_close(layer(x)[0], expected, rtol=1e-10, atol=1e-10)


def test_the_stabiliser_is_its_recurrence() -> None:
    log_input, log_forget, start = (
        features(2, 50, 3),
        -features(2, 50, 3, seed=4).abs(),
        features(2, 3, seed=5),
    )
    before, after = stabilisers(log_input, log_forget, start)
    m = start
    for t in range(50):
        torch.testing.assert_close(before[:, t], m)
        m = torch.maximum(log_forget[:, t] + m, log_input[:, t])
        torch.testing.assert_close(after[:, t], m)


def cell_of_letters(dtype: torch.dtype) -> MLstmCell:
    """One register. Letters: set to 1, set to -1, hold, and forget without a write."""
    settings = MLstmSettings(form="cell", heads=1, keys=1, values=1, output_gate=False, epsilon=0.0)
    layer = MLstmCell(4, settings).to(dtype)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        layer.query.bias.fill_(1)
        layer.key.bias.fill_(1)
        layer.value.weight.copy_(torch.tensor([[1.0, -1.0, 0.0, 0.0]]))
        layer.input_gate.weight.copy_(torch.tensor([[0.0, 0.0, -1000.0, -1000.0]]))
        layer.forget_gate.weight.copy_(torch.tensor([[-1000.0, -1000.0, 1000.0, -1000.0]]))
    return layer


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_a_cell_can_be_a_register(dtype: torch.dtype) -> None:
    layer = cell_of_letters(dtype)
    x = torch.nn.functional.one_hot(torch.tensor([[2, 0, 2, 1, 2, 2, 3, 2, 0, 0, 2]]), 4).to(dtype)
    for y, _ in (layer(x), layer.reference(x)):
        assert y.flatten().tolist() == [0, 1, 1, -1, -1, -1, 0, 0, 1, 1, 1]


def test_gradients_are_finite_where_everything_is_forgotten() -> None:
    layer = cell_of_letters(torch.float32)
    x = torch.nn.functional.one_hot(torch.tensor([[0, 3, 3, 2, 1]]), 4).float().requires_grad_()
    layer(x)[0].sum().backward()
    assert x.grad is not None
    assert bool(torch.isfinite(x.grad).all())
    assert all(bool(torch.isfinite(p.grad).all()) for p in layer.parameters() if p.grad is not None)


def test_a_long_float32_sequence_keeps_its_stabiliser() -> None:
    torch.manual_seed(0)
    layer = shaken(MLstmCell(4, MLstmSettings(form="cell", heads=2)))
    x = features(1, 20_000, 4)
    with torch.no_grad():
        exact, state = layer(x)
        rounded, after = layer.float()(x.float())
    torch.testing.assert_close(rounded[:, -100:].double(), exact[:, -100:], rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(after["m"].double(), state["m"], rtol=1e-4, atol=1e-4)


def test_it_begins_as_published() -> None:
    torch.manual_seed(0)
    block = MLstmBlock(64, MLstmSettings(num_blocks=4))
    assert not block.input_gate.weight.any()
    assert not block.forget_gate.weight.any()
    assert block.forget_gate.bias.tolist() == [3, 4, 5, 6]
    assert float(block.input_gate.bias.detach().abs().max()) < 0.5
    for weight, deviation in (
        (block.up.weight, math.sqrt(2 / (5 * 64))),
        (block.query.weight, math.sqrt(2 / (5 * 64))),
        (block.down.weight, 2 / 4 / math.sqrt(64)),
    ):
        assert float(weight.detach().std()) == pytest.approx(deviation, rel=0.1)
    assert block.skip.eq(1).all()


def test_the_form_is_a_setting() -> None:
    assert isinstance(build_mlstm(8, MLstmSettings()), MLstmBlock)
    assert isinstance(build_mlstm(8, MLstmSettings(form="cell")), MLstmCell)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"epsilon": -1.0}, "epsilon is -1"),
        ({"window": 0}, "window is 0"),
        ({"values": 8}, 'belong to the forms "cell"'),
        ({"heads": 3}, "16 inner features cannot be shared by 3 heads"),
        ({"projection_block": 3}, "16 features cannot be cut into blocks of 3"),
        ({"form": "cell", "keys": 6}, "6 keys cannot be shared by 4 heads"),
    ],
)
def test_what_does_not_fit_is_refused(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        build_mlstm(8, MLstmSettings(**settings))
