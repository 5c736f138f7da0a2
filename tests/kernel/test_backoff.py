"""The kernel's bound for back-off models against stepping through all short prefixes, wrong networks too."""

from __future__ import annotations

import copy
import itertools
import random
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, strategies as st

from benchmarks._arpa_training import DecimalOracle
from nerode import kernel
from nerode.compiler import compile_language
from nerode.core import InputError
from nerode.kernel.domains.ngrams import METHOD, ContextCells, _ten_to
from nerode.kernel.domains.spans import ONE
from nerode.kernel.languages import read_language
from nerode.kernel.network import read_network
from nerode.kernel.walk import CheckProblem
from nerode.kernel.work import Undecided, Unreadable, WorkCount
from nerode.languages import describe_language
from nerode.languages.ngrams import NgramLanguage, parse_arpa
from nerode.network import Interpreter, network_from_json, network_to_json
from tests.kernel.cases import plain, sealed
from tests.languages.ngrams.arpa_texts import GOOD, arpa_texts

Json = Any


def parts(text: str, target: str) -> tuple[Json, Json]:
    """Network and language of a normalised model, as they come out of files."""
    language = NgramLanguage(name="arpa", model=parse_arpa(text), convention="of a test").normalised()
    return plain(network_to_json(compile_language(language, target))), plain(describe_language(language))


def bound(network: Json, language: Json) -> Fraction:
    work = WorkCount()
    problem = CheckProblem(
        network=read_network(network, work), language=read_language(language, work), work=work
    )
    return ContextCells(problem, problem.language).worst()[0]


def farthest(network: Json, text: str) -> float:
    """The largest L1 distance over all prefixes of up to four words."""
    oracle, record = DecimalOracle(text), network_from_json(network)
    interpreter, names = Interpreter(record), (*record.alphabet.symbols, "</s>")
    worst = 0.0
    for length in range(5):
        for word in itertools.product(range(len(record.alphabet)), repeat=length):
            state, answer = interpreter.start(), interpreter.empty_answer()
            for letter in word:
                state, answer = interpreter.step(state, letter)
            wanted = oracle.distribution([names[w] for w in word], normalise=True)
            got = answer.distribution
            assert got is not None
            worst = max(worst, sum(abs(float(got.get(i, 0)) - float(wanted[n])) for i, n in enumerate(names)))
    return worst


@given(st.integers(-40_000, 5_000), st.integers(0, 3))
def test_powers_of_ten_are_enclosed(log: int, places: int) -> None:
    low, high = _ten_to(log, 10 ** (2 + places))
    with localcontext(prec=60):
        value = Decimal(10) ** (Decimal(log) / 10 ** (2 + places)) * ONE
        assert low <= value <= high
        assert high - low <= 4 + value / 2**80


WRONG = {
    "a weight": lambda n: n["decoder"]["rows"][1][0][1][0].__setitem__(0, "7/5"),
    "a weight is missing": lambda n: n["decoder"]["rows"][2].pop(),
    "a threshold": lambda n: n["layers"][0]["readout_units"]["bias"].__setitem__(3, "1"),
    "a unit never fires": lambda n: n["layers"][0]["readout_units"]["bias"].__setitem__(2, "-9"),
    "the start": lambda n: n["layers"][0].__setitem__("start", ["0"] * len(n["layers"][0]["start"])),
    "a start of another word": lambda n: n["layers"][0].__setitem__(
        "start", [*n["embedding"]["vectors"][1], *["0"] * 4]
    ),
    "two words alike": lambda n: n["embedding"]["vectors"].__setitem__(1, n["embedding"]["vectors"][2]),
    "a broken delay line": lambda n: n["layers"][0]["recurrence"]["matrix"].__setitem__(5, []),
    "a drift": lambda n: n["layers"][0]["recurrence"]["write"]["bias"].__setitem__(0, "1"),
    "the base": lambda n: n["decoder"]["rows"][0][0][1][0].__setitem__(1, "9"),
}


@pytest.mark.parametrize("what", WRONG)
def test_planted_faults_are_refused(what: str) -> None:
    network, language = parts(GOOD, "ssm")
    kernel.prove(network, language, METHOD, {"task": "predict"}, eps=Fraction(1, 1000))
    good = copy.deepcopy(network)
    WRONG[what](network)
    assert network != good
    assert farthest(network, GOOD) > 0.001
    proof = kernel.prove(network, language, METHOD, {"task": "predict"}, eps=Fraction(1, 1000))
    assert proof.failure is not None
    assert not proof.claims
    if proof.failure.refutation is not None:
        assert proof.failure.refutation.expected != proof.failure.refutation.got
    # A certificate of the right network does not fit either.
    certificate = sealed(good, language, METHOD, {"task": "predict"})
    assert not kernel.check(network, language, certificate).ok


def test_a_wrong_weight_is_refuted_by_a_prefix() -> None:
    network, language = parts(GOOD, "ssm")
    after = network["layers"][0]["outputs"].index("after a b")
    row = next(r for r in network["decoder"]["rows"] if any(entry[0] == after for entry in r))
    next(entry for entry in row if entry[0] == after)[1][0][0] = "3"
    proof = kernel.prove(network, language, METHOD, {"task": "predict"}, eps=Fraction(1, 1000))
    assert proof.failure is not None
    assert proof.failure.refutation is not None
    assert proof.failure.refutation.word[-2:] == ("a", "b")


def _numbers(network: Json, target: str) -> list[tuple[Any, Any]]:
    """Places of numbers that can be changed: containers and keys."""
    layer = network["layers"][0]
    found: list[tuple[Any, Any]] = [(layer["start"], i) for i in range(len(layer["start"]))]
    maps = [layer["readout_units"], layer["readout"]]
    maps += [layer["recurrence"]["write"]] if target == "ssm" else [layer["recurrence"]["update"]]
    for part in maps:
        found += [(part["bias"], i) for i in range(len(part["bias"]))]
        found += [(entry, 1) for row in part["rows"] for entry in row]
    found += [(entry[1][0], 0) for row in network["decoder"]["rows"] for entry in row]
    found += [(vector, i) for vector in network["embedding"]["vectors"] for i in range(len(vector))]
    return found


@given(arpa_texts(), st.sampled_from(["ssm", "elman-relu"]), st.integers(0, 2**32))
def test_the_bound_holds_whatever_was_changed(text: str, target: str, seed: int) -> None:
    try:
        network, language = parts(text, target)
    except InputError:
        return  # nothing may follow some context, so its probabilities cannot be made 1
    rng = random.Random(seed)
    for _ in range(rng.randint(0, 2)):
        container, key = rng.choice(_numbers(network, target))
        container[key] = rng.choice(["1", "-1", "2", "1/2", "101/100"])
    try:
        claimed = bound(network, language)
    except Undecided:
        return
    assert farthest(network, text) <= float(claimed) + 1e-9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.pop("unknown"), "unknown"),
        (lambda m: m.__setitem__("version", 2), "version 1"),
        (lambda m: m.__setitem__("normalised", 1), "normalised"),
        (lambda m: m["levels"].pop(), "levels"),
        (lambda m: m["levels"].__setitem__(0, []), "must be an object"),
        (lambda m: m["levels"][1].__setitem__("a", ["-1", "0"]), "another length"),
        (lambda m: m["levels"][1].__setitem__("a q", ["-1", "0"]), "not a letter"),
        (lambda m: m["levels"][1].__setitem__("a b", ["-1e5", "0"]), "no decimal"),
        (lambda m: m["levels"][1].__setitem__("a b", [-1, "0"]), "no decimal"),
        (lambda m: m["levels"][1].__setitem__("a b", ["0.1", "0"]), "above 0"),
        (lambda m: m["levels"][1].__setitem__("a b", ["-100", "0"]), "beyond 99"),
        (lambda m: m["levels"][0].pop("</s>"), "no 1-gram"),
        (lambda m: m["vocabulary"].append("<s>"), "vocabulary"),
        (lambda m: m.__setitem__("unknown", "zebra"), "zebra"),
        (lambda m: m["levels"][2].__setitem__("a b a", ["-1", "-1"]), "highest order"),
        (lambda m: m["levels"][1].pop("a b"), "shorter"),
        (lambda m: m.__setitem__("order", 0), "order"),
    ],
)
def test_models_that_are_not_read(change: Any, message: str) -> None:
    network, language = parts(GOOD, "ssm")
    change(language["definition"]["model"])
    with pytest.raises(Unreadable, match=message):
        kernel.prove(network, language, METHOD, {"task": "predict"})


def test_the_method_is_for_models() -> None:
    network, language = parts(GOOD, "ssm")
    other = {**language, "definition": {"form": "dfa", "alphabet": ["<unk>", "a", "b"], "start": 0}}
    other["definition"] |= {"accepting": [0], "transitions": [[0, 0, 0]]}
    proof = kernel.prove(network, other, METHOD, {"task": "predict"})
    assert proof.failure is not None
    assert "n-gram model" in proof.failure.what


def test_the_number_of_cells_is_checked() -> None:
    network, language = parts(GOOD, "ssm")
    certificate = sealed(network, language, METHOD, {"task": "predict"})
    assert kernel.check(network, language, certificate).ok
    for change in ({"cells": 3}, {"task": "recognise"}):
        wrong = copy.deepcopy(certificate)
        wrong["evidence"][METHOD] |= change
        assert not kernel.check(network, language, wrong).ok
    wrong = copy.deepcopy(certificate)
    wrong["claims"][0]["eps"] = "1/1000"
    assert not kernel.check(network, language, wrong).ok
