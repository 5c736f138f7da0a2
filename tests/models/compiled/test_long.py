"""Every named language on every class, and in every real architecture that carries it, on long words."""

from __future__ import annotations

import functools

import pytest
import torch

from nerode.compiler.network import Network
from nerode.core.errors import NerodeError
from nerode.languages.bestiary import BESTIARY
from nerode.models.base import State
from nerode.models.compiled.carriers.carry import CELLS, STREAMS, carry
from nerode.models.compiled.model import CompiledModel
from nerode.models.load import load_model
from nerode.models.model import Model
from nerode.verdict.architectures import ARCHITECTURES
from tests.models.compiled.walks import facts_of, lawful_word, legal_table, network_for, random_words

CLASSES = [name for name, row in ARCHITECTURES.items() if row.is_class]
OTHERS = ["elman-tanh", "elman-relu", "lstm", "gru"]


@functools.cache
def compiled(name: str, target: str, *, exclusive_scan: bool) -> Network | None:
    """The network of a named language, None where theory or the constructions say no."""
    try:
        return network_for(name, target, exclusive_scan=exclusive_scan)
    except NerodeError:
        return None


@torch.no_grad()
def answers(model: CompiledModel | Model, words: torch.Tensor, *, chunk: int = 8192) -> torch.Tensor:
    """What is legal after each prefix, with the words fed in chunks."""
    state: State | None = None
    parts = []
    for part in words.split(chunk, dim=1):
        scores, state = model(part, state)
        parts.append(scores > 0.5)
    return torch.cat(parts, dim=1)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("target", [*CLASSES, *OTHERS])
@pytest.mark.parametrize("name", [name for name in BESTIARY if name != "ngram-seed"])
def test_modules_agree_with_the_language_to_length_100_000(name: str, target: str) -> None:
    network = compiled(name, target, exclusive_scan=True)
    if network is None:
        pytest.skip("not on this class")
    language = facts_of(name).language
    model = load_model(network)
    # What turns by rounded angles drifts, and a layer that adds up what it reads there drifts faster. Such a
    # cascade has a horizon, which is for a certificate to name (modular arithmetic on reflections: 1,684).
    drifts = network.depth > 1 and bool(model.inexact_weights())
    words = random_words(len(language.alphabet), batch=1, length=200 if drifts else 100_000)
    assert torch.equal(answers(model, words), legal_table(language, words))
    lawful = torch.tensor([lawful_word(language, 200 if drifts else 20_000) or [0]])
    assert torch.equal(answers(model, lawful), legal_table(language, lawful))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("target", [*STREAMS, *CELLS])
@pytest.mark.parametrize("name", [name for name in BESTIARY if name != "ngram-seed"])
def test_carriers_agree_with_the_language_to_length_100_000(name: str, target: str) -> None:
    network = compiled(name, target, exclusive_scan=False) if target in ARCHITECTURES else None
    if network is None or network.width > 600:
        pytest.skip("not on this architecture, or too large for dense layers")
    language = facts_of(name).language
    model = carry(network, target)
    words = random_words(len(language.alphabet), batch=1, length=100_000)
    assert torch.equal(answers(model, words, chunk=2048), legal_table(language, words))
    lawful = torch.tensor([lawful_word(language, 20_000) or [0]])
    assert torch.equal(answers(model, lawful, chunk=2048), legal_table(language, lawful))


@torch.no_grad()
def remembers(model: CompiledModel | Model, ignores: int) -> bool:
    """Whether a written 1 is read right after so many ignores of a 0, streamed in chunks."""
    write, read, ignore, zero, one = (facts_of("flip-flop").language.alphabet.index(s) for s in "wri01")
    state = model(torch.tensor([[write, one]]))[1]
    for _ in range(ignores // 10_000):
        state = model(torch.tensor([[ignore, zero] * 10_000]), state)[1]
    scores = model(torch.tensor([[read]]), state)[0][0, 0]
    return (scores > 0.5).tolist() == [False, False, False, False, True, False]


def test_the_flip_flop_is_right_after_a_million_ignores() -> None:
    assert remembers(load_model(network_for("flip-flop", "diagonal")), 1_000_000)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["mamba", "gla", "hgrn2", "griffin"])
def test_real_layers_remember_after_a_million_ignores(target: str) -> None:
    assert remembers(carry(network_for("flip-flop", target, exclusive_scan=False), target), 1_000_000)
