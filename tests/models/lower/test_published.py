"""Whole published models: correct at every length in every format, and what breaks them."""

from __future__ import annotations

import pytest
import torch

from nerode.compiler import Options
from nerode.core import Budget, NotCompilable
from nerode.languages import Language, resolve_language
from nerode.models import Model
from nerode.models.lower.lowering import lowerings
from nerode.models.lower.published import four_squares
from nerode.proofs.floats import certify_module
from tests.models.walks import legal_table, published_model, random_words


def closed(model: Model, language: Language) -> int | str:
    return certify_module(model, language, task="predict", decode=lambda s: s > 0.5).length


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
@pytest.mark.parametrize("architecture", ["mamba", "griffin", "mamba-2"])
@pytest.mark.parametrize("name", ["tomita-1", pytest.param("(ab)*", marks=pytest.mark.slow), "(a|b)*"])
def test_every_length_in_every_format(name: str, architecture: str, dtype: str) -> None:
    language = resolve_language(name)
    if (architecture, dtype) == ("mamba-2", "float16"):
        with pytest.raises(NotCompilable, match=r"beyond float16"):
            published_model(language, architecture, dtype=torch.float16)
        return
    assert closed(published_model(language, architecture, dtype=getattr(torch, dtype)), language) == "all"


def test_it_is_the_published_model() -> None:
    language = resolve_language("tomita-4")
    model = published_model(language, "mamba")
    config = model.config.complete()
    assert {layer.name for layer in config.layers} == {"mamba"}
    assert all(around.norm == "rms" and around.feed_forward == "none" for around in config.surroundings)  # type: ignore[union-attr]
    assert (config.final_norm, config.head, config.head_bias) == ("rms", "linear", False)
    assert not any(layer.settings["learned_start"] for layer in config.layers)
    assert not any(bool(value.any()) for value in model._blank(1).values())
    words = random_words(2, batch=4, length=500)
    scores, _ = model(words)
    assert torch.equal(scores, torch.where(legal_table(language, words), 1024.0, -1024.0))
    start = model.empty_scores()
    assert start is not None
    assert start.tolist() == [1024.0, 1024.0, 1024.0]


@pytest.mark.parametrize(
    ("name", "architecture"), [("flip-flop", "mamba"), ("tomita-4", "griffin"), ("tomita-4", "mamba-2")]
)
def test_a_larger_cascade(name: str, architecture: str) -> None:
    language = resolve_language(name)
    assert closed(published_model(language, architecture), language) == "all"


def test_the_constants_of_the_norm_matter() -> None:
    """Without them the norm divides by something else, and the logits are not ±1024."""
    language = resolve_language("tomita-4")
    model, words = published_model(language, "mamba"), random_words(2, batch=2, length=100)
    with torch.no_grad():
        table = model.embedding.weight  # type: ignore[union-attr]
        table[table > 64.0] = 0  # type: ignore[operator, index]
    assert not torch.equal(model(words)[0].abs(), torch.full_like(model(words)[0], 1024.0))


def test_the_constant_of_the_norm_inside_the_mixer_matters() -> None:
    """A constant that is not larger than the other channels lets the norm divide by what they say."""
    language = resolve_language("tomita-4")
    model, words = published_model(language, "mamba-2"), random_words(2, batch=2, length=100)
    right = torch.where(legal_table(language, words), 1024.0, -1024.0)
    assert torch.equal(model(words)[0], right)
    with torch.no_grad():
        for layer in model.layers:
            layer.D.clamp_(max=2.0**20)  # type: ignore[union-attr, operator]
    assert not torch.equal(model(words)[0], right)


def test_a_leak_is_not_proved() -> None:
    """Steps of softplus(-8) where a register should hold: correct on short words only."""
    language = resolve_language("tomita-4")
    model = published_model(language, "mamba")
    with torch.no_grad():
        for layer in model.layers:
            layer.dt_proj.bias.fill_(-8.0)  # type: ignore[union-attr, operator]
    found = certify_module(
        model, language, task="predict", decode=lambda s: s > 0.5, budget=Budget(seconds=2)
    )
    assert found.length != "all"


@pytest.mark.parametrize("architecture", ["mamba", "griffin", "mamba-2"])
def test_another_language_is_refuted(architecture: str) -> None:
    model = published_model(resolve_language("tomita-4"), architecture)
    assert closed(model, resolve_language("tomita-7")) != "all"


@pytest.mark.parametrize("dtype", [pytest.param("float32", marks=pytest.mark.slow), "bfloat16"])
@pytest.mark.parametrize("architecture", ["mamba", "griffin", "mamba-2"])
def test_a_changed_weight_is_refused_or_harmless(architecture: str, dtype: str) -> None:
    """Of every third tensor the largest number changes its sign; some of them must be refused."""
    language = resolve_language("tomita-1")
    words = random_words(2, batch=8, length=200)
    model = published_model(language, architecture, dtype=getattr(torch, dtype))
    tensors = list(model.parameters())[::3]
    proved = 0
    for tensor in tensors:
        place = tensor.abs().argmax()
        tensor.view(-1)[place] *= -1.0
        found = certify_module(
            model, language, task="predict", decode=lambda s: s > 0.5, budget=Budget(seconds=1)
        )
        if found.length == "all":
            proved += 1
            assert torch.equal(model(words)[0] > 0.5, legal_table(language, words))
        tensor.view(-1)[place] *= -1.0
    assert proved < len(tensors)


def test_refusals() -> None:
    with pytest.raises(NotCompilable, match="contains Z2"):
        published_model(resolve_language("parity"), "mamba")
    with pytest.raises(NotCompilable, match="not star-free"):
        published_model(resolve_language("dyck-1"), "mamba")
    with pytest.raises(NotCompilable, match="--surroundings zoo"):
        published_model(resolve_language("tomita-4"), "gla")
    window = Options(construction="window")
    [refusal] = lowerings(resolve_language("last-letter"), "mamba", window, block="published")
    assert isinstance(refusal, NotCompilable)
    assert "made of set-reset levels; window has none" in refusal.reasons[0]


def test_four_squares() -> None:
    for number in range(200):
        assert sum(n * n for n in four_squares(number)) == number
