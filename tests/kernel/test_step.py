"""The kernel's step against the interpreter of networks, which shares no code with it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from nerode import kernel
from nerode.compiler import compile_language
from nerode.kernel.network import read_network
from nerode.kernel.step import ExactArithmetic, SpanArithmetic, Stepper
from nerode.kernel.work import WorkCount
from nerode.languages import describe_language, resolve_language
from nerode.network import Interpreter, network_to_json
from tests.kernel.cases import compiled, plain
from tests.kernel.version_1 import convert

EXACT = [
    ("parity", "diagonal-signed"),
    ("tomita-3", "dense"),
    ("tomita-5", "elman-relu"),
    ("z3", "diagonal-complex"),
    ("s3", "householder"),
    ("tomita-2", "permutation-diagonal"),
    ("dyck-1", "ssm"),
    ("dyck-2-3", "diagonal"),
]
ROUNDED = [("parity", "gru"), ("tomita-1", "lstm"), ("tomita-1", "slstm"), ("parity", "elman-tanh")]


@pytest.mark.parametrize(("name", "to"), EXACT + ROUNDED)
def test_answers_are_those_of_the_interpreter(name: str, to: str) -> None:
    language = resolve_language(name)
    made = compile_language(language, to)
    network = read_network(plain(network_to_json(made)), WorkCount())
    arithmetic: Any = SpanArithmetic(WorkCount()) if (name, to) in ROUNDED else ExactArithmetic(network)
    stepper, interpreter = Stepper(network, arithmetic), Interpreter(made)
    rng = random.Random(0)
    for _ in range(20):
        states, other = stepper.start(), interpreter.start()
        for _ in range(12):
            letter = rng.randrange(len(language.alphabet))
            states, got = stepper.step(states, letter)
            other, wanted = interpreter.step(other, letter)
            assert got is not None
            assert (got.letters, got.end) == (wanted.legal.symbols, wanted.legal.end)


def test_a_certificate_of_version_1_becomes_one_of_version_2() -> None:
    network, language = compiled("dyck-1", "ssm")
    counter = {"start": 0, "increments": [1, -1], "points": [-1, 1]}
    places = {f"1:{name}": [0, [1]] for name in network["layers"][0]["state"]}
    claim = kernel.language_claim(task=kernel.VALID_PREFIXES, method="counter-invariant")
    old = {
        "version": 1,
        "claims": [kernel.claim_to_json(claim)],
        "evidence": {"counter-invariant": {"counters": [counter], "coordinates": places}},
    }
    new = plain(kernel.certificate_to_json(convert(network, language, old)))
    result = kernel.check(network, language, new)
    assert result.ok, result.failure
    assert claim in result.claims


def test_a_certificate_of_version_1_is_not_read() -> None:
    network, language = compiled("parity", "diagonal-signed")
    with pytest.raises(kernel.Unreadable, match="not 'nerode-certificate' version 2"):
        kernel.check(
            network,
            language,
            {
                "format": "nerode-certificate",
                "version": 1,
                "network": "0" * 64,
                "language": "0" * 64,
                "claims": [],
                "evidence": {},
            },
        )


def test_the_description_of_a_language_is_read_by_its_definition_alone() -> None:
    network, language = compiled("parity", "diagonal-signed")
    proof = kernel.prove(network, language, "joint-closure", {"task": "predict"})
    certificate = kernel.certificate_to_json(kernel.seal(network, language, [proof]))
    renamed = {**language, "name": "another", "family": "n-gram", "parameters": {"k": 8}}
    assert kernel.check(network, renamed, plain(certificate)).ok
    assert describe_language(resolve_language("parity"))["definition"] == language["definition"]
