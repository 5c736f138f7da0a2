"""What counts as a disagreement."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nerode.analysis.network_folders import Certified, Trained
from nerode.analysis.standing import Standing, judge

FAR = Trained(folder="a", seed=0, longest=500, reaches=500, diverged=False)
SHORT = replace(FAR, reaches=50)
PROOF = Certified(folder="a", holds=True, claims=("every length",), all_lengths=True)
YES = Standing(architecture="lstm", theory="yes", reason="", compiled="gated-cells", refusal="")
NO = Standing(architecture="mamba", theory="no", reason="", compiled=None, refusal="no")


def test_what_goes_together_is_no_disagreement() -> None:
    assert judge(replace(YES, trained=(FAR, FAR), certified=(PROOF,))).disagreements == ()
    assert judge(replace(NO, trained=(SHORT,))).disagreements == ()


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (replace(NO, trained=(FAR, SHORT)), "1 of 2 runs are right up to length 500"),
        (replace(NO, compiled="cascade"), "cascade compiles it"),
        (replace(NO, certified=(PROOF,)), "look at its sense"),
        (replace(YES, compiled=None), "no construction"),
        (replace(YES, trained=(FAR, SHORT)), "1 of 2 runs did not learn"),
        (replace(YES, certified=(replace(PROOF, holds=False, all_lengths=False),)), "refused"),
    ],
)
def test_each_disagreement_is_told(row: Standing, text: str) -> None:
    found = judge(row).disagreements
    assert len(found) == 1
    assert text in found[0]
