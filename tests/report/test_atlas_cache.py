from __future__ import annotations

import json
from pathlib import Path

import pytest

from nerode.report import atlas_cache
from nerode.report.atlas import atlas_page
from nerode.report.atlas_cache import AtlasCache
from nerode.report.atlas_entry import entry_of
from tests.report.test_atlas import hostile_row, parity_row

SETTINGS = {"sense": "finite-precision"}


def test_what_was_kept_makes_the_same_page(tmp_path: Path) -> None:
    entries = [entry_of(parity_row("first")), entry_of(hostile_row())]
    cache = AtlasCache(tmp_path, SETTINGS)
    for name, entry in zip("ab", entries, strict=True):
        cache.write(name, entry)
    again = [AtlasCache(tmp_path, SETTINGS).read(name) for name in "ab"]
    assert again == entries
    assert atlas_page([entry for entry in again if entry]) == atlas_page([parity_row("first"), hostile_row()])


def test_other_settings_other_code_or_a_damaged_file_are_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = AtlasCache(tmp_path, SETTINGS)
    cache.write("parity", entry_of(parity_row()))
    assert cache.read("parity") is not None
    assert cache.read("odd-parity") is None
    assert AtlasCache(tmp_path, {"sense": "robust"}).read("parity") is None
    with monkeypatch.context() as patch:
        patch.setattr(atlas_cache, "code_hash", lambda: "another version")
        assert cache.read("parity") is None
    (file,) = tmp_path.iterdir()
    whole = file.read_text(encoding="utf-8")
    data = json.loads(whole)
    del data["cells"]
    for damaged in (whole[:-5], "[]", json.dumps(data)):
        file.write_text(damaged, encoding="utf-8")
        assert cache.read("parity") is None


def test_nothing_is_kept_without_a_folder() -> None:
    cache = AtlasCache(None, SETTINGS)
    cache.write("parity", entry_of(parity_row()))
    assert cache.read("parity") is None
