"""A "yes" in floats without the mark † has a network with a claim at every length: a part of the survey."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.float_claims import FILE, Known, asked, missing, read
from nerode.languages.bestiary import BESTIARY, find_language
from nerode.languages.ngrams import NgramLanguage
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


def test_the_kept_survey_is_of_the_verdicts_of_today() -> None:
    """Each "yes" in floats without the mark is in a kept row of its language, with a claim or at a budget."""
    kept = [
        row for row in read(FILE) if row["language"] in ("ab-star", "parity", "tomita-2", "Z3", "U2", "Z60")
    ]
    assert len(kept) == 12
    named = [row.name for row in ARCHITECTURES.values() if not row.is_class]
    for row in kept:
        facts = collect_facts(find_language(row["language"].lower()), task=row["task"])
        found = [*row["claimed"], *(name for names in row["budget"].values() for name in names)]
        assert sorted(found) == sorted(asked(facts, named)), (row["language"], row["task"])


def test_the_page_tells_what_the_kept_survey_found() -> None:
    kept = read(FILE)
    assert not any(row["lacking"] for row in kept)
    claimed = sum(len(row["claimed"]) for row in kept)
    stopped = sum(len(names) for row in kept for names in row["budget"].values())
    languages = len({row["language"] for row in kept})
    page = " ".join((Path(__file__).parents[2] / "docs/theory/derived.md").read_text().split())
    assert f"{claimed:,} verdicts on {languages} languages have one, {stopped} ended at a budget" in page


def test_the_kept_survey_has_every_regular_language() -> None:
    """But n-gram models, which give probabilities."""
    named = [find_language(name) for name in BESTIARY]
    regular = {x.name for x in named if x.regular and not isinstance(x, NgramLanguage)}
    assert {row["language"] for row in read(FILE)} == regular
