"""Brackets of any depth as the digits of one number, proved for every length; wrong ones are refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from nerode.compiler import Options, compile_language
from nerode.core import Budget
from nerode.kernel import PREDICT, VALID_PREFIXES, Certificate, certificate_to_json
from nerode.languages import Dyck, describe_language
from nerode.languages.bestiary import find_language
from nerode.network import Gated, Network, network_to_json
from nerode.proofs import certify, check
from nerode.proofs.counters import digit_cover, find_scale
from nerode.proofs.proving import Prover
from tests.compiler.walks import assert_follows_long_words
from tests.proofs.test_counters import with_layer

METHOD = "digit-invariant"
LANGUAGE = find_language("dyck-2")


def open_stack(target: str = "mamba") -> Network:
    return compile_language(LANGUAGE, target, Options(construction="open-stack"))


def test_all_words_of_all_lengths_are_proved() -> None:
    network = open_stack()
    certificate = certify(network, LANGUAGE)
    assert isinstance(certificate, Certificate)
    assert [(c.method, c.task, c.length) for c in certificate.claims] == [(METHOD, PREDICT, "all")]
    assert certificate.evidence[METHOD]["stack"] == ["2:stack", [1, 2], 4]
    parts = network_to_json(network), describe_language(LANGUAGE, Budget()), certificate_to_json(certificate)
    assert check(*parts).ok


def test_the_network_follows_words() -> None:
    network = open_stack()
    gates = [g for layer in network.layers for g in _gates(layer.recurrence)]
    assert all(0 < gate < 1 for gate in gates)
    assert_follows_long_words(network, LANGUAGE, 60)


def _gates(recurrence: Any) -> list[Fraction]:
    rows = zip(recurrence.gate.bias, recurrence.gate.rows, strict=True)
    return [bias + step for bias, row in rows for step in (0, *(c for _, c in row))]


def cover_of(network: Network, task: str = PREDICT) -> dict[str, Any]:
    assert isinstance(LANGUAGE, Dyck)
    scale = find_scale(network)
    assert scale is not None
    return {"task": task, **(digit_cover(network, LANGUAGE, scale) or {})}


@pytest.mark.parametrize(
    "change",
    [
        {"stack": ["2:stack", [1, 2], 5]},
        {"stack": ["2:stack", [1], 4]},
        {"tallies": []},
    ],
)
def test_covers_that_do_not_fit_prove_nothing(change: dict[str, Any]) -> None:
    network = open_stack()
    assert Prover(network, LANGUAGE).prove(METHOD, {**cover_of(network), **change}).failure is not None


def test_a_closing_bracket_with_another_gate_is_refused() -> None:
    network = open_stack()
    recurrence = network.layers[1].recurrence
    assert isinstance(recurrence, Gated)
    rows = tuple(tuple((j, c / 2) for j, c in row) for row in recurrence.gate.rows)
    wrong = with_layer(network, 1, recurrence=replace(recurrence, gate=replace(recurrence.gate, rows=rows)))
    proof = Prover(wrong, LANGUAGE).prove(METHOD, cover_of(network, VALID_PREFIXES))
    assert proof.failure is not None
    assert proof.failure.refutation is not None
