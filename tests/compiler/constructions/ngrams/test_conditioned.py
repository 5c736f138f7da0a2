"""The SSM whose neurons are all detectors."""

from __future__ import annotations

import functools
import itertools
from fractions import Fraction

import pytest

from nerode.compiler.constructions.ngrams import conditioned
from nerode.network import Network
from tests.compiler.constructions.ngrams.models import (
    EPS,
    Rows,
    compiled,
    from_text,
    hidden_rows,
    power,
    recurrence_rows,
    seed,
    times,
    worst_on,
)

LANGUAGE = from_text(4, "a b c a a b b c c a c b", "b a a c c c", "a a a b b b")


@functools.cache
def seed_network(width: int, *, unknown: bool = False) -> Network:
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
    network = seed_network(width, unknown=unknown)
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
    matrix, _ = recurrence_rows(seed_network(width, unknown=True))
    assert len({j for row in matrix for j in row}) <= 3 * width
    assert any(power(matrix, 2))
    assert not any(power(matrix, 3))


def test_the_cube_of_the_pseudo_inverse_matrix_is_zero() -> None:
    """A³ = 0 follows from A B = [B₁ B₂ 0] when A reads only what B spans; here it is multiplied out."""
    matrix, _ = recurrence_rows(compiled(LANGUAGE, embedding_width=2, variant="conditioned"))
    assert sum(map(len, matrix)) > 3 * 2 * len(matrix), "the pseudo-inverse reads more than a basis"
    assert not any(power(matrix, 3))


def test_the_hidden_matrix_is_the_identity() -> None:
    network = seed_network(10, unknown=True)
    hidden = hidden_rows(network, seed().windows, junk=(3, 1, 4))
    assert hidden == [[Fraction(j in (i, 145)) for j in range(146)] for i in range(145)]


def test_a_pseudo_inverse_network_made_by_hand() -> None:
    hidden = hidden_rows(compiled(LANGUAGE, embedding_width=2, variant="conditioned"), LANGUAGE.windows)
    size = len(LANGUAGE.windows)
    assert hidden == [[Fraction(i == j) for j in range(size)] for i in range(size)]


def test_large_models_get_a_sparse_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditioned, "MOST_CONTEXTS", 5)
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
