"""The kernel's step against the interpreter of networks, which shares no code with it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from nerode import kernel
from nerode.compiler import compile_language
from nerode.kernel.domains.spans import SpanArithmetic
from nerode.kernel.network import read_network
from nerode.kernel.step import ExactArithmetic, Stepper
from nerode.kernel.work import Undecided, WorkCount
from nerode.languages import describe_language, resolve_language
from nerode.network import Interpreter, network_from_json, network_to_json
from tests.kernel.cases import affine, compiled, latch, plain
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
    ("anbn", "deltanet-signed"),
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


def reflecting(selector: Any) -> Any:
    """Two reflections for each 1; the choice is the letter, or made by a selector of two rows."""
    network, _ = compiled("parity", "diagonal-signed")
    (layer,) = network["layers"]
    reads = len(layer["reads"])
    inputs = reads + 2
    layer["state"], layer["start"] = ["a", "b"], [1, "1/3"]
    layer["recurrence"] = {
        "kind": "householder",
        "factors": [[], [{"beta": 2, "vector": [1, -1]}, {"beta": 1, "vector": [2, 1]}]],
        "writes": [[0, 0], [1, 0]],
        **({} if selector is None else {"selector": affine(reads, selector, [0, 0])}),
    }
    layer["units"] = affine(reads, [], [])
    layer["readout_units"] = affine(inputs, [[[reads, 1], [reads + 1, -2]]], [1])
    layer["outputs"] = ["s"]
    layer["readout"] = affine(inputs + 1, [[[reads, 1], [reads + 1, -1], [reads + 2, "1/2"]]], [0])
    network["decoder"] = {
        "kind": "scores",
        "reads": ["s"],
        "units": affine(1, [], []),
        "scores": affine(1, [[], [], [[0, 1]]], [1, 1, 0]),
        "empty": network["decoder"]["empty"],
    }
    return network


def letter_rows(network: Any, weight: Any) -> list[list[list[Any]]]:
    """Rows of a selector: choice 1 after the letter 1, with a weight, and choice 0 otherwise."""
    directions = network["embedding"]["directions"]
    reads = network["layers"][0]["reads"]
    places = [reads.index(name) for name in directions]
    assert network["embedding"]["vectors"] == [[1, 0], [0, 1]]
    return [[[places[0], 1]], [[places[1], weight]]]


@pytest.mark.parametrize("selected", [False, True])
def test_states_are_those_of_the_interpreter(selected: bool) -> None:
    selector = letter_rows(reflecting(None), 1) if selected else None
    data = reflecting(selector)
    network = read_network(plain(data), WorkCount())
    stepper, interpreter = Stepper(network, ExactArithmetic(network)), Interpreter(network_from_json(data))
    rng = random.Random(11)
    for _ in range(3):
        states, other = stepper.start(), interpreter.start()
        for _ in range(25):
            letter = rng.randrange(2)
            states, got = stepper.step(states, letter)
            other, wanted = interpreter.step(other, letter)
            assert states == other
            assert got is not None
            assert (got.letters, got.end) == (wanted.legal.symbols, wanted.legal.end)


def test_a_selector_that_selects_nothing_is_no_answer() -> None:
    network = read_network(plain(reflecting(letter_rows(reflecting(None), 2))), WorkCount())
    stepper = Stepper(network, ExactArithmetic(network))
    stepper.step(stepper.start(), 0)
    with pytest.raises(Undecided, match="one-hot"):
        stepper.step(stepper.start(), 1)


def test_only_straight_pieces_are_evaluated_exactly() -> None:
    network = read_network(latch(), WorkCount())
    stepper = Stepper(network, ExactArithmetic(network))
    with pytest.raises(Undecided, match="tanh"):
        stepper.step(stepper.start(), 0)
    cell = read_network(compiled("parity", "gru")[0], WorkCount())
    stepper = Stepper(cell, ExactArithmetic(cell))
    with pytest.raises(Undecided, match="gated cells"):
        stepper.step(stepper.start(), 0)
