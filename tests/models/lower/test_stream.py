"""Compiled networks in real architectures: equal to the language, with ordinary layers and settings."""

from __future__ import annotations

import copy
import functools
import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from nerode.compiler import Options, compile_language
from nerode.core import InputError, NotCompilable, UnknownName
from nerode.languages.bestiary import find_language
from nerode.models.architectures.mamba import Mamba
from nerode.models.base import State
from nerode.models.folder import read_model, save_model
from nerode.models.lower.assembly import network_to_architecture
from nerode.models.lower.lowering import lowerings, main_refusal
from nerode.models.model import Model
from nerode.models.network_module.model import load_model
from tests.models.walks import (
    covering_words,
    facts_of,
    lawful_word,
    legal_table,
    network_for,
    random_words,
)

TIED = [
    "mamba",
    "mamba-2",
    "mamba-signed",
    "hgrn2",
    "griffin",
    "mlstm",
    "deltanet",
    "gated-deltanet",
    "deltaproduct",
]
CELLS = ["elman-tanh", "elman-relu", "lstm", "gru", "slstm", "nru"]

CASES = [
    *(("flip-flop", target) for target in [*TIED, "gla", "complex-diagonal", "rwkv-6", "rwkv-7"]),
    *(
        ("tomita-4", target)
        for target in ("gated-deltanet", "deltaproduct", "hgrn2", "s4d", "ssm", "s4", "h3")
    ),
    *(
        ("dyck-2-3", target)
        for target in ("mamba", "gla", "griffin", "ids4", "pd-ssm", "lstm", "gru", "rwkv-6", "rwkv-7")
    ),
    *(("contains-abaab", target) for target in ("mamba", "gla")),
    *(("s3", target) for target in CELLS),
    *(("parity", target) for target in ("mamba-signed", "deltanet-signed", "complex-diagonal", "pd-ssm")),
    *(("cycle-navigation", target) for target in ("deltanet-signed", "complex-diagonal", "ids4")),
    *(("s3", target) for target in ("deltaproduct-signed", "pd-ssm", "ids4")),
    *((name, "orthogonal") for name in ("s3", "parity", "a5-generators", "tomita-1", "last-letter")),
    *(("a5-generators", target) for target in ("deltaproduct-signed", "pd-ssm")),
    *(
        (name, target)
        for target in ("s4d", "ssm", "lru", "s4", "h3")
        for name in ("aaaa-star", "last-letter")
    ),
]


@functools.cache
def carried(name: str, target: str, dtype: torch.dtype = torch.float32) -> Model:
    """The model of a named language, compiled as a real architecture needs it."""
    return network_to_architecture(network_for(name, target, exclusive_scan=False), target, dtype=dtype)


@pytest.mark.parametrize(("name", "target"), CASES)
def test_agrees_with_the_automaton(name: str, target: str) -> None:
    language = facts_of(name).language
    model = carried(name, target)
    random = random_words(len(language.alphabet), batch=1, length=2000)
    lawful = torch.tensor([lawful_word(language, 1000) or [0]])
    for words in (random, covering_words(language), lawful):
        scores, _ = model(words)
        assert torch.equal(scores > 0.5, legal_table(language, words))


@pytest.mark.parametrize(("name", "target"), CASES)
def test_is_an_ordinary_model_of_the_architecture(name: str, target: str) -> None:
    model = carried(name, target)
    assert {layer.name for layer in model.config.layers} == {target}
    letters = random_words(model.config.letters or 0, batch=2, length=20)
    scores, _ = model(letters)
    state = model.initial_state(2)
    for time, letter in enumerate(letters.unbind(1)):
        score, state = model.step(letter, state)
        torch.testing.assert_close(score, scores[:, time], rtol=0, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("name", "target"),
    [
        *(("dyck-2-3", target) for target in ("mamba", "mamba-2", "griffin", "deltanet", "gated-deltanet")),
        ("flip-flop", "mamba-signed"),
        ("tomita-3", "deltanet-signed"),
        ("abab-star", "gated-deltanet-signed"),
        ("tomita-3", "deltaproduct-signed"),
    ],
)
def test_a_convolution_shows_the_state_before_the_letter(name: str, target: str, dtype: torch.dtype) -> None:
    network, language = network_for(name, target), facts_of(name).language
    assert any(layer.exposes_previous for layer in network.layers)
    model = network_to_architecture(network, target, dtype=dtype)
    assert {layer.name for layer in model.config.layers} == {target}
    lawful = torch.tensor([lawful_word(language, 1000) or [0]])
    random = random_words(len(language.alphabet), batch=1, length=2000)
    for words in (random, covering_words(language), lawful):
        assert torch.equal(model(words)[0] > 0.5, legal_table(language, words))


def test_registers_of_three_signs_are_for_architectures_that_have_them() -> None:
    with pytest.raises(NotCompilable, match="takes the values -1, 0, 1"):
        network_to_architecture(network_for("tomita-3", "mamba-signed"), "mamba-signed")


@pytest.mark.parametrize("target", ["gla", "complex-diagonal", "ids4", "pd-ssm"])
@pytest.mark.parametrize("name", ["dyck-1", "anbncn"])
def test_counters(name: str, target: str) -> None:
    language = facts_of(name).language
    model = carried(name, target)
    words = random_words(len(language.alphabet), batch=4, length=1500)
    assert torch.equal(model(words)[0] > 0.5, legal_table(language, words))
    deep = torch.cat([torch.zeros(1, 900), torch.ones(1, 900)], dim=1).long()
    assert torch.equal(model(deep)[0] > 0.5, legal_table(language, deep))


@pytest.mark.parametrize("target", ["s4d", "ssm"])
@pytest.mark.parametrize("name", ["dyck-1", "anbn", "shuffle-2"])
def test_predictors_are_right_on_lawful_words(name: str, target: str) -> None:
    language = facts_of(name).language
    words = torch.tensor([lawful_word(language, 1000, seed=3)])
    assert torch.equal(carried(name, target)(words)[0] > 0.5, legal_table(language, words))


def test_offset_counting_in_s4d() -> None:
    language = find_language("offset-counting-10")
    network = compile_language(language, "s4d", Options(construction="offset-counting"))
    model = network_to_architecture(network, "s4d")
    assert len(model.blocks) == 1
    words = torch.tensor([lawful_word(language, 2000)])
    assert words.shape[1] == 2000
    assert torch.equal(model(words)[0] > 0.5, legal_table(language, words))


@pytest.mark.parametrize("target", ["ssm", "elman-relu"])
def test_ngrams_in_the_models_of_the_paper(target: str) -> None:
    network = network_for("ngram-seed", target)
    model = network_to_architecture(network, target, dtype=torch.float64)
    assert model.state_size == 145
    assert len(model.config.layers) == 1
    word = torch.tensor([lawful_word(facts_of("ngram-seed").language, 30, seed=5)])
    expected = load_model(network, dtype=torch.float64)
    wanted = expected.distribution(expected(word)[0])[:, 2:]
    torch.testing.assert_close(model(word)[0].softmax(-1)[:, 2:], wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize("target", ["mamba", "gla", "hgrn2", "griffin", "deltanet"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_other_types(target: str, dtype: torch.dtype) -> None:
    language = facts_of("flip-flop").language
    model = carried("flip-flop", target, dtype)
    words = random_words(5, batch=2, length=300)
    lawful = torch.tensor([lawful_word(language, 300)])
    for word in (words, lawful):
        assert torch.equal(model(word)[0] > 0.5, legal_table(language, word))


@pytest.mark.parametrize(("name", "target"), [("flip-flop", "mamba"), ("s3", "deltaproduct-signed")])
def test_a_carried_model_is_saved_as_any_other(name: str, target: str, tmp_path: Path) -> None:
    model = carried(name, target)
    save_model(tmp_path, model)
    again = read_model(tmp_path)
    words = random_words(model.config.letters or 0, batch=2, length=50)
    assert torch.equal(again(words)[0], model(words)[0])


def test_mamba_keeps_every_published_part() -> None:
    model = carried("flip-flop", "mamba")
    for layer in model.layers:
        assert isinstance(layer, Mamba)
        settings = layer.settings
        assert settings.convolution == 4
        assert settings.activation
        assert settings.gate
        assert settings.skip
        assert not settings.bias
        gates = layer.transition(torch.randn(1, 3, layer.inputs)).gate
        assert ((gates >= 0) & (gates <= 1)).all()


def test_mamba_holds_and_writes_without_rounding() -> None:
    model = carried("flip-flop", "mamba")
    words = torch.tensor([lawful_word(facts_of("flip-flop").language, 200)])
    stored = model.trace(words).states["2.h"]
    assert set(stored.unique().tolist()) <= {0.0, 1.0}
    gates = model.layers[2].transition(model.inputs_of(2, words)).gate
    assert set(gates.unique().tolist()) == {0.0, 1.0}


def ignoring(model: Model, ignores: int, bit: int) -> tuple[Tensor, State]:
    """The scores after `w bit`, then so many times `i 0`, then `r`; and the state before the last letter."""
    write, read, ignore, zero, one = (facts_of("flip-flop").language.alphabet.index(s) for s in "wri01")
    state = model(torch.tensor([[write, one if bit else zero]]))[1]
    left = ignores
    while left:
        part = min(left, 4096)
        state = model(torch.tensor([[ignore, zero] * part]), state)[1]
        left -= part
    return model(torch.tensor([[read]]), state)[0][0, 0], state


@pytest.mark.parametrize("bit", [0, 1])
def test_the_written_bit_is_read_after_many_ignores(bit: int) -> None:
    model = carried("flip-flop", "mamba")
    scores, _ = ignoring(model, 20_000, bit)
    assert [s > 0.5 for s in scores.tolist()] == [False, False, False, bit == 0, bit == 1, False]


@pytest.mark.parametrize("gate", [0.75, 0.9, 0.99])
def test_a_mamba_that_does_not_hold_forgets_at_a_finite_horizon(gate: float) -> None:
    """Between the bit and the threshold lies a factor of 2; each of the two tokens multiplies by the gate."""
    model = copy.deepcopy(carried("flip-flop", "mamba"))
    bits = model.layers[2]
    assert isinstance(bits, Mamba)
    # The rate of a register that can be emptied is 64; a step of this size multiplies it by the gate.
    step = -math.log(gate) / 64
    logit = math.log(math.expm1(step))
    with torch.no_grad():
        bits.dt_proj.bias[:2] = logit
        bits.dt_proj.weight[:2] = 32 - logit
    horizon = math.floor(math.log(2) / -math.log(gate) / 2 - 0.5)
    assert ignoring(model, horizon, 1)[0][4] > 0.5
    assert ignoring(model, horizon + 1, 1)[0][4] < 0.5


def test_an_exclusive_scan_is_refused() -> None:
    with pytest.raises(NotCompilable, match=r"shows its state before the letter.*exclusive_scan=False"):
        network_to_architecture(network_for("tomita-4", "gla"), "gla")


@pytest.mark.parametrize("target", ["hgrn2", "griffin", "deltanet"])
def test_counters_need_free_writes(target: str) -> None:
    with pytest.raises(NotCompilable, match="a counter adds while its gate is 1"):
        network_to_architecture(network_for("dyck-1", "gla"), target)


@pytest.mark.parametrize("target", ["mamba", "hgrn2", "griffin", "mlstm", "gla"])
def test_negative_gates_need_a_signed_architecture(target: str) -> None:
    with pytest.raises(NotCompilable, match=r"gate is -1; here gates lie in \[0,1\]"):
        network_to_architecture(network_for("parity", "mamba-signed"), target)


@pytest.mark.parametrize(
    ("name", "compiled_for", "target", "reason"),
    [
        ("s3", "deltaproduct-signed", "deltanet-signed", "a letter needs 2 reflections"),
        ("s3", "deltaproduct-signed", "deltaproduct", r"β = 2; here β lies in \[0,1\]"),
        ("s3", "deltaproduct-signed", "mamba", "is householder, not diagonal"),
        ("s3", "pd-ssm", "ids4", "is permutation-diagonal"),
        ("s3", "ids4", "pd-ssm", "is letter-matrices"),
        ("s3", "elman-tanh", "nru", "is not rectified"),
        ("tomita-4", "mamba", "orthogonal", "is diagonal"),
        ("tomita-4", "ssm", "orthogonal", "a matrix that is not orthogonal"),
        ("aa-star", "s4d", "s4", "a gate is -1"),
        ("s3", "ids4", "complex-diagonal", "is letter-matrices, not diagonal"),
        ("tomita-4", "mamba", "s4d", "is not diagonal with gates that are fixed"),
        ("tomita-4", "mamba", "ssm", "not a real recurrence with a fixed matrix"),
        ("tomita-4", "mamba", "lstm", "this architecture carries one layer"),
        ("tomita-4", "lstm", "gru", "is not made of gru cells"),
        ("tomita-4", "lstm", "elman-tanh", "is not an Elman layer"),
        ("cycle-navigation", "complex-diagonal", "gla", "has a complex state"),
        ("tomita-4", "mamba", "transformer", "nothing writes compiled weights"),
    ],
)
def test_refusals_name_the_reason(name: str, compiled_for: str, target: str, reason: str) -> None:
    with pytest.raises(NotCompilable, match=reason):
        network_to_architecture(network_for(name, compiled_for, exclusive_scan=False), target)


def test_a_compilers_refusal_leaves_out_constructions_for_other_languages() -> None:
    refusals = list(lowerings(find_language("tomita-3"), "complex-diagonal"))
    assert all(isinstance(refusal, NotCompilable) for refusal in refusals)
    [reason] = main_refusal(refusals).reasons
    assert "labels before the letter" in reason
    assert "take an architecture with a short convolution" in reason
    assert "flip-flop" not in reason


@pytest.mark.parametrize(("name", "architecture"), [("u2", "s4d"), ("aaaa-star", "rwkv-7")])
def test_the_main_refusal_says_that_no_float_format_carries_it(name: str, architecture: str) -> None:
    refusals = list(lowerings(find_language(name), architecture))
    assert "no float format carries it" in main_refusal(refusals).reasons[0]


def test_unknown_architectures_and_types() -> None:
    network = network_for("parity", "mamba-signed")
    with pytest.raises(UnknownName, match="did you mean mamba"):
        network_to_architecture(network, "mambo")
    with pytest.raises(InputError, match=r"mamba-2 keeps registers beyond the range of float16"):
        carried("flip-flop", "mamba-2", torch.float16)
    with pytest.raises(InputError, match="cannot have the type"):
        network_to_architecture(network, "mamba-signed", dtype=torch.int32)
