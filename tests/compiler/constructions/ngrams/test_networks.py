"""The SSM with a delay line, on the paper's language and on models made by hand."""

from __future__ import annotations

import functools
import itertools
from fractions import Fraction

import numpy as np
import pytest

from nerode.compiler.constructions.ngrams import networks
from nerode.languages.ngrams import seed_templates
from nerode.network import Affine, Network
from nerode.network.step import Interpreter
from tests.compiler.constructions.ngrams.models import (
    EPS,
    Rows,
    compiled,
    distance,
    exact_model,
    from_text,
    hidden_rows,
    power,
    recurrence_rows,
    seed,
    softmax_of,
    times,
    worst_on,
)

EXPONENTS = {1: (2, 8), 2: range(2, 9), 3: (8,), 10: (2, 8)}
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


LANGUAGE = from_text(4, "a b c a a b b c c a c b", "b a a c c c", "a a a b b b")


@functools.cache
def conditioned_seed(width: int, *, unknown: bool = False) -> Network:
    if unknown:
        return compiled(seed(), embedding_width=width, unknown_contexts=True)
    return compiled(seed(), embedding_width=width, variant="conditioned")


def blocks(network: Network) -> list[Rows]:
    """B₀, B₁ … of the detectors: the words of each context, newest first, over the gap of the embedding."""
    points = network.embedding.vectors
    products = [sum(a * b for a, b in zip(p, q, strict=True)) for p, q in itertools.combinations(points, 2)]
    gap = sum(v * v for v in points[0]) - max(products)
    return [
        [
            {c: Fraction(v, gap) for c, v in enumerate(points[window[-1 - age]]) if v}
            for window in seed().windows
        ]
        for age in range(3)
    ]


@pytest.mark.parametrize(("width", "unknown"), [(2, False), (2, True), (10, True)])
def test_the_matrix_moves_each_block_one_age_on(width: int, unknown: bool) -> None:
    network = conditioned_seed(width, unknown=unknown)
    matrix, write = recurrence_rows(network)
    own, always = matrix[:145], matrix[145:]
    assert always == [{}] * unknown
    first, second, third = blocks(network)
    assert write[:145] == first
    assert times(own, first) == second
    assert times(own, second) == third
    assert not any(times(own, third))


@pytest.mark.parametrize("width", [2, 10])
def test_the_cube_of_the_sparse_matrix_is_zero(width: int) -> None:
    matrix, _ = recurrence_rows(conditioned_seed(width, unknown=True))
    assert len({j for row in matrix for j in row}) <= 3 * width
    assert any(power(matrix, 2))
    assert not any(power(matrix, 3))


def test_the_cube_of_the_pseudo_inverse_matrix_is_zero() -> None:
    """A³ = 0 follows from A B = [B₁ B₂ 0] when A reads only what B spans; here it is multiplied out."""
    matrix, _ = recurrence_rows(compiled(LANGUAGE, embedding_width=2, variant="conditioned"))
    assert sum(map(len, matrix)) > 3 * 2 * len(matrix), "the pseudo-inverse reads more than a basis"
    assert not any(power(matrix, 3))


def test_the_hidden_matrix_is_the_identity() -> None:
    network = conditioned_seed(10, unknown=True)
    hidden = hidden_rows(network, seed().windows, junk=(3, 1, 4))
    assert hidden == [[Fraction(j in (i, 145)) for j in range(146)] for i in range(145)]


def test_a_pseudo_inverse_network_made_by_hand() -> None:
    hidden = hidden_rows(compiled(LANGUAGE, embedding_width=2, variant="conditioned"), LANGUAGE.windows)
    size = len(LANGUAGE.windows)
    assert hidden == [[Fraction(i == j) for j in range(size)] for i in range(size)]


def test_large_models_get_a_sparse_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "MOST_CONTEXTS", 5)
    language = from_text(3, "a b c a a b b c c a", "d a b d")
    network = compiled(language, embedding_width=2, variant="conditioned")
    matrix, _ = recurrence_rows(network)
    assert len({j for row in matrix for j in row}) <= 4 < len(language.windows)
    assert worst_on(network, language, language.windows, junk=(1, 2, 3)) < EPS


def test_contexts_that_do_not_span_get_a_delay_line_beside_them() -> None:
    """All contexts end in b, so their newest words span one dimension."""
    language = from_text(3, "a b", "c b", "d b")
    network = compiled(language, embedding_width=2, variant="conditioned")
    assert network.state_size == 3 + 2
    assert "beside the delay line" in network.origin.route
    hidden = hidden_rows(network, language.windows)
    assert [row[2:] for row in hidden] == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert worst_on(network, language, language.windows, junk=(1, 2)) < EPS


@functools.cache
def recurrent_seed(width: int) -> Network:
    return compiled(seed(), "elman-relu", embedding_width=width)


PRIME = 2**31 - 1


def rank(rows: list[list[Fraction]]) -> int:
    """The rank modulo a large prime, which is never above the rank, and equal to it barring a coincidence."""
    table = np.array([[v.numerator * pow(v.denominator, -1, PRIME) % PRIME for v in row] for row in rows])
    found = 0
    for column in range(table.shape[1]):
        below = np.flatnonzero(table[found:, column])
        if not len(below):
            continue
        table[[found, found + below[0]]] = table[[found + below[0], found]]
        table[found] = table[found] * pow(int(table[found, column]), -1, PRIME) % PRIME
        factors = table[found + 1 :, column].copy()
        table[found + 1 :] = (table[found + 1 :] - factors[:, None] * table[found]) % PRIME
        found += 1
        if found == len(table):
            break
    return found


@functools.cache
def recurrent_hidden(width: int) -> list[list[Fraction]]:
    return hidden_rows(recurrent_seed(width), seed().windows, junk=(9, 8, 7))


@pytest.mark.parametrize("width", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 10))])
def test_one_unit_for_each_context(width: int) -> None:
    network = recurrent_seed(width)
    (layer,) = network.layers
    assert layer.width == 145
    assert layer.outputs[-1] == "one", "the output bias is a direction that is always 1"
    model = exact_model(seed())
    worst = max(
        distance(softmax_of(network, row), model.distribution(window))
        for row, window in zip(recurrent_hidden(width), seed().windows, strict=True)
    )
    assert worst == EPS / 2


@pytest.mark.parametrize("width", [1, 2, 10])
def test_the_matrix_is_block_nilpotent(width: int) -> None:
    """A³ = 0, and the kernels of A and A² are spanned by coordinates: what they read is what they miss."""
    matrix, _ = recurrence_rows(recurrent_seed(width))
    assert not any(power(matrix, 3))
    for exponent in (1, 2):
        rows = power(matrix, exponent)
        read = {j for row in rows for j in row}
        dense = [[row.get(j, Fraction(0)) for j in sorted(read)] for row in rows]
        assert rank(dense) == len(read)


@pytest.mark.parametrize("width", [1, 2, 10])
def test_delay_units_stay_above_zero(width: int) -> None:
    """So that their ReLU does nothing and the next one can copy them."""
    assert all(1 <= value <= 3 for row in recurrent_hidden(width) for value in row[: 2 * width])


@pytest.mark.parametrize("width", [2, 10])
def test_match_units_are_the_identity_on_their_contexts(width: int) -> None:
    units = [row[2 * width : -1] for row in recurrent_hidden(width)]
    assert sorted(sum(row) for row in units) == [0] * (2 * width) + [1] * (145 - 2 * width)
    assert all(sum(column) == 1 for column in zip(*units, strict=True))


@pytest.mark.parametrize("width", [1, 2, 10])
def test_with_a_large_bias_on_all_units_contexts_cannot_be_told_apart(width: int) -> None:
    """The paper's argument for RNNs: a large bias makes the ReLUs redundant.

    The hidden state is then affine in the 3e coordinates of the last three words, so the 145 hidden states
    span no more than 3e+1 dimensions and cannot be linearly independent.
    """
    update = _generic_block_nilpotent(np.random.default_rng(width), width)
    points = recurrent_seed(width).embedding.vectors
    states = []
    for window in seed().windows:
        state = [0] * 145
        for word in window:
            state = update([*points[word], *state])
            assert min(state) > 0, "the ReLUs are redundant"
        states.append([Fraction(value) for value in state])
    assert rank(states) == 3 * width + 1
    # The corrected network tells all of them apart.
    assert rank(recurrent_hidden(width)) == 145


def _generic_block_nilpotent(rng: np.random.Generator, width: int) -> Affine:
    """Random whole B and A, A in three blocks below the diagonal, and a bias that outweighs everything."""
    block = np.arange(145) * 3 // 145
    rows = []
    for i in range(145):
        written = list(enumerate(rng.integers(-3, 4, width).tolist()))
        read = [(width + j, int(rng.integers(-1, 2))) for j in range(145) if block[j] < block[i]]
        rows.append(tuple((j, v) for j, v in [*written, *read] if v))
    # A block adds at most 145 values of each block before it, so its bias must outweigh those.
    bias = tuple(10 ** (6 + 5 * int(b)) for b in block)
    return Affine(num_inputs=width + 145, bias=bias, rows=tuple(rows))


def test_recurrent_units_forget_words_older_than_the_window() -> None:
    interpreter = Interpreter(recurrent_seed(2))
    window = seed().windows[17]
    answers = {
        tuple(sorted(interpreter.run((*junk, *window))[-1].distribution.items()))
        for junk in ((), (0,), (78, 77), (1, 2, 3, 4, 5))
    }
    assert len(answers) == 1


@pytest.mark.parametrize("normaliser", ["sparsemax", "hardmax"])
def test_recurrent_without_a_softmax_the_distance_is_zero(normaliser: str) -> None:
    network = compiled(seed(), "elman-relu", normaliser=normaliser)
    assert worst_on(network, seed(), seed().windows[::5]) == 0


@pytest.mark.parametrize("order", [2, 3, 5])
def test_recurrent_models_made_by_hand(order: int) -> None:
    language = from_text(order, "a b c d e a c e b d", "e d c b a a b b c c", "a a a a a a b")
    network = compiled(language, "elman-relu")
    assert network.state_size == len(language.windows)
    assert 0 < worst_on(network, language, language.windows, junk=(1, 1, 2, 0)) < EPS
