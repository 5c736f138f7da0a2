"""Counters modulo odd numbers on RWKV-7: matrices that its layers have, proved at every length."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from nerode.compiler import compile_language
from nerode.compiler.level_codings import StretchedMirrors
from nerode.core import BudgetExceeded, Exact, to_complex
from nerode.kernel import PREDICT, Certificate
from nerode.languages.bestiary import find_language
from nerode.network import ByChoice, Network
from nerode.proofs import certify
from nerode.proofs.invariants import ray_cover
from nerode.proofs.proving import Prover
from tests.compiler.agreement import assert_does

LEAST_DECAY = math.exp(-math.exp(-0.5))


def mirrored(name: str) -> Network:
    network = compile_language(find_language(name), "rwkv-7")
    assert network.origin.construction == "fading-cascade"
    return network


def real(value: Exact) -> float:
    return to_complex(value).real


@pytest.mark.parametrize("m", [3, 5, 7, 9, 11, 13, 31, pytest.param(101, marks=pytest.mark.slow)])
def test_every_matrix_is_one_of_rwkv_7(m: int) -> None:
    """w I - a k kᵀ with w in (0.545, 1) and a in (0, 1)."""
    coding = StretchedMirrors(m)
    for odd in (False, True):
        for amount in range(m):
            ((_, a), (_, b)), ((_, c), (_, d)) = coding.move(amount, odd=odd)
            assert b == c
            trace, determinant = real(a + d), real(a * d - b * c)
            spread = math.sqrt(trace * trace - 4 * determinant)
            decay = (trace + spread) / 2
            assert LEAST_DECAY < decay < 1
            assert 0 < spread < 1


@pytest.mark.parametrize("m", [3, 5, 7])
def test_a_matrix_takes_lines_to_lines(m: int) -> None:
    """From even to odd positions and back: label and amount are added modulo m, whatever the length is."""
    coding = StretchedMirrors(m)

    def along(label: int, odd: bool) -> tuple[Exact, Exact]:
        x, y = coding.vector(label)
        return (x, -y * Fraction(1, coding.stretch**2)) if odd else (x, y)

    for label in range(m):
        for amount in range(m):
            for odd in (False, True):
                x, y = along(label, not odd)
                matrix = coding.move(amount, odd=odd)
                u, v = (row[0][1] * x + row[1][1] * y for row in matrix)
                p, q = along((label + amount) % m, odd)
                assert u * q - v * p == 0


NAMES = ["z3", "s3", "s4", "tomita-6", "cycle-navigation", "t3", "cyclic-monoid-2-3", "z5"]


@pytest.mark.parametrize("name", NAMES)
def test_every_length_is_proved(name: str) -> None:
    network = mirrored(name)
    assert_does(network, name, short=5, long=60)
    certificate = certify(network, find_language(name))
    assert isinstance(certificate, Certificate)
    assert [(c.method, c.task, c.length, c.dtype) for c in certificate.claims] == [
        ("ray-closure", PREDICT, "all", None)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["z60", "a4xz5", "modular-arithmetic-simple", "cycle-navigation-announced"])
def test_every_length_of_larger_languages_is_proved(name: str) -> None:
    assert isinstance(certify(mirrored(name), find_language(name)), Certificate)


def changed(network: Network, **parts: Any) -> Network:
    (layer,) = [x for x in network.layers if isinstance(x.recurrence, ByChoice)]
    recurrence = replace(layer.recurrence, **parts)
    planted = replace(layer, recurrence=recurrence)
    return replace(network, layers=tuple(planted if x is layer else x for x in network.layers))


def moves_of(network: Network) -> ByChoice:
    (found,) = [x.recurrence for x in network.layers if isinstance(x.recurrence, ByChoice)]
    return found


def test_a_matrix_that_misses_its_line_is_refused() -> None:
    network, language = mirrored("z3"), find_language("z3")
    moves = moves_of(network)
    first, *rest = moves.fields()["matrices"]
    (entry, other), row = first
    wrong = (((entry[0], entry[1] * 2), other), row)
    broken = changed(network, table=replace(moves.table, matrices=(wrong, *rest)))
    assert not isinstance(certify(broken, language), Certificate)
    cover = {"task": PREDICT, **(ray_cover(network) or {})}
    assert not isinstance(Prover(broken, language).certify("ray-closure", [cover]), Certificate)


def test_a_write_beside_what_fades_is_refused() -> None:
    network, language = mirrored("z3"), find_language("z3")
    writes = ((1, 0), *moves_of(network).writes[1:])
    cover = {"task": PREDICT, **(ray_cover(network) or {})}
    proof = Prover(changed(network, writes=writes), language).certify("ray-closure", [cover])
    assert not isinstance(proof, Certificate)


@pytest.mark.parametrize("change", ["apart", "none", "too many"])
def test_rays_that_do_not_fit_prove_nothing(change: str) -> None:
    network, language = mirrored("z3"), find_language("z3")
    groups = (ray_cover(network) or {})["rays"]
    rays = {
        "apart": [[name] for group in groups for name in group],
        "none": [],
        "too many": [[name for group in groups for name in group]],
    }[change]
    try:
        failure = (
            Prover(network, language).prove("ray-closure", {"task": PREDICT, "rays": rays}, most=500).failure
        )
    except BudgetExceeded:
        return
    assert failure is not None
