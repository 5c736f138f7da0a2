"""Groups on RWKV-7: permutations by factors that all shrink the state, one block of letters later."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from nerode.compiler import Options, compile_language
from nerode.compiler.constructions.shrinking_blocks import factor, moves_of
from nerode.core import Budget, BudgetExceeded, NotCompilable
from nerode.kernel import PREDICT, Certificate
from nerode.languages import resolve_language
from nerode.languages.bestiary import find_language
from nerode.network import ByChoice, Layer, Network
from nerode.proofs import certify
from nerode.proofs.invariants import ray_cover
from nerode.proofs.proving import Prover
from tests.compiler.agreement import assert_does, build, first_disagreement

LEAST_DECAY = math.exp(-math.exp(-0.5))
SHARE = Fraction(45, 128)

Dense = list[list[Fraction]]


def dense(kind: str, pair: tuple[int, int], n: int) -> Dense:
    rows = [dict(row) for row in factor(kind, pair, n)]
    return [[Fraction(row.get(j, 0)) for j in range(n + 1)] for row in rows]


def times(left: Dense, right: Dense) -> Dense:
    columns = list(zip(*right, strict=True))
    return [[sum((a * b for a, b in zip(row, c, strict=True)), Fraction(0)) for c in columns] for row in left]


@pytest.mark.parametrize("kind", ["swap", "even", "idle"])
@pytest.mark.parametrize("n", [2, 5])
def test_every_factor_is_one_of_rwkv_7(kind: str, n: int) -> None:
    """diag(w) - (a ∘ κ) κᵀ with a unit vector κ, w in (0.545, 1) and a in (0, 1)."""
    matrix, half = dense(kind, (0, 1), n), Fraction(1, 2)
    # The squares and products of κ: of (1, -1)/√2, (1, 1)/√2 and the last axis.
    key = [[Fraction(0)] * (n + 1) for _ in range(n + 1)]
    if kind == "idle":
        key[n][n] = Fraction(1)
        removal = half
    else:
        sign = -1 if kind == "swap" else 1
        key[0][0], key[1][1], key[0][1], key[1][0] = half, half, sign * half, sign * half
        removal = -matrix[0][1] / key[0][1]
    assert 0 < removal < 1
    rest = [
        [m + removal * k for m, k in zip(row, keys, strict=True)]
        for row, keys in zip(matrix, key, strict=True)
    ]
    for i, row in enumerate(rest):
        assert LEAST_DECAY < row[i] < 1
        assert not any(v for j, v in enumerate(row) if j != i)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_factors_of_a_permutation_make_a_multiple_of_it(n: int) -> None:
    for images in itertools.permutations(range(n)):
        moves = moves_of(images)
        assert len(moves) <= 2 * (n - 1)
        product = [[Fraction(int(i == j)) for j in range(n + 1)] for i in range(n + 1)]
        for move in moves:
            product = times(dense(*move, n), product)
        share = SHARE ** (len(moves) // 2)
        assert all(product[i][j] == share * int(images[j] == i) for i in range(n) for j in range(n))


@pytest.mark.parametrize("name", ["a5-generators", "s5-generators", "a5", "s5"])
def test_groups_that_are_not_solvable_have_networks(name: str) -> None:
    network = compile_language(find_language(name), "rwkv-7")
    assert network.origin.construction == "shrinking-blocks"
    assert "blocks of 8 letters" in network.origin.route
    assert_does(network, name, short=2 if len(network.alphabet) > 2 else 10, long=400)


@pytest.mark.parametrize("name", ["z2", "z3", "s3"])
def test_every_length_is_proved(name: str) -> None:
    network = build("shrinking-blocks", name, "rwkv-7")
    assert_does(network, name, short=4, long=200)
    certificate = certify(network, find_language(name))
    assert isinstance(certificate, Certificate)
    assert [(c.method, c.task, c.length, c.dtype) for c in certificate.claims] == [
        ("ray-closure", PREDICT, "all", None)
    ]


@pytest.mark.slow
def test_every_length_of_a_larger_group_is_proved() -> None:
    network = build("shrinking-blocks", find_language("a4"), "rwkv-7")
    assert isinstance(certify(network, find_language("a4"), budget=Budget(seconds=600)), Certificate)


def changed(
    network: Network, is_wanted: Callable[[Layer], bool], change: Callable[[Layer], Layer]
) -> Network:
    (wanted,) = [layer for layer in network.layers if is_wanted(layer)]
    return replace(network, layers=tuple(change(x) if x is wanted else x for x in network.layers))


def is_vector(layer: Layer) -> bool:
    return isinstance(layer.recurrence, ByChoice)


def with_factors(change: Callable[[list[Any]], list[Any]]) -> Callable[[Layer], Layer]:
    def changed_layer(layer: Layer) -> Layer:
        moves = layer.recurrence
        assert isinstance(moves, ByChoice)
        matrices = tuple(change(list(moves.fields()["matrices"])))
        return replace(layer, recurrence=replace(moves, table=replace(moves.table, matrices=matrices)))

    return changed_layer


def uneven(matrices: list[Any]) -> list[Any]:
    """The first factor of a swap shrinks a point that takes no part in it more than the others."""
    rows = list(matrices[1])
    alone = next(i for i, row in enumerate(rows) if len(row) == 1)
    rows[alone] = ((alone, rows[alone][0][1] * Fraction(1, 2)),)
    return [matrices[0], tuple(rows), *matrices[2:]]


WRONG = {
    "two factors exchanged": (is_vector, with_factors(lambda m: [m[0], m[2], m[1], *m[3:]])),
    "one factor uneven": (is_vector, with_factors(uneven)),
    "a vector of equal numbers": (is_vector, lambda layer: replace(layer, start=(1, 1, 1, 0))),
    "a clock one letter late": (
        lambda layer: layer.name == "position bit 0",
        lambda layer: replace(layer, start=(1,)),
    ),
}


@pytest.mark.parametrize("planted", list(WRONG))
def test_a_wrong_network_is_refused(planted: str) -> None:
    network, language = build("shrinking-blocks", "z3", "rwkv-7"), find_language("z3")
    cover = {"task": PREDICT, **(ray_cover(network) or {})}
    assert Prover(network, language).prove("ray-closure", cover, most=500).failure is None
    broken = changed(network, *WRONG[planted])
    assert first_disagreement(broken, language, short=8, long=300) is not None
    try:
        failure = Prover(broken, language).prove("ray-closure", cover, most=500).failure
    except BudgetExceeded:
        return
    assert failure is not None


def test_many_points_are_refused_in_words() -> None:
    language = resolve_language("(" + "a" * 31 + ")*")
    with pytest.raises(NotCompilable, match="on 31 points have more than 50,000 units"):
        compile_language(language, "rwkv-7", Options(construction="shrinking-blocks"))
