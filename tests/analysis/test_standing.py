"""What counts as a disagreement, and which language a task is about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nerode.analysis.standing import Certified, Standing, Trained, judge, language_of, same_language
from nerode.core.errors import InputError

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


def test_languages_of_names_and_of_tasks() -> None:
    assert language_of("predict-tomita-5").name == "tomita-5"
    assert same_language(language_of("parity"), language_of("parity-last"))
    assert language_of("s3-generators").dfa().num_states == 6
    assert not same_language(language_of("tomita-5"), language_of("tomita-6"))
    with pytest.raises(InputError):
        language_of("no-such-thing(")
