"""nerode-check, the checker extracted from Coq, beside the Python kernel."""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.formal import FormalChecker, compare, judge_corruptions, kernel_claims, mutate
from nerode import kernel
from nerode.compiler import compile_language
from nerode.languages import describe_language, resolve_language
from nerode.network import network_to_json
from tests.formal.built import require_built
from tests.kernel.test_covers import found
from tests.kernel.test_guard import held_stack

Json = Any


@pytest.fixture(scope="module")
def checker() -> Iterator[FormalChecker]:
    found = FormalChecker(require_built() / "nerode-check")
    yield found
    found.close()


def files(name: str, to: str) -> tuple[Json, Json]:
    language = resolve_language(name)
    parts = network_to_json(compile_language(language, to)), describe_language(language)
    network, described = json.loads(json.dumps(parts))
    return network, described


CERTIFICATE: Json = {"evidence": {"joint-closure": {"task": kernel.PREDICT}}}


@pytest.mark.parametrize(
    ("name", "to"),
    [
        ("(ab)*", "diagonal"),
        ("parity", "diagonal-signed"),
        ("s3", "householder"),
        ("s3", "permutation-diagonal"),
        ("tomita-4", "dense"),
        ("tomita-7", "transformer-hard"),
        ("dyck-2-3", "elman-relu"),
    ],
)
def test_compiled_networks_are_proved(checker: FormalChecker, name: str, to: str) -> None:
    checker.write(*files(name, to))
    assert [checker.judge(task) for task in kernel.LANGUAGE_TASKS] == ["proved"] * 3


def test_a_float_format_is_proved_only_where_its_sums_are_exact(checker: FormalChecker) -> None:
    network, language = files("(ab)*", "diagonal")
    checker.write(network, language)
    assert checker.judge(kernel.PREDICT, "bfloat16") == "proved"
    # A direction that nobody reads, with a weight of nine significant bits: bfloat16 has eight.
    network["embedding"] = {"directions": ["x=a", "x=b", "idle"], "vectors": [[1, 0, 257], [0, 1, 0]]}
    checker.write(network, language)
    assert checker.judge(kernel.PREDICT, "bfloat16") == "not proved"
    assert checker.judge(kernel.PREDICT, "float16") == "proved"


def test_the_largest_product_is_found_without_a_difference(checker: FormalChecker) -> None:
    """Products of up to 33 in steps of 1/4 fit bfloat16, and differences of them do not: none is needed."""
    network, language = files("q8", "permutation-diagonal")
    network["layers"][0]["readout"]["bias"][2] = "-3/4"
    found = compare(checker, network, language, CERTIFICATE, "joint-closure")
    assert found == {"both": 1, "float both": 4}


def test_a_network_that_is_wrong_after_nine_letters_is_refused(checker: FormalChecker) -> None:
    # The wrong network is right on all shorter words: the automaton of the language is changed instead.
    network, language = files("a{0,9}", "diagonal")
    checker.write(network, language)
    assert checker.judge(kernel.PREDICT) == "proved"
    language["definition"]["accepting"].remove(max(language["definition"]["accepting"]))
    checker.write(network, language)
    assert checker.judge(kernel.PREDICT) == "not proved"


def test_stacks_in_slots_are_proved_and_a_held_coordinate_is_refused(checker: FormalChecker) -> None:
    network, language, method, description = found("stack-invariant")
    checker.write(network, language, {"evidence": {method: description}})
    assert checker.judge(kernel.PREDICT) == "proved"
    # The network that an earlier kernel accepted: wrong after ten brackets.
    network, language, method, description = held_stack()
    checker.write(network, language, {"evidence": {method: description}})
    assert checker.judge(kernel.PREDICT) == "not proved"


def broken_forms(network: Json) -> Iterator[tuple[str, Json]]:
    """Networks that the kernel cannot read, each with one fault."""

    def changed(change: Any) -> Json:
        copied = copy.deepcopy(network)
        change(copied)
        return copied

    layer = network["layers"][0]
    yield "a key too many", changed(lambda n: n.update(extra=1))
    yield "a key too few", changed(lambda n: n.pop("origin"))
    yield "another version", changed(lambda n: n.update(version=2))
    yield "a layer with an unknown key", changed(lambda n: n["layers"][0].update(extra=1))
    yield "an unknown recurrence", changed(lambda n: n["layers"][0]["recurrence"].update(kind="other"))
    yield (
        "a column out of range",
        changed(lambda n: n["layers"][0]["readout"].update(rows=[[[99, 1]], [[2, 1]]])),
    )
    yield "a huge column", changed(lambda n: n["layers"][0]["readout"].update(rows=[[[2**64, 1]], [[2, 1]]]))
    yield "a zero entry", changed(lambda n: n["layers"][0]["readout"].update(rows=[[[1, 0]], [[2, 1]]]))
    yield "a row too few", changed(lambda n: n["layers"][0]["readout"]["rows"].pop())
    yield "an output twice", changed(lambda n: n["layers"][1].update(outputs=layer["outputs"][:1]))
    yield "a direction that is not there", changed(lambda n: n["layers"][0].update(reads=["nowhere"]))
    yield "a letter twice", changed(lambda n: n.update(alphabet=["a", "a"]))
    yield "an answer that is no letter", changed(lambda n: n["decoder"].update(empty=["z"]))
    yield "a start of the wrong length", changed(lambda n: n["layers"][0].update(start=[0, 0]))
    yield "a float", changed(lambda n: n["layers"][0].update(start=[0.5]))


def test_both_refuse_to_read_broken_networks(checker: FormalChecker) -> None:
    network, language = files("(ab)*", "diagonal")
    for fault, broken in broken_forms(network):
        assert kernel_claims(broken, language, "joint-closure", {"task": kernel.PREDICT}) is None, fault
        checker.write(broken, language)
        assert checker.judge(kernel.PREDICT) == "network is not of a form that this checker reads", fault


def test_mutants_are_judged_alike(checker: FormalChecker) -> None:
    rng, outcomes = random.Random(5), Counter[str]()
    for name, to in (("(ab)*", "diagonal"), ("parity", "diagonal-signed"), ("s3", "householder")):
        network, language = files(name, to)
        for _ in range(12):
            outcomes += compare(
                checker, mutate(network, rng), language, CERTIFICATE, "joint-closure", most=40
            )
    assert not [what for what in outcomes if "different" in what], outcomes
    assert outcomes["both"]
    assert outcomes["neither"]


def test_corruptions_are_judged_alike(checker: FormalChecker) -> None:
    judged, differences = judge_corruptions(5, 60)
    assert differences == []
    assert judged["both"]
    assert judged["neither"]
