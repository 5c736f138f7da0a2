"""Claims in one line: each says what it is about."""

from __future__ import annotations

from fractions import Fraction

from nerode.kernel.domains.windows import fragile_claim
from nerode.proofs import (
    EXACT,
    PREDICT,
    RECOGNISE,
    TESTED,
    UNDER_NOISE,
    UP_TO_LENGTH,
    VALID_PREFIXES,
    WINDOW,
    Claim,
)
from nerode.report.terminal.findings import claim_line
from nerode.study.networks import summarise


def claim(**changes):
    return Claim(**{"scope": EXACT, "method": "m", "task": PREDICT, "covers": "c", **changes})


def test_a_line_says_what_is_claimed_and_how_it_was_shown():
    assert claim_line(claim()) == "✓ all lengths in exact arithmetic  [m]"
    assert claim_line(claim(task=VALID_PREFIXES)).endswith(", on valid prefixes  [m]")
    assert claim_line(claim(task=RECOGNISE)).endswith(", membership only  [m]")
    single = claim(covers="c. Words were read in batches of 1 and of 64.")
    assert claim_line(single) == "✓ all lengths in exact arithmetic  [m]"
    batched = claim(covers="c. Words were read in batches of 64.")
    assert "only in batches of 64, not for single words" in claim_line(batched)
    limit = claim(scope=UP_TO_LENGTH, dtype="float16", length=2048)
    assert claim_line(limit) == "✓ correct up to length 2,048 in float16  [m]"
    tested = claim(scope=TESTED, dtype="float32", length=10)
    assert claim_line(tested) == "· tested to length 10 in float32, no proof  [m]"
    noise = claim(scope=UNDER_NOISE, eps=Fraction(1, 8))
    assert claim_line(noise) == "✓ all lengths under noise below eps, eps = 0.125  [m]"
    assert claim_line(fragile_claim()).startswith("✗ A word acts as the identity")


def test_what_is_not_about_the_language_is_no_proof_of_it():
    assert summarise([fragile_claim(), claim(task=WINDOW)]) == []
    assert summarise([fragile_claim(), claim(task=RECOGNISE)]) == ["all lengths, exact, membership only"]
    assert summarise([claim(task=VALID_PREFIXES)]) == ["all lengths, exact on valid prefixes"]
