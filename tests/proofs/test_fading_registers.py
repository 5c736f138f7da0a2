"""Star-free languages with fixed gates: signs of fading registers, proved for every length."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from nerode.compiler import Options, compile_language
from nerode.core import Budget
from nerode.kernel import PREDICT, Certificate, certificate_to_json
from nerode.languages import describe_language
from nerode.languages.bestiary import find_language
from nerode.network import Fixed, Network, network_to_json
from nerode.proofs import certify, check
from nerode.proofs.invariants import fading_cover
from nerode.proofs.proving import Prover
from tests.compiler.agreement import assert_does
from tests.proofs.test_counters import with_layer

METHOD = "fading-closure"


def fading(name: str, target: str = "s4d") -> Network:
    return compile_language(find_language(name), target, Options(construction="fading-registers"))


@pytest.mark.parametrize(("name", "target"), [("set-reset", "ssm"), ("flip-flop", "s4d"), ("d-2", "rwkv-4")])
def test_all_words_of_all_lengths_are_proved(name: str, target: str) -> None:
    language, network = find_language(name), fading(name, target)
    assert all(isinstance(layer.recurrence, Fixed) for layer in network.layers)
    certificate = certify(network, language)
    assert isinstance(certificate, Certificate)
    assert [(c.method, c.task, c.length, c.dtype) for c in certificate.claims] == [
        (METHOD, PREDICT, "all", None)
    ]
    parts = network_to_json(network), describe_language(language, Budget()), certificate_to_json(certificate)
    assert check(*parts).ok


def test_a_clock_beside_fading_registers() -> None:
    language = find_language("tomita-3")
    network = compile_language(language, "s4d")
    assert network.origin.construction == "clocked-fading-registers"
    certificate = certify(network, language)
    assert isinstance(certificate, Certificate)
    assert [(c.method, c.task, c.length) for c in certificate.claims] == [(METHOD, PREDICT, "all")]
    assert_does(network, "tomita-3", short=6, long=30)


@pytest.mark.parametrize("exclusive", [True, False])
def test_the_network_does_the_language(exclusive: bool) -> None:
    options = Options(construction="fading-registers", exclusive_scan=exclusive)
    network = compile_language(find_language("d-2"), "s4d", options)
    assert_does(network, "d-2", short=8, long=40)


def prove(network: Network, change: dict[str, Any]) -> Any:
    cover = {"task": PREDICT, **(fading_cover(fading("set-reset")) or {}), **change}
    return Prover(network, find_language("set-reset")).prove(METHOD, cover)


@pytest.mark.parametrize(
    "change",
    [
        {"scales": [["1:s1", "1/2"]]},
        {"scales": [["1:s1", 2]]},
        {"registers": {}},
        {"registers": {"1:q1": [1, "11/10", "4/3"]}},
        {"registers": {"1:q1": [1, "2/3", "5/4"]}},
        {"registers": {"1:q1": [2, "2/3", "4/3"]}},
        {"registers": {"1:q1": [1, 0, "4/3"]}},
        {"registers": {"1:s1": [1, "2/3", "4/3"]}},
    ],
)
def test_covers_that_do_not_fit_prove_nothing(change: dict[str, Any]) -> None:
    assert prove(fading("set-reset"), {}).failure is None
    assert prove(fading("set-reset"), change).failure is not None


def test_a_register_that_fades_too_slowly_is_refuted() -> None:
    network = fading("set-reset")
    recurrence = network.layers[0].recurrence
    assert isinstance(recurrence, Fixed)
    slow = replace(recurrence, matrix=(recurrence.matrix[0], ((1, Fraction(3, 4)),)))
    wrong = with_layer(network, 0, recurrence=slow)
    assert prove(wrong, {}).failure is not None
    assert not isinstance(certify(wrong, find_language("set-reset")), Certificate)


def test_a_register_that_starts_with_the_wrong_sign_is_refused() -> None:
    wrong = with_layer(fading("set-reset"), 0, start=(1, 1))
    assert prove(wrong, {}).failure is not None
    # 0 is a label of its own; it is read as half of the scale, which is not above the threshold.
    assert prove(with_layer(fading("set-reset"), 0, start=(1, 0)), {}).failure is None
