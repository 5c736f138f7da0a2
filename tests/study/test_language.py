"""Everything about one language for a page."""

from __future__ import annotations

import pytest

from nerode.core import Budget, UnknownName
from nerode.languages import resolve_language
from nerode.languages.bestiary import find_language
from nerode.study.language import study_language
from nerode.verdict import ARCHITECTURES, Sense, VerdictTask


def test_a_study_has_all_parts_of_one_language() -> None:
    language = find_language("tomita-3")
    study = study_language(language)
    assert study.language is language
    assert study.automaton == language.dfa()
    assert study.profile.monoid_size == 26
    assert sum(box.num_elements for box in study.eggboxes) == 26
    assert {box.group for box in study.eggboxes} == {"", "Z2"}
    assert study.table.language == "tomita-3"
    assert len(study.table) == 4 * len([a for a in ARCHITECTURES.values() if not a.is_class])


def test_what_is_asked_about_can_be_chosen() -> None:
    study = study_language(
        find_language("parity"),
        architectures=["mamba", "lstm"],
        task=VerdictTask.RECOGNISE,
        dtype="bfloat16",
    )
    assert study.table.architectures() == ["mamba", "lstm"]
    assert (study.table.task, study.table.dtype) == (VerdictTask.RECOGNISE, "bfloat16")
    assert study.table["mamba", Sense.IEEE].status == "no"
    with pytest.raises(UnknownName, match="mamba"):
        study_language(find_language("parity"), architectures=["mambo"])


def test_languages_that_are_not_regular_have_nothing_to_draw() -> None:
    study = study_language(find_language("anbn"))
    assert study.automaton is None
    assert study.eggboxes == ()
    assert study.profile.regular is False
    assert len(study.table) > 0


def test_languages_that_are_too_large_still_have_verdicts() -> None:
    study = study_language(find_language("dyck-8-10"), architectures=["mamba"])
    assert study.automaton is None
    assert study.eggboxes == ()
    assert study.table["mamba"].status == "yes"


def test_large_monoids_are_not_drawn() -> None:
    # Subsequences of 9 letters: the Catalan monoid of 10 points has 16,796 elements.
    study = study_language(resolve_language("subsequence-abcdefghi"), architectures=["mamba"])
    assert study.profile.monoid_size == 16_796
    assert study.automaton is not None
    assert study.eggboxes == ()


def test_a_small_budget_leaves_gaps_and_not_errors() -> None:
    language = find_language("tomita-3")
    study = study_language(language, budget=Budget(elements=3, images=1), architectures=["mamba"])
    assert study.profile.monoid_size is None
    assert "monoid" in study.profile.incomplete
    assert study.eggboxes == ()
    assert study.automaton == language.dfa()


def test_networks_are_made_only_when_asked_for() -> None:
    assert study_language(find_language("parity"), architectures=["lstm"]).networks == ()
