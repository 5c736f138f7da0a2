"""The table of what may be relied on: no row says more than its claim."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from nerode.kernel import (
    EXACT,
    FRAGILE,
    PREDICT,
    RECOGNISE,
    STEP_BY_STEP,
    TESTED,
    TRACK,
    UNDER_NOISE,
    UP_TO_LENGTH,
    VALID_PREFIXES,
    Claim,
    language_claim,
)
from nerode.proofs.floats import known
from nerode.proofs.replay.table import METHODS, REPLAYS
from nerode.report import reliance_lines, reliance_markdown, reliance_objects, reliance_rows
from nerode.report.reliance import settled_rows
from nerode.study.networks import summarise

BITS = Claim(
    scope=STEP_BY_STEP,
    method="bit-closure",
    task=PREDICT,
    dtype="float32",
    covers="Words were read in batches of 1. The empty prefix, with no letter read, is not covered.",
)


def row(claim: Claim, **options: object) -> tuple[str, ...]:
    (found,) = reliance_rows([claim], about="the weights", **options)  # type: ignore[arg-type]
    return found[1:]


def test_each_kind_of_claim() -> None:
    assert row(BITS) == (
        "every answer after a letter",
        "of any length",
        "float32, step by step",
        "proofs/replay/bits.py, torch here",
    )
    exact = Claim(scope=EXACT, method="boxes", task=PREDICT, covers="All.")
    assert row(exact) == ("every answer after every prefix", "of any length", "exact", "the kernel")
    assert row(exact, levels=["formal"])[3] == "Coq and formal/Network.v"
    assert row(BITS, levels=["formal"])[3] == "Coq and formal/Network.v, Rounding.v"
    noisy = replace(exact, scope=UNDER_NOISE, eps=Fraction(1, 4), method="state-boxes")
    assert row(noisy)[2] == "exact, under noise below 0.25"
    assert row(noisy, lifted=True)[3] == "the kernel, proofs/replay/lift.py"
    short = replace(BITS, scope=UP_TO_LENGTH, length=1_200)
    assert row(short)[1] == "up to 1,200 letters"


@pytest.mark.parametrize("method", REPLAYS)
def test_every_replay_is_named(method: str) -> None:
    """The kernel alone checks no claim about weights."""
    assert "proofs/replay/" in row(replace(BITS, method=method))[3]
    settled = {
        "status": "proved",
        "dtype": "float32",
        "noise": None,
        "method": METHODS[method],
        "words": "all words",
    }
    assert "proofs/replay/" in settled_rows(settled)[0][-1]


def test_the_empty_word_is_left_out_where_it_is_not_covered() -> None:
    for task, holds, without in (
        (RECOGNISE, "membership of every word", "membership of every word but the empty one"),
        (TRACK, "the class of every word", "the class of every word but the empty one"),
    ):
        assert row(replace(BITS, task=task))[0] == without
        assert row(replace(BITS, task=task, covers="All."))[0] == holds
    assert row(replace(BITS, task=VALID_PREFIXES))[0].startswith("every answer after a letter along words")


@pytest.mark.parametrize(
    ("task", "part"),
    [(VALID_PREFIXES, ", on valid prefixes"), (RECOGNISE, ", membership only"), (PREDICT, "")],
)
def test_a_claim_in_a_line_says_what_it_leaves_out(task: str, part: str) -> None:
    """So do the lines of networks on pages; formats of weaker claims are not mixed with those of others."""
    claims = [
        language_claim(task=PREDICT, method="joint-closure"),
        language_claim(task=task, method="integer-exactness", dtype="float32", order="any"),
        language_claim(task=task, method="integer-exactness", dtype="float16", order="any", length=9),
    ]
    _, exact, short = known(claims)
    assert str(exact) == f"✓ all lengths bit-exact in float32, any evaluation order{part}"
    assert str(short) == f"✓ correct up to length 9 in float16{part}"
    where = part.replace(", on", " on")
    assert summarise(claims)[:2] == ["all lengths, exact", f"all lengths, bit for bit in float32{where}"]


def test_what_is_less_than_it_looks_is_said() -> None:
    """Batches alone, tests, and claims whose sentence is the claim."""
    batches = replace(BITS, covers="Words were read in batches of 64.")
    assert row(batches)[0] == "every answer after every prefix, only in batches of 64, not for single words"
    tested = replace(BITS, scope=TESTED, length=9)
    assert row(tested)[0].endswith("tested, no proof")
    fragile = replace(BITS, task=FRAGILE, covers="Layer 2 can be broken.")
    assert row(fragile)[0] == "Layer 2 can be broken"
    grams = replace(
        BITS, method="n-gram-contexts", covers="After every prefix of at least 2 words it is near."
    )
    assert row(grams)[0] == "After every prefix of at least 2 words it is near"


def test_the_three_forms_have_the_same_cells() -> None:
    rows = reliance_rows([BITS], about="the weights")
    (cells,) = (list(item.values()) for item in reliance_objects(rows))
    assert reliance_markdown(rows).splitlines()[-1] == f"| {' | '.join(cells)} |"
    assert all(cell in reliance_lines(rows)[-1] for cell in cells)
