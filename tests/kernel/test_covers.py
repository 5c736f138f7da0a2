"""Every domain of cells: what is right is proved and re-checked, what is planted wrong is refused."""

from __future__ import annotations

import contextlib
import copy
import time
from fractions import Fraction
from typing import Any

import pytest

from nerode import kernel
from nerode.compiler import compile_language
from nerode.kernel import Unreadable, WorkBudget, work
from nerode.kernel.covers import METHOD_ROWS
from nerode.languages import describe_language
from nerode.languages.ngrams import NgramLanguage, parse_arpa
from nerode.network import network_to_json
from tests.kernel.cases import (
    LATCH_BOXES,
    LATCH_INTERVALS,
    LATCH_LANGUAGE,
    LATCH_NODES,
    clipped_latch,
    compiled,
    latch,
    plain,
    rebound,
    sealed,
)
from tests.languages.ngrams.arpa_texts import GOOD

Json = Any

COUNTER = {
    "task": "predict on valid prefixes",
    "counters": [{"start": 0, "increments": [1, -1], "points": [-1, 1]}],
}


STACK = {
    "task": "predict",
    "counters": [{"start": 0, "increments": [1, -1, 1, -1], "points": [0, 4]}],
    "affine": {"1:depth": [0, [1]]},
    "slots": [[f"2:depth {depth} kind.0"] for depth in range(1, 5)],
    "codes": [[0], [1]],
}


def counting() -> tuple[Json, Json, Json]:
    """Dyck-1 on a network with one integrator, and the counter that its coordinate is."""
    network, language = compiled("dyck-1", "ssm")
    state = network["layers"][0]["state"]
    affine = {f"1:{name}": [0, [1]] for name in state}
    return network, language, {**COUNTER, "affine": affine}


def backing_off() -> tuple[Json, Json]:
    """A back-off model and its network."""
    language = NgramLanguage(name="arpa", model=parse_arpa(GOOD), convention="of a test").normalised()
    return plain(network_to_json(compile_language(language, "ssm"))), plain(describe_language(language))


def found(method: str) -> tuple[Json, Json, str, Json]:
    """Network, language, method and description, one case per domain."""
    match method:
        case "joint-closure":
            return *compiled("tomita-3", "dense"), method, {"task": "predict"}
        case "boxes":
            return latch(), LATCH_LANGUAGE, method, LATCH_BOXES
        case "state-boxes":
            return latch(), LATCH_LANGUAGE, method, LATCH_NODES
        case "counter-invariant":
            network, language, description = counting()
            return network, language, method, description
        case "stack-invariant":
            return *compiled("dyck-2-4", "diagonal"), method, STACK
        case "interval-closure":
            return clipped_latch(), LATCH_LANGUAGE, method, LATCH_INTERVALS
        case "saturating-closure":
            return *compiled("(a|b)*a(a|b)*", "ssm"), method, {"task": "predict", "caps": {"1:q1": 2}}
        case "n-gram back-off":
            return *backing_off(), "n-gram-contexts", {"task": "predict"}
        case _:
            return *compiled("ngram-seed", "ssm"), "n-gram-contexts", {"task": "predict on valid prefixes"}


DOMAINS = (
    *(method for method, row in METHOD_ROWS.items() if row.domain not in ("floats", "windows")),
    "n-gram back-off",
)


@pytest.mark.parametrize("method", DOMAINS)
def test_a_proof_is_found_and_holds(method: str) -> None:
    network, language, method, description = found(method)
    certificate = sealed(network, language, method, description)
    result = kernel.check(network, language, certificate)
    assert result.ok, result.failure
    assert kernel.claim_to_json(result.claims[0]) == certificate["claims"][0]
    assert result.claims[0].method == method


@pytest.mark.parametrize("method", DOMAINS)
def test_other_counts_and_digests_are_refused(method: str) -> None:
    network, language, method, description = found(method)
    certificate = sealed(network, language, method, description)
    evidence = certificate["evidence"][method]
    for key in {"cells", "digest"} & evidence.keys():
        forged = copy.deepcopy(certificate)
        forged["evidence"][method][key] = "0" * 64 if key == "digest" else evidence["cells"] + 1
        result = kernel.check(network, language, forged)
        assert result.failure is not None
        assert result.failure.entry == f"evidence.{method}.{key}"


@pytest.mark.parametrize("method", DOMAINS)
def test_another_language_is_refused(method: str) -> None:
    """The same evidence for a language that differs in one accepting state, or has other letters."""
    network, language, method, description = found(method)
    certificate = sealed(network, language, method, description)
    other = copy.deepcopy(language)
    definition = other["definition"]
    if definition["form"] == "dfa":
        definition["accepting"] = definition["accepting"][1:]
    elif definition["form"] == "brackets":
        definition["depth"] = (definition["depth"] or 5) - 1
    elif definition["form"] == "counters":
        definition["rules"][-1]["end"] = not definition["rules"][-1]["end"]
    elif "levels" in definition["model"]:
        next(iter(definition["model"]["levels"][-1].values()))[0] = "-0.75"
    else:
        row = definition["model"]["contexts"][-1][1]
        word = next(w for w in definition["model"]["vocabulary"] if w not in row)
        definition["model"]["contexts"][-1][1] = {word: "1"}
    assert not kernel.check(network, other, certificate).ok
    assert not kernel.check(network, other, rebound(network, other, certificate)).ok


def test_a_wrong_network_is_refused_with_a_shortest_word() -> None:
    network, language = compiled("parity", "diagonal-signed")
    certificate = sealed(network, language, "joint-closure", {"task": "predict"})
    gate = network["layers"][0]["recurrence"]["gate"]
    gate["rows"], gate["bias"] = [[]], [1]
    result = kernel.check(network, language, rebound(network, language, certificate))
    assert result.failure is not None
    assert result.failure.refutation is not None
    assert len(result.failure.refutation.word) == 1


def test_the_forgery_of_finding_1_1_is_refused() -> None:
    network, language = compiled("a*", "diagonal")
    certificate = sealed(network, language, "joint-closure", {"task": "predict"})
    big, below = 10**307, 22
    number = (
        f"{175 * big // 10 + 1}/{below}+{big + 1}/{below}*e(1/16)-{big + 1}/{below}*e(7/16)"
        f"-{17 * big + 1}/{below}*e(2/16)+{17 * big + 1}/{below}*e(6/16)"
    )
    scores = network["decoder"]["scores"]
    scores["rows"] = [[] for _ in scores["rows"]]
    scores["bias"] = [1, number]
    result = kernel.check(network, language, rebound(network, language, certificate))
    assert result.failure is not None
    assert result.failure.refutation is not None
    assert result.failure.refutation.expected != result.failure.refutation.got


@pytest.mark.parametrize(("write", "keep"), [(6, "1/2"), ("1/2", 3), (6, -3)])
@pytest.mark.parametrize("description", [LATCH_BOXES, LATCH_NODES], ids=["boxes", "nodes"])
def test_a_latch_that_does_not_hold_is_refused(write: Json, keep: Json, description: Json) -> None:
    method = "boxes" if "layers" in description else "state-boxes"
    certificate = sealed(latch(), LATCH_LANGUAGE, method, description)
    network = latch(write, keep)
    result = kernel.check(network, LATCH_LANGUAGE, rebound(network, LATCH_LANGUAGE, certificate))
    assert not result.ok


def test_boxes_with_too_much_noise_are_refused() -> None:
    for method, description in (("boxes", LATCH_BOXES), ("state-boxes", LATCH_NODES)):
        proof = kernel.prove(latch(), LATCH_LANGUAGE, method, {**description, "noise": "1/2"})
        assert proof.failure is not None
        certificate = sealed(latch(), LATCH_LANGUAGE, method, description)
        certificate["claims"] = [c for c in certificate["claims"] if c["eps"] is not None]
        certificate["claims"][0]["eps"] = "1/50"
        assert not kernel.check(latch(), LATCH_LANGUAGE, certificate).ok


def test_float32_is_covered_by_boxes_with_room() -> None:
    proof = kernel.prove(latch(), LATCH_LANGUAGE, "state-boxes", LATCH_NODES)
    rounded = [claim for claim in proof.claims if claim.dtype == "float32"]
    assert [claim.eps for claim in rounded] == [Fraction(1, 200)]
    boxes = [[[["-1000001/1000000", "-9/10"]]], [[["9/10", "1000001/1000000"]]]]
    tight = {**LATCH_NODES, "noise": "1/1000000", "boxes": boxes}
    proof = kernel.prove(latch(), LATCH_LANGUAGE, "state-boxes", tight)
    assert proof.failure is None
    assert not [claim for claim in proof.claims if claim.dtype is not None]
    odd = latch("61/10")
    proof = kernel.prove(odd, LATCH_LANGUAGE, "state-boxes", LATCH_NODES)
    assert not [claim for claim in proof.claims if claim.dtype is not None]


def test_counters_that_are_not_those_of_the_language_are_refused() -> None:
    network, language, description = counting()
    for counters in (
        [{"start": 1, "increments": [1, -1], "points": [-1, 1]}],
        [{"start": 0, "increments": [1, -2], "points": [-1, 1]}],
        [],
    ):
        wrong = {**description, "counters": counters}
        if not counters:
            wrong["affine"] = {name: [0, []] for name in description["affine"]}
        with pytest.raises(Unreadable, match="counters of the language"):
            kernel.prove(network, language, "counter-invariant", wrong)


def test_a_coordinate_that_is_another_function_is_refused() -> None:
    network, language, description = counting()
    wrong = {**description, "affine": {name: [0, [2]] for name in description["affine"]}}
    proof = kernel.prove(network, language, "counter-invariant", wrong)
    assert proof.failure is not None
    assert "counters" in proof.failure.what


def test_claims_in_floats_rest_on_the_cover() -> None:
    network, language = compiled("(aa)*", "diagonal-signed")
    certificate = sealed(network, language, "joint-closure", {"task": "predict"})
    assert {claim["dtype"] for claim in certificate["claims"]} == {
        None,
        "float64",
        "float32",
        "bfloat16",
        "float16",
    }
    network["layers"][0]["recurrence"]["gate"]["bias"] = ["1/3"]
    network["layers"][0]["recurrence"]["gate"]["rows"] = [[]]
    forged = rebound(network, language, certificate)
    assert not kernel.check(network, language, forged).ok


def test_a_number_that_a_format_does_not_hold_breaks_its_claim() -> None:
    network, language = compiled("a*b*", "diagonal")
    scores = network["decoder"]["scores"]
    scores["bias"] = ["1/3", *scores["bias"][1:]]
    proof = kernel.prove(network, language, "joint-closure", {"task": "recognise"})
    assert proof.failure is None
    assert [claim.dtype for claim in proof.claims] == [None]


def test_longer_claims_do_not_follow() -> None:
    network, language, description = counting()
    certificate = sealed(network, language, "counter-invariant", description)
    limited = next(claim for claim in certificate["claims"] if claim["length"] != "all")
    shorter = copy.deepcopy(certificate)
    shorter["claims"][certificate["claims"].index(limited)]["length"] -= 1
    assert kernel.check(network, language, shorter).ok
    limited["length"] += 1
    result = kernel.check(network, language, certificate)
    assert result.failure is not None
    assert "does not follow" in result.failure.what


def test_evidence_without_claims_and_claims_without_evidence() -> None:
    network, language = compiled("(aa)*", "diagonal-signed")
    certificate = sealed(network, language, "joint-closure", {"task": "predict"})
    unused = {**certificate, "claims": certificate["claims"][1:]}
    assert "no claim uses" in _refusal(network, language, unused)
    missing = {**certificate, "evidence": {"integer-exactness": {"proof": "joint-closure"}}}
    assert "no evidence" in _refusal(network, language, missing)
    unknown = {**certificate, "evidence": {**certificate["evidence"], "faith": {}}}
    assert "'faith'" in _refusal(network, language, unknown)
    elsewhere = copy.deepcopy(certificate)
    elsewhere["evidence"]["integer-exactness"]["proof"] = "boxes"
    assert "proof" in _refusal(network, language, elsewhere)


def _refusal(network: Json, language: Json, certificate: Json) -> str:
    result = kernel.check(network, language, certificate)
    assert result.failure is not None
    return result.failure.what


def test_distributions_that_are_off_are_refused() -> None:
    network, language = compiled("ngram-seed", "ssm")
    description = {"task": "predict on valid prefixes"}
    certificate = sealed(network, language, "n-gram-contexts", description)
    bound = Fraction(certificate["claims"][0]["eps"])
    tighter = kernel.prove(network, language, "n-gram-contexts", description, eps=bound / 1000)
    assert tighter.failure is not None
    assert tighter.failure.refutation is not None
    network["decoder"]["rows"].reverse()
    assert not kernel.check(network, language, rebound(network, language, certificate)).ok


def test_the_budget_is_kept() -> None:
    network, language = compiled("tomita-3", "dense")
    certificate = sealed(network, language, "joint-closure", {"task": "predict"})
    with pytest.raises(kernel.OverBudget, match="budget exceeded"):
        kernel.check(network, language, certificate, budget=WorkBudget(cells=2))
    with pytest.raises(kernel.OverBudget, match="budget exceeded"):
        kernel.prove(network, language, "joint-closure", {"task": "predict"}, budget=WorkBudget(cells=2))
    with pytest.raises(Unreadable):
        WorkBudget(seconds=0)


def test_a_network_that_never_closes_ends_with_its_budget() -> None:
    """A counter without a bound, walked as if its states were finitely many."""
    network, language = compiled("dyck-1", "ssm")
    description = {"task": "predict on valid prefixes"}
    budget = WorkBudget(seconds=0.5, cells=10**9)
    with pytest.raises(kernel.OverBudget, match="CPU seconds"):
        kernel.prove(network, language, "joint-closure", description, budget=budget)


def test_a_walk_that_cannot_visit_the_cells_it_knows_in_time_ends_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(work, "_clock", lambda: now)
    count = work.WorkCount(WorkBudget(seconds=16.0))
    count.begin_walk(letters=2)
    # Five cells each second: the six that are known, and then the eighty, may still fit.
    for cells, steps in ((6, 10), (80, 20)):
        count.count_cells(cells)
        count.count_steps(steps)
        now += 1.1
        count.spend(work._BETWEEN_LOOKS)
    # One slow step says nothing.
    count.count_cells(400)
    count.count_steps(21)
    now += 3.0
    count.spend(work._BETWEEN_LOOKS)
    count.count_steps(30)
    with pytest.raises(kernel.OverBudget, match="too few for 385 more of 400 cells") as stop:
        count.spend(work._BETWEEN_LOOKS)
    assert (stop.value.cells, stop.value.left) == (400, 385)
    count.end_walk()
    now += 2.0
    count.spend(work._BETWEEN_LOOKS)


def test_a_tally_with_too_low_a_cap_is_refused() -> None:
    network, language = compiled("(a|b)*a(a|b)*", "ssm")
    unit = network["layers"][0]["readout_units"]
    unit["bias"] = [f"{bias}-5" for bias in unit["bias"]]
    proof = kernel.prove(network, language, "saturating-closure", {"task": "predict", "caps": {"1:q1": 2}})
    assert proof.failure is not None


def test_slots_with_other_codes_are_refused() -> None:
    network, language = compiled("dyck-2-4", "diagonal")
    for codes in ([[1], [0]], [[0], [2]], [[0], [0]]):
        proof = kernel.prove(network, language, "stack-invariant", {**STACK, "codes": codes})
        assert proof.failure is not None
    with pytest.raises(Unreadable, match="codes"):
        kernel.prove(network, language, "stack-invariant", {**STACK, "codes": [[0]]})


def test_intervals_that_are_left_are_refused() -> None:
    description = {"task": "predict", "intervals": {"1:h": [[0, "1/8"], ["7/8", "8/9"]]}}
    proof = kernel.prove(clipped_latch(), LATCH_LANGUAGE, "interval-closure", description)
    assert proof.failure is not None
    assert "leaves its intervals" in proof.failure.what


def test_windows_of_layers_that_forget() -> None:
    network, language = compiled("ngram-seed", "ssm")
    proof = kernel.prove(network, language, "window", {"letters": 3})
    assert proof.failure is None
    certificate = plain(kernel.certificate_to_json(kernel.seal(network, language, [proof])))
    assert kernel.check(network, language, certificate).ok
    certificate["evidence"]["window"]["letters"] = 2
    assert "3 letters matter, not 2" in _refusal(network, language, certificate)
    tracking, parity = compiled("parity", "diagonal-signed")
    proof = kernel.prove(tracking, parity, "window", {"letters": 3})
    assert proof.failure is not None
    assert "does not forget" in proof.failure.what


def test_windows_of_a_layer_that_contracts() -> None:
    network, language = compiled("parity", "diagonal-signed")
    recurrence = network["layers"][0]["recurrence"]
    recurrence["gate"]["rows"], recurrence["gate"]["bias"] = [[]], ["1/2"]
    shown = kernel.prove(network, language, "window", {"letters": 20}, eps=Fraction(1, 1000))
    assert shown.failure is None, shown.failure
    assert [claim.eps for claim in shown.claims] == [Fraction(1, 1000)]
    short = kernel.prove(network, language, "window", {"letters": 2}, eps=Fraction(1, 1000))
    assert short.failure is not None


def test_a_layer_that_never_corrects_an_error() -> None:
    network, language = compiled("parity", "diagonal-signed")
    words = {"layer": 1, "first": [], "second": ["1"], "identity": ["1", "1"], "apart": []}
    proof = kernel.prove(network, language, "identity-word", words, eps=Fraction(1, 10))
    assert proof.failure is None, proof.failure
    certificate = plain(kernel.certificate_to_json(kernel.seal(network, language, [proof])))
    assert kernel.check(network, language, certificate).ok
    for wrong in ({"identity": ["1"]}, {"identity": []}, {"second": []}, {"second": ["1", "1"]}):
        assert kernel.prove(network, language, "identity-word", {**words, **wrong}).failure is not None
    # The letter 1 is a text; the number 1 is none, and nothing takes it for the letter.
    with pytest.raises(kernel.Unreadable, match="not text"):
        kernel.prove(network, language, "identity-word", {**words, "second": [1]})


def test_readings_between_two_turned_states_are_counted_exactly() -> None:
    # The gap is |1 - e(1/5)| = 1.17557050458…, so one step of half of that, rounded up, is enough.
    network, language = compiled("cycle-navigation", "diagonal-complex")
    words = {"layer": 1, "first": [], "second": [">"], "identity": [">"] * 5, "apart": []}
    for eps, readings in (("0.5877852523", 1), ("0.5877852522", 4), ("0.1", 36)):
        proof = kernel.prove(network, language, "identity-word", words, eps=Fraction(eps))
        assert proof.failure is None, proof.failure
        assert f"after {readings} readings" in proof.claims[1].covers
    # 90 digits of half the gap: on which side of it this lies takes more digits than are looked at.
    digits = "587785252292473129168705954639072768597652437643145991072272480757278474162351957508504049"
    close = kernel.prove(network, language, "identity-word", words, eps=Fraction(int(digits), 10**90))
    assert close.failure is not None
    assert "irrational gap" in close.failure.what


@pytest.mark.parametrize("seconds", [0.2, 1.0])
def test_a_refusal_does_not_search_longer_than_its_time(seconds: float) -> None:
    """The network is correct and never closes, so the search for a failing word has no end of its own."""
    network, language, description = counting()
    wrong = {**description, "affine": {name: [0, [2]] for name in description["affine"]}}
    started = time.thread_time()
    with contextlib.suppress(kernel.OverBudget):
        proof = kernel.prove(
            network, language, "counter-invariant", wrong, budget=WorkBudget(seconds=seconds)
        )
        assert proof.failure is not None
    certificate = sealed(network, language, "counter-invariant", description)
    certificate["network"] = "0" * 64
    with contextlib.suppress(kernel.OverBudget):
        result = kernel.check(network, language, certificate, budget=WorkBudget(seconds=seconds))
        assert result.failure is not None
        assert result.failure.entry == "network"
        assert result.failure.refutation is None
    assert time.thread_time() - started < 2 * seconds + 4
