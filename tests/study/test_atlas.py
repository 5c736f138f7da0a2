from __future__ import annotations

import json
from pathlib import Path

import pytest

from nerode.core import to_mapping
from nerode.report import atlas_page, entry_from_json
from nerode.study import StudyCache, atlas, for_all_languages, study_named
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
