"""Training on another device, and with products of 16 bits."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models import build_model, coarse_products, model_config
from nerode.models.architectures.attention import Attention, AttentionSettings
from nerode.models.kernels.cells import lstm
from nerode.models.kernels.linear import linear
from nerode.models.native.calls import multiplies_coarsely
from nerode.training import run
from nerode.training.loop import Trainer, train_run
from nerode.training.specs import make_spec
from tests.cli.runner import run as nerode


def spec(layers: str = "lstm", **settings: Any) -> Any:
    tables = {
        "task": {"name": "parity", "settings": {"shortest": 20, "longest": 20}},
        "model": {"layers": layers, "width": 64},
        "run": {"steps": 12, "test_lengths": [20], "test_sequences": 8, "validation": 8, **settings},
    }
    return make_spec(tables)


@pytest.mark.parametrize("device", ["cuda", "nonsense", "meta"])
def test_a_device_that_is_not_there_is_refused(device: str) -> None:
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(InputError, match=rf"run\.device is '{device}'.*leave it out"):
        train_run(spec(device=device))
    outcome = nerode("train", "parity", "--arch", "lstm", "--device", device, "--steps", "1", "--jobs", "1")
    assert "run.device" in outcome.err
    assert outcome.code in (1, 2)


def test_device_and_proofs_exclude_each_other() -> None:
    with pytest.raises(InputError, match=r"--certify.*work on the CPU"):
        spec(device="cuda", exact={})


def test_what_is_read_goes_to_the_weights_and_scores_come_back() -> None:
    class Elsewhere(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(1, device="meta", dtype=torch.bfloat16))

        def forward(self, x: Tensor, state: Any) -> tuple[Tensor, Any]:
            assert x.device.type == "meta"
            assert x.dtype in (torch.bfloat16, torch.int64)
            return torch.zeros(*x.shape[:2], 2, dtype=torch.bfloat16), state

    for inputs in (torch.zeros(1, 3, 4), torch.zeros(1, 3, dtype=torch.int64)):
        scores, _ = run(Elsewhere(), inputs)
        assert scores.device.type == "cpu"
        assert scores.dtype == torch.float32


def test_the_cpu_by_name_is_the_cpu() -> None:
    (_, plain), (_, named) = (train_run(spec("gla", device=device)) for device in ("", "cpu"))
    for one, other in zip(plain.model.parameters(), named.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_products_of_16_bits_change_training_and_nothing_else() -> None:
    trainers = {products: Trainer(spec(products=products)) for products in ("", "bfloat16")}
    assert len({trainer.key for trainer in trainers.values()}) == 2
    plain, coarse = trainers.values()
    for _ in range(12):
        plain.step(), coarse.step()
    assert not multiplies_coarsely(torch.zeros(1))
    differences = [
        (a - b).abs().max().item()
        for a, b in zip(plain.model.parameters(), coarse.model.parameters(), strict=True)
    ]
    assert 0 < max(differences) < 0.05
    assert all(weight.dtype == torch.float32 for weight in coarse.model.parameters())
    with pytest.raises(InputError, match=r"run\.products is for weights in float32"):
        spec(products="bfloat16", dtype="float64")


def test_products_of_16_bits_are_near_those_of_32() -> None:
    torch.manual_seed(0)
    x = torch.randn(8, 50, 64, requires_grad=True)
    weight, recurrent = (torch.randn(256, 64, requires_grad=True) for _ in range(2))
    start, bias = torch.zeros(8, 64), torch.randn(256, requires_grad=True)
    attention = Attention(64, AttentionSettings(heads=4))

    def cell() -> Tensor:
        h, c = lstm(x, recurrent / 8, (start, start), (weight / 8, bias))
        return torch.cat([h, c[:, -1:]], dim=1)

    works = {
        "linear": lambda: linear(x, weight, bias),
        "lstm": cell,
        "attention": lambda: attention(x, None)[0],
    }
    for name, work in works.items():
        plain = work()
        with coarse_products():
            coarse = work()
        assert coarse.dtype == torch.float32
        assert not torch.equal(plain, coarse), name
        torch.testing.assert_close(coarse, plain, rtol=0.05, atol=0.05 * plain.abs().max().item())
        given = torch.autograd.grad(plain.square().mean(), x)[0]
        found = torch.autograd.grad(coarse.square().mean(), x)[0]
        torch.testing.assert_close(found, given, rtol=0.1, atol=0.05 * given.abs().max().item())


def test_float64_and_16_bits_are_left_as_they_are() -> None:
    for dtype in (torch.float64, torch.bfloat16):
        model = build_model(model_config("lstm", letters=2, outputs=2, width=64), seed=1).to(dtype)
        x = torch.zeros(4, 50, dtype=torch.int64)
        plain, _ = model(x)
        with coarse_products():
            assert torch.equal(model(x)[0], plain)
