"""The table of what may be relied on: no row says more than its claim."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from nerode.kernel import EXACT, FRAGILE, PREDICT, STEP_BY_STEP, TESTED, UNDER_NOISE, UP_TO_LENGTH, Claim
from nerode.proofs.replay.table import METHODS, REPLAYS
from nerode.report import reliance_lines, reliance_markdown, reliance_objects, reliance_rows
from nerode.report.reliance import settled_rows

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
