"""TTT-Linear: its inner training by torch's own gradients, its mini-batches and its bare form."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models.architectures.ttt_linear import TttLinear, TttSettings, turned
from nerode.models.kernels.matrix_scan import delta_scan


def drawn(settings: TttSettings, inputs: int = 8) -> TttLinear:
    """A layer in which no weight is zero or one."""
    torch.manual_seed(0)
    layer = TttLinear(inputs, settings).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return layer


def by_training(layer: TttLinear, x: Tensor) -> Tensor:
    """One sequence (time, inputs): a model per head, trained by autograd on the published loss."""
    settings, heads, width = layer.settings, layer.heads, layer.width
    q, v = x @ layer.query.weight.T, x @ layer.value.weight.T
    if layer.convolution is None:
        assert layer.key is not None
        k = x @ layer.key.weight.T
    else:
        q, k = (convolved(layer, q, first) for first in (0, x.shape[1]))
    outputs = torch.zeros_like(x)
    for head in range(heads):
        part = slice(head * width, (head + 1) * width)
        W, b = layer.start[head, :-1].detach(), layer.start[head, -1].detach()
        rates = settings.base_rate * torch.sigmoid(layer.rate(x)[:, head]) / width
        for begin in range(0, len(x), layer.mini_batch):
            batch = range(begin, min(len(x), begin + layer.mini_batch))
            total_W, total_b = torch.zeros_like(W), torch.zeros_like(b)
            for i, t in enumerate(batch):
                key = rotated(k[t, part], i) if settings.rotary else k[t, part]
                query = rotated(q[t, part], i) if settings.rotary else q[t, part]
                leaves = [W.clone().requires_grad_(), b.clone().requires_grad_()]
                loss = 0.5 * (inner(layer, head, key, *leaves) - v[t, part]).square().sum()
                grad_W, grad_b = torch.autograd.grad(loss, leaves)
                total_W, total_b = total_W + rates[t] * grad_W, total_b + rates[t] * grad_b
                scale = max(0.0, 1 / (i + 1) + layer.token_scale[i].item())
                now = W - scale * total_W, b - scale * total_b
                outputs[t, part] = inner(layer, head, query, *now).detach()
            W, b = (value.detach() for value in now)
    y = layer.norm(outputs)
    if layer.gate is not None:
        y = y * nn.functional.gelu(layer.gate(x), approximate="tanh")
    return y @ layer.output.weight.T


def inner(layer: TttLinear, head: int, x: Tensor, W: Tensor, b: Tensor) -> Tensor:
    z = x @ W + b
    if layer.inner_weight is not None and layer.inner_bias is not None:
        weight, bias = layer.inner_weight[head, 0].detach(), layer.inner_bias[head, 0].detach()
        z = nn.functional.layer_norm(z, z.shape, weight, bias, eps=1e-6)
    return x + z


def rotated(x: Tensor, place: int) -> Tensor:
    """Pairs as complex numbers, multiplied by e^{i place speed}."""
    speeds = torch.tensor([10_000.0 ** (-2 * i / len(x)) for i in range(len(x) // 2)], dtype=torch.float64)
    pairs = torch.view_as_complex(x.reshape(-1, 2).contiguous())
    return torch.view_as_real(pairs * torch.exp(1j * place * speeds)).flatten()


def convolved(layer: TttLinear, x: Tensor, first: int) -> Tensor:
    assert layer.convolution is not None
    assert layer.convolution.bias is not None
    channels = slice(first, first + x.shape[1])
    weight, bias = layer.convolution.weight[channels], layer.convolution.bias[channels]
    padded = nn.functional.pad(x.T[None], (weight.shape[1] - 1, 0))
    return nn.functional.conv1d(padded, weight[:, None], bias, groups=len(weight))[0].T


@pytest.mark.parametrize(
    "settings",
    [
        TttSettings(heads=2, mini_batch=4),
        TttSettings(heads=1, mini_batch=1),
        TttSettings(heads=2, mini_batch=16, inner_norm=False, base_rate=0.5),
        TttSettings(heads=2, mini_batch=3, convolution=3, output_gate=True),
        TttSettings(heads=4, mini_batch=5, rotary=False, output_norm=False, inner_norm=False),
    ],
)
def test_the_layer_trains_as_gradient_descent_does(settings: TttSettings) -> None:
    layer = drawn(settings)
    x = torch.randn(2, 11, 8, dtype=torch.float64)
    found, _ = layer(x)
    wanted = torch.stack([by_training(layer, row) for row in x])
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-10)


def test_rows_at_different_places_of_their_mini_batches_may_go_on_together() -> None:
    layer = drawn(TttSettings(heads=2, mini_batch=4))
    x = torch.randn(2, 9, 8, dtype=torch.float64)
    with torch.no_grad():
        alone = [layer(x[row : row + 1, : 2 + row])[1] for row in range(2)]
        state = {name: torch.cat([a[name] for a in alone]) for name in alone[0]}
        assert state["place"].tolist() == [2, 3]
        found, after = layer(x[:, 3:], state)
        for row in range(2):
            wanted, last = layer(x[row : row + 1, 3:], alone[row])
            torch.testing.assert_close(found[row : row + 1], wanted, rtol=0, atol=1e-12)
            torch.testing.assert_close(after["W"][row : row + 1], last["W"], rtol=0, atol=1e-12)


def test_places_beyond_the_whole_numbers_of_bfloat16() -> None:
    layer = drawn(TttSettings(heads=2, mini_batch=300)).bfloat16()
    with torch.no_grad():
        _, state = layer(torch.randn(1, 257, 8, dtype=torch.bfloat16))
        assert state["place"].tolist() == [257]
        for place in (258, 259):
            _, state = layer.step(torch.randn(1, 8, dtype=torch.bfloat16), state)
            assert state["place"].tolist() == [place]


def test_without_norm_and_with_single_tokens_it_is_the_delta_rule() -> None:
    bare: dict[str, Any] = {"inner_norm": False, "rotary": False, "output_norm": False}
    layer = drawn(TttSettings(heads=2, mini_batch=1, **bare))
    x = torch.randn(2, 7, 8, dtype=torch.float64)
    with torch.no_grad():
        _, state = layer(x)
        k, v = (linear(x).view(2, 7, 1, 2, 4) for linear in (layer.key, layer.value))
        keys = torch.cat([k, torch.ones_like(k[..., :1])], dim=-1)
        beta = (1 + layer.token_scale) * layer.rate(x).sigmoid()[:, :, None] / 4
        _, wanted = delta_scan(keys[:, :, 0], keys, v - k, beta, None, layer.initial_state(2)["W"])
        moves = layer.transition(x)
    torch.testing.assert_close(state["W"], wanted, rtol=0, atol=1e-12)
    assert moves is not None
    torch.testing.assert_close(moves.betas, beta)


def test_turning_depends_on_differences_of_places_only() -> None:
    q, k = torch.randn(2, 1, 1, 1, 6, dtype=torch.float64)
    products = [
        (turned(q, torch.tensor([3 + shift])) * turned(k, torch.tensor([1 + shift]))).sum()
        for shift in (0, 5)
    ]
    torch.testing.assert_close(*products)
    assert not torch.allclose(products[0], (q * k).sum())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"heads": 0}, "heads is 0"),
        ({"mini_batch": 0}, "mini_batch is 0"),
        ({"base_rate": 0.0}, "base_rate is 0"),
        ({"convolution": -1}, "convolution is -1"),
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TttSettings(**wrong)


def test_widths_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="6 inputs cannot be shared by 4 heads"):
        TttLinear(6, TttSettings())
    with pytest.raises(InputError, match="3 features cannot be turned in pairs"):
        TttLinear(6, TttSettings(heads=2))
