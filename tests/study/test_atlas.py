"""Everything about one language for a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nerode.core import Budget, UnknownName, to_mapping
from nerode.languages import resolve_language
from nerode.languages.bestiary import find_language
from nerode.report import atlas_page, entry_from_json
from nerode.study import StudyCache, atlas, for_all_languages, study_named
from nerode.study.atlas import study_language
from nerode.verdict import ARCHITECTURES, Sense, VerdictTask
from tests.report.pages.test_atlas import hostile_row, parity_row

SETTINGS = {"sense": "finite-precision"}


def test_what_was_kept_makes_the_same_page(tmp_path: Path) -> None:
    entries = [parity_row("first"), hostile_row()]
    cache = StudyCache(tmp_path, SETTINGS)
    for name, entry in zip("ab", entries, strict=True):
        cache.write(name, to_mapping(entry))
    again = [entry_from_json(StudyCache(tmp_path, SETTINGS).read(name)) for name in "ab"]
    assert again == entries
    assert atlas_page([entry for entry in again if entry]) == atlas_page([parity_row("first"), hostile_row()])


def test_other_settings_other_code_or_a_damaged_file_are_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = StudyCache(tmp_path, SETTINGS)
    cache.write("parity", to_mapping(parity_row()))
    assert cache.read("parity") is not None
    assert cache.read("odd-parity") is None
    assert StudyCache(tmp_path, {"sense": "robust"}).read("parity") is None
    with monkeypatch.context() as patch:
        patch.setattr(atlas, "code_hash", lambda: "another version")
        assert cache.read("parity") is None
    (file,) = tmp_path.iterdir()
    whole = file.read_text(encoding="utf-8")
    data = json.loads(whole)
    del data["cells"]
    for damaged in (whole[:-5], "[]", json.dumps(data)):
        file.write_text(damaged, encoding="utf-8")
        assert entry_from_json(cache.read("parity")) is None


def test_nothing_is_kept_without_a_folder() -> None:
    cache = StudyCache(None, SETTINGS)
    cache.write("parity", to_mapping(parity_row()))
    assert cache.read("parity") is None


def test_languages_are_studied_in_one_process_or_several() -> None:
    names = ["parity", "tomita-1"]
    alone, together = (dict(for_all_languages(names, len, jobs=jobs)) for jobs in (1, 2))
    assert alone == together == {"parity": 6, "tomita-1": 8}


def test_a_named_language_is_studied_with_its_networks_or_without() -> None:
    study = study_named("tomita-1", networks=False)
    assert (study.language.name, study.networks) == ("tomita-1", ())
    assert study.table["mamba"].status == "yes"


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


def test_slow_languages_begin_first_also_without_an_automaton() -> None:
    costs = {name: atlas._cost(name) for name in ("shuffle-6", "s4", "shuffle-2", "parity")}
    assert sorted(costs, key=lambda name: -costs[name]) == list(costs)
