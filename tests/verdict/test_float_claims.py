"""A "yes" in floats without the mark † has a network with a claim at every length: a part of the survey."""

from __future__ import annotations

import pytest

from benchmarks.float_claims import Known, missing
from nerode.languages.bestiary import find_language
from nerode.verdict import ARCHITECTURES, VerdictTask, collect_facts

ROWS = (
    "mamba",
    "s4d",
    "ssm",
    "deltanet",
    "aussm",
    "transformer",
    "transformer-nope",
    "transformer-alibi",
    "elman-tanh",
)


OTHERS = ("set-reset", "u2", "tomita-2", "z3", "d-2", "first", "repeat-01", "offset-counting-10")


@pytest.mark.parametrize(
    "name", ["ab-star", "parity", *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]
)
def test_a_yes_in_floats_has_a_claim_at_every_length_or_a_mark(name: str) -> None:
    language, known = find_language(name), Known()
    whole = collect_facts(language, task=VerdictTask.RECOGNISE)
    for task in VerdictTask:
        facts = collect_facts(language, task=task)
        for row in ROWS:
            assert row in ARCHITECTURES
            assert not missing(facts, whole, row, 10, known), row
