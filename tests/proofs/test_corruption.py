"""Corrupted certificates, hashes bound again: nothing false is accepted, and nothing crashes."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from benchmarks.corruption import Case, Facts, cases, outcome
from nerode.kernel import METHODS, PREDICT, UNDER_NOISE
from nerode.proofs.replay.attention.records import METHOD as DECODERS

CASES = {f"{case.method} {number}": case for number, case in enumerate(cases())}


def test_every_method_of_proof_has_a_case() -> None:
    methods = {case.method for case in CASES.values()} | {
        claim["method"] for case in CASES.values() for claim in case.parts[2].get("claims", [])
    }
    assert methods == {*METHODS, "bit-closure", "representation", DECODERS}


@pytest.mark.parametrize("name", CASES)
def test_the_case_itself_is_accepted_and_true(name: str) -> None:
    case: Case = CASES[name]

    class Never(random.Random):
        def random(self) -> float:
            return 1.0

    claims = case.accept(case.parts, Never())
    assert claims
    assert not case.fault(case.parts, claims)


@pytest.mark.parametrize("times", [1, pytest.param(10, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CASES)
def test_corruptions_are_refused_or_true(name: str, times: int) -> None:
    """`python -m benchmarks corruption` has a hundred thousand of them."""
    case = CASES[name]
    choose = random.Random(f"test {name} {times}")
    count = 12 if case.method in ("stack-invariant", "bit-closure", "counter-invariant", DECODERS) else 24
    found = [outcome(case, choose) for _ in range(count * times)]
    assert not [result for result in found if result not in ("true", "refused")]
    assert "refused" in found


def test_the_judge_finds_a_planted_error() -> None:
    """A judge that never objects would prove nothing."""
    case = next(case for case in CASES.values() if case.method == "joint-closure")
    network, language, _ = case.parts
    wrong = {**network, "decoder": {**network["decoder"], "empty": []}}
    assert Facts(wrong, language).wrong(PREDICT) == "the empty word"
    boxes = next(case for case in CASES.values() if case.method == "boxes")
    eps = next(c["eps"] for c in boxes.parts[2]["claims"] if c["scope"] == UNDER_NOISE)
    facts = Facts(boxes.parts[0], boxes.parts[1])
    assert not facts.wrong(PREDICT, Fraction(eps))
    assert facts.wrong(PREDICT, 8 * Fraction(eps))
