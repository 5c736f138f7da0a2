"""Compiled networks as modules: equal to the automaton, to the exact interpreter, and cut or whole."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest
import torch

from nerode.core import InputError, to_complex, to_float
from nerode.models.network_module.model import CompiledModel, load_model
from nerode.network import Embedding, Interpreter, Network
from tests.models.walks import facts_of, lawful_word, legal_table, network_for, random_words

CASES = [
    ("flip-flop", "diagonal"),
    ("flip-flop", "lstm"),
    ("tomita-4", "mamba"),
    ("tomita-4", "elman-tanh"),
    ("tomita-4", "elman-relu"),
    ("tomita-4", "gru"),
    ("tomita-4", "slstm"),
    ("tomita-4", "s4d-mamba"),
    ("parity", "diagonal-signed"),
    ("parity", "deltanet-signed"),
    ("aaaa-star", "s4d"),
    ("cycle-navigation", "diagonal-complex"),
    ("cycle-navigation", "permutation-diagonal"),
    ("abab-star", "diagonal-signed"),
    ("s3", "householder"),
    ("s3", "diagonal-complex"),
    ("s3", "dense"),
    ("a5-generators", "deltaproduct-signed"),
    ("dyck-1", "gla"),
    ("dyck-2-3", "diagonal"),
]
"""One for each kind of recurrence and decoder, and more."""


def steps(model: CompiledModel, words: torch.Tensor) -> torch.Tensor:
    """The scores by single steps."""
    state = model.initial_state(len(words))
    scores = []
    for letters in words.unbind(1):
        score, state = model.step(letters, state)
        scores.append(score)
    return torch.stack(scores, dim=1)


@pytest.mark.parametrize(("name", "target"), CASES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_agrees_with_the_language(name: str, target: str, dtype: torch.dtype) -> None:
    language = facts_of(name).language
    model = load_model(network_for(name, target), dtype=dtype)
    words = random_words(len(language.alphabet), batch=3, length=700)
    scores, _ = model(words)
    assert torch.equal(model.legal(scores), legal_table(language, words))
    lawful = torch.tensor([lawful_word(language, 700)])
    if lawful.numel():
        assert torch.equal(model.legal(model(lawful)[0]), legal_table(language, lawful))


@pytest.mark.parametrize(("name", "target"), CASES)
def test_steps_equal_the_sequence_however_it_is_cut(name: str, target: str) -> None:
    model = load_model(network_for(name, target), dtype=torch.float64)
    words = random_words(len(model.network.alphabet), batch=2, length=65)
    scores, last = model(words)
    torch.testing.assert_close(steps(model, words), scores, rtol=0, atol=1e-10)
    first, state = model(words[:, :9])
    second, state = model(words[:, 9:10], state)
    third, state = model(words[:, 10:], state)
    torch.testing.assert_close(torch.cat([first, second, third], dim=1), scores, rtol=0, atol=1e-10)
    for key, value in last.items():
        torch.testing.assert_close(state[key], value, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("name", "target"), CASES)
def test_states_are_those_of_the_exact_interpreter(name: str, target: str) -> None:
    network = network_for(name, target)
    model = load_model(network, dtype=torch.float64)
    words = random_words(len(network.alphabet), batch=1, length=40)
    states = model.trace(words).states
    interpreter = Interpreter(network)
    configuration = interpreter.start()
    for time, letter in enumerate(words[0].tolist()):
        configuration, _ = interpreter.step(configuration, letter)
        for number, exact in enumerate(configuration):
            number_of = to_complex if network.layers[number].complex_state else _real
            expected = torch.tensor([number_of(v) for v in exact], dtype=states[f"{number}.h"].dtype)
            torch.testing.assert_close(states[f"{number}.h"][0, time], expected, rtol=0, atol=1e-9)


def _real(value: object) -> float:
    return to_float(value) if isinstance(value, int | Fraction) or hasattr(value, "order") else float(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "target"), CASES)
def test_bits_of_a_step_do_not_depend_on_the_batch(name: str, target: str) -> None:
    model = load_model(network_for(name, target))
    words = random_words(len(model.network.alphabet), batch=33, length=20)
    together = steps(model, words)
    for i in (0, 16, 32):
        assert torch.equal(steps(model, words[i : i + 1])[0], together[i])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    ("name", "target"),
    [("flip-flop", "diagonal"), ("tomita-4", "mamba"), ("parity", "diagonal-signed"), ("s3", "pd-ssm")],
)
def test_half_precision_is_exact_where_the_weights_are(name: str, target: str, dtype: torch.dtype) -> None:
    language = facts_of(name).language
    model = load_model(network_for(name, target), dtype=dtype)
    assert model.inexact_weights() == ()
    words = random_words(len(language.alphabet), batch=2, length=500)
    expected = legal_table(language, words)
    assert torch.equal(model.legal(model(words)[0]), expected)
    assert torch.equal(model.legal(steps(model, words[:, :50])), expected[:, :50])


@pytest.mark.parametrize("normaliser", ["softmax", "sparsemax", "hardmax"])
@pytest.mark.parametrize("target", ["ssm", "elman-relu"])
def test_ngrams_give_the_distribution_of_the_model(normaliser: str, target: str) -> None:
    network = network_for("ngram-seed", target, normaliser=normaliser)
    model = load_model(network, dtype=torch.float64)
    word = lawful_word(facts_of("ngram-seed").language, 30, seed=5)
    scores, _ = model(torch.tensor([word]))
    given = model.distribution(scores)[0]
    torch.testing.assert_close(given.sum(-1), torch.ones(len(word), dtype=torch.float64))
    answers = Interpreter(network).run(word)[1:]
    # Before the first whole context the network may say anything.
    for time, answer in list(enumerate(answers))[2:]:
        assert answer.distribution is not None
        expected = [float(answer.distribution.get(i, 0)) for i in range(len(network.alphabet) + 1)]
        wanted = torch.tensor(expected, dtype=torch.float64)
        torch.testing.assert_close(given[time], wanted, atol=1e-9, rtol=0)
        allowed = [i in answer.legal.symbols for i in range(len(network.alphabet))]
        assert model.legal(scores)[0, time].tolist() == [*allowed, answer.legal.end]


def test_a_network_without_probabilities_has_no_distribution() -> None:
    model = load_model(network_for("parity", "diagonal-signed"))
    with pytest.raises(InputError, match="no probabilities"):
        model.distribution(torch.zeros(1, 3))


def test_the_empty_prefix_is_answered() -> None:
    model = load_model(network_for("dyck-1", "gla"))
    assert model.empty.tolist() == [True, False, True]


def test_state_size_counts_complex_numbers_twice() -> None:
    assert load_model(network_for("cycle-navigation", "diagonal-complex")).state_size == 2
    assert load_model(network_for("flip-flop", "diagonal")).state_size == 6


def test_weights_that_a_type_cannot_hold_are_listed() -> None:
    network = _with_embedding(network_for("parity", "diagonal-signed"), 257)
    model = load_model(network, dtype=torch.float32)
    assert model.inexact_weights() == ()
    (rounded,) = model.inexact_weights(torch.bfloat16)
    assert (rounded.place, rounded.exact, rounded.rounded) == ("embedding", "257", 256.0)


def test_irrational_weights_are_listed_in_every_type() -> None:
    model = load_model(network_for("cycle-navigation", "diagonal-complex"), dtype=torch.float64)
    assert model.inexact_weights()


def test_a_weight_beyond_the_largest_number_is_refused() -> None:
    network = _with_embedding(network_for("parity", "diagonal-signed"), 70_000)
    with pytest.raises(
        InputError, match=r"embedding: the weight 70000 is beyond the largest float16, 6.55e\+04"
    ):
        load_model(network, dtype=torch.float16)
    with pytest.raises(InputError, match="beyond the largest float64"):
        load_model(_with_embedding(network_for("parity", "diagonal-signed"), 10**400), dtype=torch.float64)


def test_other_types_are_refused() -> None:
    network = network_for("parity", "diagonal-signed")
    with pytest.raises(InputError, match=r"cannot have the type int64; allowed are float64"):
        load_model(network, dtype=torch.int64)
    with pytest.raises(InputError, match="complex state"):
        load_model(network_for("cycle-navigation", "diagonal-complex"), dtype=torch.bfloat16)


@pytest.mark.parametrize(
    ("letters", "message"),
    [
        (torch.tensor([[0, 7]]), "letter 7 is out of range; the model reads 0 to 1"),
        (torch.tensor([[-1]]), "letter -1 is out of range"),
        (torch.zeros(1, 2), "whole numbers"),
        (torch.zeros(1, 0, dtype=torch.int64), "not empty"),
        (torch.zeros(3, dtype=torch.int64), r"reads \(batch, time\)"),
    ],
)
def test_letters_that_cannot_be_read(letters: torch.Tensor, message: str) -> None:
    model = load_model(network_for("parity", "diagonal-signed"))
    with pytest.raises(InputError, match=message):
        model(letters)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32])
@pytest.mark.parametrize(
    ("name", "target"), [("parity", "diagonal-signed"), ("s3", "dense"), ("s3", "pd-ssm")]
)
def test_letters_of_every_type_of_whole_numbers(name: str, target: str, dtype: torch.dtype) -> None:
    model = load_model(network_for(name, target))
    # As many words as letters: then torch could take bytes for a mask of the embedding.
    words = random_words(len(model.network.alphabet), batch=len(model.network.alphabet), length=7)
    assert torch.equal(model(words.to(dtype))[0], model(words)[0])
    assert torch.equal(steps(model, words.to(dtype)), steps(model, words))


def test_a_state_that_does_not_fit() -> None:
    model = load_model(network_for("flip-flop", "diagonal"))
    letters = torch.zeros(2, 3, dtype=torch.int64)
    for state, message in (
        (model.initial_state(1), "batch of 1; 2 were given"),
        ({}, "is missing"),
        (
            model.initial_state(2) | {"9.h": torch.zeros(2, 1)},
            r"'9\.h' of the state is not one of this model",
        ),
    ):
        with pytest.raises(InputError, match=message):
            model(letters, state)
        with pytest.raises(InputError, match=message):
            model.step(letters[:, 0], state)


def test_the_given_state_is_not_changed() -> None:
    model = load_model(network_for("s3", "householder"))
    state = model.initial_state(2)
    before = {name: value.clone() for name, value in state.items()}
    model.step(torch.tensor([1, 0]), state)
    model(torch.tensor([[1, 0], [0, 1]]), state)
    assert all(torch.equal(state[name], before[name]) for name in before)


def test_gradients_reach_weights_that_are_asked_for() -> None:
    model = load_model(network_for("tomita-4", "mamba"), dtype=torch.float64)
    assert not any(p.requires_grad for p in model.parameters())
    model.requires_grad_(True)
    scores, _ = model(torch.tensor([[0, 1, 0, 0, 1]]))
    scores.sum().backward()
    assert model.embedding.grad is not None
    assert model.embedding.grad.abs().sum() > 0


def _with_embedding(network: Network, value: int) -> Network:
    """The network with one more direction on the stream, which nobody reads."""
    embedding = network.embedding
    vectors = tuple((*vector, value if i == 0 else 0) for i, vector in enumerate(embedding.vectors))
    wider = Embedding(directions=(*embedding.directions, "unused"), vectors=vectors)
    return dataclasses.replace(network, embedding=wider)
