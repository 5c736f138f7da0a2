"""Networks in quotients: gates of 1 that stand for any fixed gate, proved for every length."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nerode.compiler import compile_language
from nerode.core import Budget, FormatError, InputError, NotCompilable
from nerode.kernel import PREDICT, Certificate, certificate_to_json
from nerode.languages import describe_language
from nerode.languages.bestiary import find_language
from nerode.models.lower.stream import plan_stream
from nerode.network import Gated, Network, network_from_json, network_to_json, zero_map
from nerode.proofs import certify, check
from tests.compiler.agreement import assert_does


def parts(network: Network, name: str, proof: Any) -> list[Any]:
    return [
        network_to_json(network),
        describe_language(find_language(name), Budget()),
        certificate_to_json(proof),
    ]


@pytest.mark.parametrize(
    ("name", "to", "construction"),
    [
        ("dyck-1", "retnet", "quotient-counters"),
        ("anbncn", "retnet", "quotient-counters"),
        ("majority", "gru", "quotient-counters"),
        ("shuffle-2", "slstm", "quotient-counters"),
        ("set-reset", "retnet", "quotient-registers"),
        ("even-pairs", "retnet", "quotient-registers"),
        ("dyck-2", "retnet", "quotient-stack"),
        ("dyck-3", "s4d", "quotient-stack"),
        ("dyck-2", "lstm", "quotient-stack"),
        ("dyck-2", "elman-tanh", "quotient-stack"),
    ],
)
def test_all_words_of_all_lengths_are_proved(name: str, to: str, construction: str) -> None:
    network = compile_language(find_language(name), to)
    assert network.origin.construction == construction
    assert all(layer.quotients for layer in network.layers)
    proof = certify(network, find_language(name))
    assert isinstance(proof, Certificate), proof
    # Quotients are not what floats compute with, so that no format is claimed.
    assert [(claim.task, claim.length, claim.dtype) for claim in proof.claims] == [(PREDICT, "all", None)]
    assert check(*parts(network, name, proof)).ok
    assert_does(network, name, short=4, long=40)
    assert network_from_json(network_to_json(network)) == network


def test_quotients_have_gates_of_one() -> None:
    network = compile_language(find_language("dyck-1"), "retnet")
    proof = certify(network, find_language("dyck-1"))
    (data, language, certificate) = parts(network, "dyck-1", proof)
    gate = data["layers"][0]["recurrence"]["gate"]
    gate["bias"] = ["1/2"]
    with pytest.raises(FormatError, match="not all gates are 1"):
        check(data, language, certificate)
    first = network.layers[0]
    assert isinstance(first.recurrence, Gated)
    with pytest.raises(InputError, match="not all gates are 1"):
        replace(
            first, recurrence=replace(first.recurrence, gate=zero_map(first.recurrence.gate.num_inputs, 1))
        )


def test_architectures_have_no_quotients() -> None:
    with pytest.raises(NotCompilable, match="has quotients of states"):
        plan_stream(compile_language(find_language("dyck-1"), "retnet"), "retnet")
