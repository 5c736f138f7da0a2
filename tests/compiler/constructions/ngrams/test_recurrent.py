"""The Elman network with ReLU units, and why the paper's argument for it fails."""

from __future__ import annotations

import functools
from fractions import Fraction

import numpy as np
import pytest

from nerode.network import Affine, Network
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


@functools.cache
def seed_network(width: int) -> Network:
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
def hidden(width: int) -> list[list[Fraction]]:
    return hidden_rows(seed_network(width), seed().windows, junk=(9, 8, 7))


@pytest.mark.parametrize("width", [1, 2, 10])
def test_one_unit_for_each_context(width: int) -> None:
    network = seed_network(width)
    (layer,) = network.layers
    assert layer.width == 145
    assert layer.outputs[-1] == "one", "the output bias is a direction that is always 1"
    model = exact_model(seed())
    worst = max(
        distance(softmax_of(network, row), model.distribution(window))
        for row, window in zip(hidden(width), seed().windows, strict=True)
    )
    assert worst == EPS / 2


@pytest.mark.parametrize("width", [1, 2, 10])
def test_the_matrix_is_block_nilpotent(width: int) -> None:
    """A³ = 0, and the kernels of A and A² are spanned by coordinates: what they read is what they miss."""
    matrix, _ = recurrence_rows(seed_network(width))
    assert not any(power(matrix, 3))
    for exponent in (1, 2):
        rows = power(matrix, exponent)
        read = {j for row in rows for j in row}
        dense = [[row.get(j, Fraction(0)) for j in sorted(read)] for row in rows]
        assert rank(dense) == len(read)


@pytest.mark.parametrize("width", [1, 2, 10])
def test_delay_units_stay_above_zero(width: int) -> None:
    """So that their ReLU does nothing and the next one can copy them."""
    assert all(1 <= value <= 3 for row in hidden(width) for value in row[: 2 * width])


@pytest.mark.parametrize("width", [2, 10])
def test_match_units_are_the_identity_on_their_contexts(width: int) -> None:
    units = [row[2 * width : -1] for row in hidden(width)]
    assert sorted(sum(row) for row in units) == [0] * (2 * width) + [1] * (145 - 2 * width)
    assert all(sum(column) == 1 for column in zip(*units, strict=True))


@pytest.mark.parametrize("width", [1, 2, 10])
def test_with_a_large_bias_on_all_units_contexts_cannot_be_told_apart(width: int) -> None:
    """The paper's argument for RNNs: a large bias makes the ReLUs redundant.

    The hidden state is then affine in the 3e coordinates of the last three words, so the 145 hidden states
    span no more than 3e+1 dimensions and cannot be linearly independent.
    """
    update = _generic_block_nilpotent(np.random.default_rng(width), width)
    points = seed_network(width).embedding.vectors
    states = []
    for window in seed().windows:
        state = [0] * 145
        for word in window:
            state = update([*points[word], *state])
            assert min(state) > 0, "the ReLUs are redundant"
        states.append([Fraction(value) for value in state])
    assert rank(states) == 3 * width + 1
    # The corrected network tells all of them apart.
    assert rank(hidden(width)) == 145


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


def test_words_older_than_the_window_change_nothing() -> None:
    interpreter = Interpreter(seed_network(2))
    window = seed().windows[17]
    answers = {
        tuple(sorted(interpreter.run((*junk, *window))[-1].distribution.items()))
        for junk in ((), (0,), (78, 77), (1, 2, 3, 4, 5))
    }
    assert len(answers) == 1


@pytest.mark.parametrize("normaliser", ["sparsemax", "hardmax"])
def test_without_a_softmax_the_distance_is_zero(normaliser: str) -> None:
    network = compiled(seed(), "elman-relu", normaliser=normaliser)
    assert worst_on(network, seed(), seed().windows[::5]) == 0


@pytest.mark.parametrize("order", [2, 3, 5])
def test_models_made_by_hand(order: int) -> None:
    language = from_text(order, "a b c d e a c e b d", "e d c b a a b b c c", "a a a a a a b")
    network = compiled(language, "elman-relu")
    assert network.state_size == len(language.windows)
    assert 0 < worst_on(network, language, language.windows, junk=(1, 1, 2, 0)) < EPS
