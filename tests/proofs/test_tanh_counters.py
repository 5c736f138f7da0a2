"""Counters of tanh units: proved for every length, errors of tanh included, and wrong ones refused."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest

from nerode.compiler import compile_language
from nerode.core import Budget
from nerode.kernel import PREDICT, Certificate, certificate_to_json
from nerode.kernel.rooms.knowledge import squash_errors
from nerode.languages import CounterLanguage, describe_language
from nerode.languages.bestiary import find_language
from nerode.network import Network, Squashed, network_to_json
from nerode.proofs import certify, check
from nerode.proofs.counters import squash_cover
from nerode.proofs.proving import Prover
from tests.compiler.agreement import assert_does

METHOD = "counter-invariant"
DYCK = find_language("dyck-1")


def tanh(name: str) -> Network:
    network = compile_language(find_language(name), "elman-tanh")
    assert network.origin.construction == "tanh-counters"
    assert all(
        isinstance(x.recurrence, Squashed) and x.recurrence.activation == "tanh" for x in network.layers
    )
    return network


@pytest.mark.parametrize("name", ["dyck-1", "shuffle-2", "boolean-3", "majority", "anbn", "anbncn"])
def test_all_words_of_all_lengths_are_proved(name: str) -> None:
    language, network = find_language(name), tanh(name)
    certificate = certify(network, language)
    assert isinstance(certificate, Certificate)
    assert [(c.method, c.task, c.length, c.dtype) for c in certificate.claims] == [
        (METHOD, PREDICT, "all", None)
    ]
    parts = network_to_json(network), describe_language(language, Budget()), certificate_to_json(certificate)
    assert check(*parts).ok
    assert_does(network, name, short=5, long=60)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["boolean-5", "shuffle-4", "shuffle-6", "anbncndn"])
def test_more_counters_are_proved(name: str) -> None:
    assert isinstance(certify(tanh(name), find_language(name)), Certificate)


def quotients(start: Decimal, writes: list[int], weight: Decimal) -> list[Decimal]:
    """h/u after each letter of h ← tanh(c h + s u) beside u ← tanh(c u), to 120 digits."""

    def squash(value: Decimal) -> Decimal:
        twice = (2 * value).exp()
        return (twice - 1) / (twice + 1)

    found, u, h = [], start, Decimal(0)
    for amount in writes:
        u = squash(weight * u)
        h = squash(weight * h + amount * u)
        found.append(h / u)
    return found


@pytest.mark.parametrize("most", [1, 2, 4])
def test_errors_are_below_their_bound(most: int) -> None:
    start = Fraction(1)
    while squash_errors(start, most) > Fraction(1, 4):
        start /= 2
    with localcontext(prec=200):
        for writes in ([most] * 60, [most] * 30 + [-most] * 30, [most, -most] * 30):
            first = Decimal(start.numerator) / start.denominator
            count, bound = 0, squash_errors(start, most)
            for amount, quotient in zip(writes, quotients(first, writes, Decimal("0.25")), strict=True):
                count += amount
                assert abs(quotient - count) <= Decimal(bound.numerator) / bound.denominator


def test_the_sum_of_the_errors_is_below_two() -> None:
    assert sum((t + 3) ** 3 * 0.25 ** (2 * t + 2) for t in range(60)) < 2
    for z in (0.001, 0.1, 0.25):
        assert z / math.tanh(z) <= 1 + z * z / 3
        assert math.tanh(z) >= 2 * z / 3


def cover_of(network: Network) -> dict[str, Any]:
    assert isinstance(DYCK, CounterLanguage)
    return {"task": PREDICT, **(squash_cover(network, DYCK) or {})}


def changed(network: Network, number: int, **parts: Any) -> Network:
    layers = list(network.layers)
    layers[number] = replace(layers[number], **parts)
    return replace(network, layers=tuple(layers))


def with_weight(network: Network, number: int, weight: Fraction) -> Network:
    recurrence = network.layers[number].recurrence
    assert isinstance(recurrence, Squashed)
    update = recurrence.update
    last = update.num_inputs - 1
    rows = tuple(tuple((j, weight if j == last else c) for j, c in row) for row in update.rows)
    return changed(network, number, recurrence=replace(recurrence, update=replace(update, rows=rows)))


@pytest.mark.parametrize("number", [0, 1, 2])
def test_another_weight_is_refused(number: int) -> None:
    """Unit, counter and tally fade alike, or nothing is proved; the tally may fade more slowly."""
    network = tanh("dyck-1")
    broken = with_weight(network, number, Fraction(1, 8))
    assert Prover(broken, DYCK).prove(METHOD, cover_of(network)).failure is not None
    assert not isinstance(certify(broken, DYCK), Certificate)


def test_a_write_that_is_not_the_unit_is_refused() -> None:
    network = tanh("dyck-1")
    recurrence = network.layers[1].recurrence
    assert isinstance(recurrence, Squashed)
    rows = tuple(
        tuple((j, c * Fraction(99, 100) if j < recurrence.update.num_inputs - 1 else c) for j, c in row)
        for row in recurrence.update.rows
    )
    planted = replace(recurrence, update=replace(recurrence.update, rows=rows))
    broken = changed(network, 1, recurrence=planted)
    assert Prover(broken, DYCK).prove(METHOD, cover_of(network)).failure is not None


def test_a_large_start_is_refused() -> None:
    network = tanh("dyck-1")
    failure = Prover(changed(network, 0, start=(1,)), DYCK).prove(METHOD, cover_of(network)).failure
    assert failure is not None
    assert "errors of tanh" in failure.what


def test_a_network_without_tanh_is_no_such_network() -> None:
    network = tanh("dyck-1")
    for number in range(3):
        recurrence = network.layers[number].recurrence
        assert isinstance(recurrence, Squashed)
        broken = changed(network, number, recurrence=replace(recurrence, activation="relu"))
        assert Prover(broken, DYCK).prove(METHOD, cover_of(network)).failure is not None


@pytest.mark.parametrize(
    "change",
    [
        {"squashed": ["2:c0", "1/4"]},
        {"squashed": ["3:dead", "1/4"]},
        {"scale": "1/8"},
        {"tallies": []},
        {"tallies": ["2:c0", "3:dead"]},
        {"affine": {"1:scale": [1, [0]], "2:c0": [1, [1]]}},
        {"affine": {"2:c0": [0, [1]]}},
    ],
)
def test_covers_that_do_not_fit_prove_nothing(change: dict[str, Any]) -> None:
    network = tanh("dyck-1")
    prover, cover = Prover(network, DYCK), cover_of(network)
    assert prover.prove(METHOD, cover).failure is None
    assert prover.prove(METHOD, {**cover, **change}).failure is not None


@pytest.mark.parametrize(
    "change",
    [
        {"squashed": ["1:scale", "1/2"]},
        {"squashed": ["1:scale", "1/100"]},
        {"scale": "1/2"},
        {"scale": -1},
    ],
)
def test_tolerances_without_an_argument_are_unreadable(change: dict[str, Any]) -> None:
    network = tanh("dyck-1")
    failure = Prover(network, DYCK).prove(METHOD, {**cover_of(network), **change}).failure
    assert failure is not None
    assert "tanh" in failure.what
