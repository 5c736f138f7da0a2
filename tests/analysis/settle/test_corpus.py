"""Settlements of small networks are those that were kept before searches were replaced, or better."""

import json

import pytest

from tests.analysis.settle.corpus import OUTCOMES, SUBJECTS, outcome

KEPT = json.loads(OUTCOMES.read_text())
LONG = 2.0
"""CPU seconds from which on a network is settled in the slow tests only."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if KEPT[name]["seconds"] > LONG else [])
        for name in SUBJECTS
    ],
)
def test_a_settlement_is_no_worse_than_the_kept_one(name):
    found, kept = outcome(name), KEPT[name]
    if kept["status"] == "unsettled" and found["status"] != "unsettled":
        return
    assert (found["status"], found["words"]) == (kept["status"], kept["words"])
    if kept["letters"] is not None:
        assert found["letters"] <= kept["letters"]
        assert found["shortest"] or not kept["shortest"]
    if kept["status"] == "unsettled":
        assert found["length"] >= kept["length"]


def test_every_outcome_is_kept():
    assert set(KEPT) == set(SUBJECTS)
    assert {kept["status"] for kept in KEPT.values()} == {"proved", "refuted", "unsettled"}
