"""The SSM with a delay line, on the paper's language and on models made by hand."""

from __future__ import annotations

import functools
import itertools
from fractions import Fraction

import numpy as np
import pytest

from nerode.languages.ngrams import seed_templates
from nerode.network import Network
from nerode.network.interpreter import Interpreter
from tests.compiler.constructions.ngrams.models import (
    EPS,
    compiled,
    distance,
    exact_model,
    from_text,
    hidden_rows,
    power,
    recurrence_rows,
    seed,
    softmax_of,
    worst_on,
)

EXPONENTS = {1: (2, 8), 2: range(2, 9), 3: (2, 8), 10: range(2, 9)}
"""Which eps = 10^-k are tried for each width."""


@functools.cache
def seed_network(width: int, exponent: int = 3) -> Network:
    return compiled(seed(), embedding_width=width, eps=Fraction(1, 10**exponent))


@pytest.mark.parametrize("width", [1, 2, 3, 10])
def test_one_neuron_for_each_context(width: int) -> None:
    network = seed_network(width)
    (layer,) = network.layers
    assert layer.width == network.state_size == 145
    assert len(network.decoder.rows) == 80
    assert len(network.embedding.directions) == width
    assert len(set(network.embedding.vectors)) == 79
    assert network.origin.construction == "n-gram-ssm"


@pytest.mark.parametrize("width", [1, 2, 3, 10])
def test_the_cube_of_the_matrix_is_zero(width: int) -> None:
    matrix, _ = recurrence_rows(seed_network(width))
    assert any(power(matrix, 2))
    assert not any(power(matrix, 3))
    # By the places of its zeros: no neuron reads itself, or one that reads one that is read.
    reads = [set(row) for row in matrix]
    twice = set().union(*(reads[j] for row in reads for j in row))
    assert all(not reads[j] for j in twice)


@functools.cache
def hidden(width: int) -> list[list[Fraction]]:
    """The hidden matrix, each context after a prefix that no sentence has."""
    return hidden_rows(seed_network(width), seed().windows, junk=(78, 0, 41))


@pytest.mark.parametrize("width", EXPONENTS)
def test_the_distance_is_below_eps_after_every_context(width: int) -> None:
    model = exact_model(seed())
    for exponent in EXPONENTS[width]:
        eps = Fraction(1, 10**exponent)
        network = seed_network(width, exponent)
        assert network.layers == seed_network(width).layers, "eps is a matter of the output layer"
        worst = max(
            distance(softmax_of(network, row), model.distribution(window))
            for row, window in zip(hidden(width), seed().windows, strict=True)
        )
        assert worst == eps / 2


def test_the_sentences_pass_through_the_contexts_and_no_others() -> None:
    """All 7,980 sentences, all prefixes of three words or more; the last three words decide.

    That they decide is the next test; here is what they can be.
    """
    sentences = list(seed_templates().sentences())
    assert len(sentences) == 7980
    assert {len(sentence) for sentence in sentences} == {14, 20}
    vocabulary = seed().alphabet
    seen = {s[k - 3 : k] for s in sentences for k in range(3, len(s) + 1)}
    assert {vocabulary.encode(window) for window in seen} == set(seed().windows)


def test_all_prefixes_of_some_sentences_run_from_the_start() -> None:
    model = exact_model(seed())
    interpreter = Interpreter(seed_network(2))
    for sentence in itertools.islice(seed_templates().sentences(), 0, None, 1000):
        word = seed().alphabet.encode(sentence)
        answers = interpreter.run(word)
        for k in range(3, len(word) + 1):
            answer = answers[k]
            assert answer.distribution is not None
            assert distance(answer.distribution, model.next_distribution(word[:k])) < EPS
            assert answer.legal == seed().legal_along(word[:k])[-1]


@pytest.mark.parametrize("width", [1, 2, 10])
def test_words_older_than_the_window_change_nothing(width: int) -> None:
    interpreter = Interpreter(seed_network(width))
    rng = np.random.default_rng(0)
    for window in (seed().windows[100], (5, 5, 5)):
        states = set()
        for length in (0, 1, 2, 5):
            state = interpreter.start()
            for word in (*rng.integers(0, 79, length).tolist(), *window):
                state, answer = interpreter.step(state, word)
            states.add((state, tuple(sorted(answer.distribution.items()))))
        assert len(states) == 1


def test_a_word_inside_the_window_matters() -> None:
    """A control for the test above."""
    interpreter = Interpreter(seed_network(2))
    first, second = seed().windows[0], seed().windows[-1]
    assert interpreter.run(first)[-1].distribution != interpreter.run(second)[-1].distribution


@pytest.mark.parametrize(("width", "condition"), [(2, 1.0), (3, 15.94), (10, 15.94)])
def test_the_hidden_matrix_is_well_conditioned(width: int, condition: float) -> None:
    """All its entries are 0 or 1. (The spec has 119, 161 and 477 for these widths.)"""
    assert {value for row in hidden(width) for value in row} == {0, 1}
    assert np.linalg.cond(np.array(hidden(width), dtype=float)) == pytest.approx(condition, rel=0.01)


@pytest.mark.parametrize(("normaliser", "width"), [("sparsemax", 1), ("sparsemax", 10), ("hardmax", 2)])
def test_without_a_softmax_the_distance_is_zero(normaliser: str, width: int) -> None:
    network = compiled(seed(), embedding_width=width, normaliser=normaliser)
    assert worst_on(network, seed(), seed().windows) == 0


HAND_MADE = {
    "bigrams": from_text(2, "a b a b a", "b b", "c a"),
    "trigrams": from_text(3, "the cat sat", "the dog sat down", "a cat ran", "a cat sat"),
    "five words": from_text(5, "a b c d e f", "f e d c b a", "a a a a a b", "b c d e f a c"),
    "all triples of two letters": from_text(4, "a a a b a b b b a a"),
}


@pytest.mark.parametrize("name", HAND_MADE)
@pytest.mark.parametrize("width", [1, 2, 3, 6])
def test_models_made_by_hand(name: str, width: int) -> None:
    language = HAND_MADE[name]
    order = exact_model(language).order
    network = compiled(language, embedding_width=width)
    assert network.state_size == len(language.windows)
    assert len(network.embedding.directions) == width
    matrix, _ = recurrence_rows(network)
    assert not any(power(matrix, order - 1))
    assert 0 < worst_on(network, language, language.windows, junk=(1, 0, 1, 1)) < EPS


def test_names_can_be_read() -> None:
    network = compiled(HAND_MADE["trigrams"], embedding_width=2)
    (layer,) = network.layers
    assert layer.state[:2] == ("keep 0.0", "keep 0.1")
    assert "after cat sat" in layer.state
    assert "one neuron for each of the" in network.origin.route
