"""The mLSTM against the xlstm package with the same weights, its own equations, and their delicate places."""

from __future__ import annotations

import functools
import math
from typing import Any

import pytest
import torch
from torch import Tensor
from xlstm.blocks.mlstm.backends import parallel_stabilized_simple
from xlstm.blocks.mlstm.layer import mLSTMLayer, mLSTMLayerConfig

from nerode.core.errors import InputError
from nerode.models.architectures.mlstm import MLstmBlock, MLstmCell, MLstmSettings, build_mlstm
from nerode.models.architectures.mlstm_cell import stabilisers
from tests.models.architectures.peers import assert_same_with_gradients, features
from tests.models.architectures.weights import shaken

PEER_NAMES = {
    "proj_up.weight": "up.weight",
    "q_proj.weight": "query.weight",
    "k_proj.weight": "key.weight",
    "v_proj.weight": "value.weight",
    "conv1d.conv.weight": "convolution.weight",
    "conv1d.conv.bias": "convolution.bias",
    "mlstm_cell.igate.weight": "input_gate.weight",
    "mlstm_cell.igate.bias": "input_gate.bias",
    "mlstm_cell.fgate.weight": "forget_gate.weight",
    "mlstm_cell.fgate.bias": "forget_gate.bias",
    "mlstm_cell.outnorm.weight": "norm.weight",
    "learnable_skip": "skip",
    "proj_down.weight": "down.weight",
}


def block_and_peer(dtype: torch.dtype, epsilon: float) -> tuple[MLstmBlock, Any, list[tuple[Tensor, Tensor]]]:
    """A block, the package's layer with the same weights, and the pairs of weights."""
    peer = mLSTMLayer(mLSTMLayerConfig(embedding_dim=32, num_heads=4, context_length=19)).to(dtype)
    peer.mlstm_cell.backend_fn = functools.partial(parallel_stabilized_simple, eps=epsilon)
    ours = shaken(MLstmBlock(32, MLstmSettings(epsilon=epsilon)), by=0.05).to(dtype)
    mine, theirs = dict(ours.named_parameters()), dict(peer.named_parameters())
    assert sorted(PEER_NAMES) == sorted(theirs)
    assert sorted(PEER_NAMES.values()) == sorted(mine)
    both = [(mine[PEER_NAMES[name]], weight) for name, weight in theirs.items()]
    with torch.no_grad():
        for from_us, to_them in both:
            # The package keeps the weight of its norm less one.
            shift = 1 if from_us is ours.norm.weight else 0
            to_them.copy_(from_us.view_as(to_them) - shift)
    return ours, peer, both


def test_a_block_is_the_layer_of_the_xlstm_package() -> None:
    """Its parallel form, which scales the ε of the denominator in another way than its recurrent one does."""
    ours, peer, both = block_and_peer(torch.float64, epsilon=0.0)
    assert_same_with_gradients(lambda x: ours(x)[0], peer, features(3, 19, 32), both)
    ours, peer, both = block_and_peer(torch.float32, epsilon=1e-6)
    x = features(3, 19, 32, dtype=torch.float32)
    torch.testing.assert_close(ours(x)[0], peer(x), rtol=1e-5, atol=1e-5)


def test_a_block_steps_as_the_xlstm_package() -> None:
    ours, peer, _ = block_and_peer(torch.float64, epsilon=1e-6)
    x = features(3, 19, 32)
    with torch.no_grad():
        state: dict[str, Any] = {}
        rows = []
        for position in x.split(1, dim=1):
            y, state = peer.step(position, **state)
            rows.append(y)
        torch.testing.assert_close(ours(x)[0], torch.cat(rows, dim=1), rtol=1e-10, atol=1e-10)


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
        ({"values": 8}, 'belong to the form "cell"'),
        ({"heads": 3}, "16 inner features cannot be shared by 3 heads"),
        ({"projection_block": 3}, "16 features cannot be cut into blocks of 3"),
        ({"form": "cell", "keys": 6}, "6 keys cannot be shared by 4 heads"),
    ],
)
def test_what_does_not_fit_is_refused(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        build_mlstm(8, MLstmSettings(**settings))
