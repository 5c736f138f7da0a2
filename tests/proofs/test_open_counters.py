"""Counters whose gates lie strictly between 0 and 1: proved for every length, and wrong ones refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from nerode.compiler import Options, compile_language
from nerode.core import Budget
from nerode.kernel import PREDICT, VALID_PREFIXES, Certificate, Refutation, certificate_to_json
from nerode.languages import describe_language
from nerode.languages.bestiary import find_language
from nerode.network import Network, network_to_json
from nerode.network.affine import constant_map
from nerode.proofs import certification, certify, check
from nerode.proofs.counters import find_scale, scale_cover
from nerode.proofs.proving import Prover
from tests.proofs.test_counters import with_layer

METHOD = "counter-invariant"
DYCK = find_language("dyck-1")


@pytest.mark.parametrize(("more", "task"), [(1, VALID_PREFIXES), (40, PREDICT)])
def test_all_words_get_many_cells_only_as_valid_prefixes_need_some(
    more: int, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below zero the counters of dead prefixes may take one new value after another."""
    for name, value in (("FEW_UNKNOWNS", 3), ("MOST_STEPS", 0), ("MORE_CELLS", more)):
        monkeypatch.setattr(certification, name, value)
    found = certify(compile_language(DYCK, "elman-relu"), DYCK)
    assert isinstance(found, Certificate)
    assert found.claims[0].task == task


def open_counters(name: str, target: str = "hgrn2") -> Network:
    return compile_language(find_language(name), target, Options(construction="open-counters"))


def with_gate(network: Network, number: int, gate: Fraction) -> Network:
    recurrence = network.layers[number].recurrence
    inputs = recurrence.maps()[-1].num_inputs
    return with_layer(network, number, recurrence=replace(recurrence, gate=constant_map(inputs, [gate])))  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "target"),
    [("dyck-1", "hgrn2"), ("dyck-1", "s4d"), ("majority", "hgrn2"), ("boolean-3", "s4d"), ("anbn", "hgrn2")],
)
def test_all_words_of_all_lengths_are_proved(name: str, target: str) -> None:
    language, network = find_language(name), open_counters(name, target)
    certificate = certify(network, language)
    assert isinstance(certificate, Certificate)
    assert [(c.method, c.task, c.length, c.dtype) for c in certificate.claims] == [
        (METHOD, PREDICT, "all", None)
    ]
    assert certificate.evidence[METHOD]["scale"] == "3/4"
    parts = network_to_json(network), describe_language(language, Budget()), certificate_to_json(certificate)
    assert check(*parts).ok


def test_the_scale_and_what_is_counted_with_it() -> None:
    scale = find_scale(open_counters("dyck-1"))
    assert scale is not None
    assert scale.factor == Fraction(3, 4)
    assert [(i.place, i.start, i.steps) for i in scale.integrators] == [
        ((0, 0), 1, (0, 0)),
        ((1, 0), 0, (1, -1)),
    ]
    assert scale.tallies == ((2, 0),)
    assert find_scale(compile_language(DYCK, "gla")) is None


@pytest.mark.parametrize("number", [0, 1])
def test_a_gate_that_shrinks_at_another_rate_is_refuted(number: int) -> None:
    answer = certify(with_gate(open_counters("dyck-1"), number, Fraction(5, 8)), DYCK)
    assert isinstance(answer, Refutation)


def test_a_tally_that_forgets_is_refuted() -> None:
    network = open_counters("dyck-1")
    layer = network.layers[2]
    write = constant_map(layer.recurrence.maps()[-1].num_inputs, [0])
    wrong = with_layer(network, 2, recurrence=replace(layer.recurrence, write=write))  # type: ignore[call-arg]
    assert isinstance(certify(wrong, DYCK), Certificate), "it is still right on valid prefixes"
    assert {claim.task for claim in certify(wrong, DYCK).claims} == {VALID_PREFIXES}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "change",
    [
        {"scale": "1/2"},
        {"scale": "5/4"},
        {"scale": -1},
        {"tallies": []},
        {"tallies": ["2:c0"]},
        {"affine": {"1:scale": [2, [0]], "2:c0": [0, [1]]}},
    ],
)
def test_covers_that_do_not_fit_prove_nothing(change: dict[str, Any]) -> None:
    network = open_counters("dyck-1")
    scale = find_scale(network)
    assert scale is not None
    cover = {"task": PREDICT, **(scale_cover(network, DYCK, scale, Budget()) or {})}
    prover = Prover(network, DYCK)
    assert prover.prove(METHOD, cover).failure is None
    assert prover.prove(METHOD, {**cover, **change}).failure is not None


def test_a_tally_must_start_at_zero() -> None:
    network = with_layer(open_counters("dyck-1"), 2, start=(Fraction(7, 8),))
    scale = find_scale(open_counters("dyck-1"))
    assert scale is not None
    cover = scale_cover(network, DYCK, scale, Budget()) or {}
    failure = Prover(network, DYCK).prove(METHOD, {"task": VALID_PREFIXES, **cover}).failure
    assert failure is not None
