"""Models of transformers and layers of xlstm give on our kernels what they give on their own code."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import nerode as nr
from nerode.core import InputError
from nerode.models.acceleration import replacements, switch

transformers = pytest.importorskip("transformers")
pytest.importorskip("xlstm")
from transformers.models.mamba import modeling_mamba  # noqa: E402

from benchmarks import transformers as bench  # noqa: E402

MODELS = {
    "mamba": lambda: bench.mamba(16),
    "mamba with mambapy": lambda: bench.mamba(16, parallel=True),
    "falcon-mamba": lambda: bench.falcon_mamba(16),
    "mamba-2": lambda: bench.mamba2(32),
    "recurrent-gemma": lambda: bench.recurrent_gemma(16),
    "qwen3-next": lambda: bench.qwen3_next(32),
    "rwkv": lambda: bench.rwkv(16),
    "xlstm": lambda: bench.xlstm(64),
}
CLOSE = 1e-5


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    transformers.logging.set_verbosity_error()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    nr.accelerate(False)


def built(name: str, dtype: torch.dtype = torch.float32) -> nn.Module:
    torch.manual_seed(3)
    return MODELS[name]().to(dtype).eval()


def words(batch: int, length: int) -> Tensor:
    return torch.randint(3, bench.LETTERS, (batch, length), generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize("length", [1, 2, 33, 71])
@pytest.mark.parametrize("name", MODELS)
def test_outputs_and_gradients_are_those_of_the_library(name: str, length: int) -> None:
    model, x = built(name), words(3, length)
    plain = bench._without_gradients(model, x)
    assert bench.difference(plain, bench.on_kernels(lambda: bench._without_gradients(model, x))()) < CLOSE
    if length > 2:
        model.train()
        expected = bench.gradients(model, x)
        assert bench.difference(expected, bench.on_kernels(lambda: bench.gradients(model, x))()) < CLOSE


@pytest.mark.parametrize("kind", ["mlstm", "slstm"])
@pytest.mark.parametrize("length", [1, 37])
def test_layers_of_xlstm(kind: str, length: int) -> None:
    torch.manual_seed(1)
    layer, x = bench.package_layer(kind, 64, 37), torch.randn(2, length, 64)
    with torch.no_grad():
        expected = bench.forward(layer, x)
    with nr.accelerated(), torch.no_grad():
        assert bench.difference([expected], [bench.forward(layer, x)]) < CLOSE
    gradients = bench.gradients(layer, x)
    assert bench.difference(gradients, bench.on_kernels(lambda: bench.gradients(layer, x))()) < CLOSE


@pytest.mark.parametrize("name", ["mamba", "falcon-mamba", "mamba-2", "qwen3-next"])
def test_padding_on_the_left(name: str) -> None:
    model, x = built(name), words(2, 21)
    mask = torch.ones_like(x)
    mask[0, :8] = 0

    def logits() -> Tensor:
        with torch.no_grad():
            return model(input_ids=x, attention_mask=mask, use_cache=False).logits

    expected = logits()
    with nr.accelerated():
        assert bench.difference([expected], [logits()]) < CLOSE


@pytest.mark.parametrize("name", MODELS)
def test_generate_gives_the_same_tokens(name: str) -> None:
    model, x = built(name), words(2, 9)
    expected = model.generate(x, max_new_tokens=12, do_sample=False)
    with nr.accelerated():
        assert torch.equal(model.generate(x, max_new_tokens=12, do_sample=False), expected)


@pytest.mark.parametrize("name", ["mamba", "falcon-mamba", "mamba-2", "qwen3-next", "rwkv", "xlstm"])
def test_a_cache_goes_from_one_path_to_the_other(name: str) -> None:
    model, x = built(name), words(2, 40)
    option, field = {
        "rwkv": ("state", "state"),
        "qwen3-next": ("past_key_values", "past_key_values"),
    }.get(name, ("cache_params", "cache_params"))

    def steps(first: Any, then: Any) -> Tensor:
        with torch.no_grad():
            with first():
                seen = model(input_ids=x[:, :33], use_cache=True)
            found = [seen.logits]
            with then():
                for t in range(33, 40):
                    seen = model(input_ids=x[:, t : t + 1], use_cache=True, **{option: getattr(seen, field)})
                    found.append(seen.logits)
        return torch.cat(found, dim=1)

    expected = steps(nullcontext, nullcontext)
    assert bench.difference([expected], [steps(nr.accelerated, nr.accelerated)]) < CLOSE
    assert bench.difference([expected], [steps(nr.accelerated, nullcontext)]) < CLOSE
    assert bench.difference([expected], [steps(nullcontext, nr.accelerated)]) < CLOSE


@pytest.mark.parametrize("name", ["mamba", "mamba-2", "recurrent-gemma", "qwen3-next", "rwkv"])
def test_sixteen_bits_are_no_further_from_the_truth(name: str) -> None:
    exact, x = built(name), words(2, 33)
    expected = bench._without_gradients(exact, x)
    coarse = built(name, torch.bfloat16)
    theirs = bench._without_gradients(coarse, x)
    ours = bench.on_kernels(lambda: bench._without_gradients(coarse, x))()
    assert ours[0].dtype == theirs[0].dtype
    far = bench.difference(expected, [theirs[0].float()])
    assert bench.difference(expected, [ours[0].float()]) < 1.5 * far
    model = coarse.train()
    assert all(g.isfinite().all() for g in bench.on_kernels(lambda: bench.gradients(model, x))())


def test_off_again_without_a_trace() -> None:
    before = {name: vars(modeling_mamba)[name] for name in ("mamba_selective_scan", "causal_conv1d_fn")}
    names = nr.accelerate()
    assert "transformers.models.mamba: mamba_selective_scan" in names
    assert nr.accelerate() == names
    with nr.accelerated():
        assert modeling_mamba.mamba_selective_scan is not before["mamba_selective_scan"]
    assert modeling_mamba.mamba_selective_scan is not before["mamba_selective_scan"]
    assert nr.accelerate(False) == []
    assert {name: vars(modeling_mamba)[name] for name in before} == before
    with pytest.raises(ZeroDivisionError), nr.accelerated():
        raise ZeroDivisionError
    assert modeling_mamba.mamba_selective_scan is before["mamba_selective_scan"]


def test_another_version_is_refused_and_nothing_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    def causal_conv1d_fn(*arguments: Any) -> None:
        """Another source."""

    plain = modeling_mamba.mamba_selective_scan
    monkeypatch.setattr(modeling_mamba, "causal_conv1d_fn", causal_conv1d_fn)
    with pytest.raises(InputError, match=r"another `causal_conv1d_fn`.*nothing was replaced.*transformers 5"):
        nr.accelerate()
    assert modeling_mamba.mamba_selective_scan is plain
    monkeypatch.delattr(modeling_mamba, "causal_conv1d_fn")
    with pytest.raises(InputError, match="it has none"):
        nr.accelerate()


def test_without_a_library_or_kernels_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(switch, "_exists", lambda module: False)
        with pytest.raises(InputError, match="neither transformers nor xlstm"):
            nr.accelerate()
    monkeypatch.setattr(switch, "library", lambda: None)
    with pytest.raises(InputError, match=r"python -m nerode\.models\.native"):
        nr.accelerate()


def test_other_devices_and_traced_calls_keep_their_path(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def plain(*arguments: Any, **options: Any) -> str:
        seen.append(arguments)
        return "theirs"

    meta = [torch.empty(1, 4, 3, device="meta") for _ in range(2)]
    state = torch.empty(1, 2, 3, device="meta")
    A = torch.empty(4, 2, device="meta")
    assert replacements.mamba_scan(plain, *meta, A, state, state) == "theirs"
    x, B = torch.zeros(1, 4, 3), torch.zeros(1, 2, 3)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert replacements.mamba_scan(plain, x, x, torch.zeros(4, 2), B, B) == "theirs"
    assert len(seen) == 2


def test_packed_sequences_are_left_to_the_library() -> None:
    x = torch.zeros(1, 4, 3)
    with nr.accelerated(), pytest.raises(ValueError, match="packed sequences"):
        modeling_mamba.causal_conv1d_fn(x, torch.zeros(4, 2), seq_idx=torch.zeros(1, 3))


def test_the_table_of_the_page_reaches_what_is_claimed() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in bench.PAGE.read_text(encoding="utf-8").partition(bench.BEGIN)[2].splitlines()
        if line.startswith("| ") and "×" in line
    ]
    assert len(rows) == len(bench.CASES) + len(bench.RULES)
    least = {"Mamba, width": {"default": 10, "mambapy path": 5}, "delta rule": {"default": 2}}
    for name, peer, *cells, outputs, gradients, tokens in rows:
        for theirs, ours, ratio in (cells[:3], cells[3:]):
            slow, fast = (float(cell.removesuffix(" ms").replace(",", "")) for cell in (theirs, ours))
            low, high = ((slow - 0.06) / (fast + 0.06), (slow + 0.06) / (fast - 0.06))
            assert low - 0.06 <= float(ratio.removesuffix("×")) <= high + 0.06
        wanted = next((of[peer] for start, of in least.items() if name.startswith(start)), 1)
        assert float(cells[2].removesuffix("×")) >= wanted
        assert max(float(outputs), float(gradients)) < CLOSE
        assert tokens != "no"
