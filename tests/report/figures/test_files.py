"""Figures for papers: the same bytes each time, and any text."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree as XmlTree

import pytest

from nerode.core import InputError
from nerode.report import save_figure
from tests.report.figures.cases import RECORDS, bar_chart, length_curves


@pytest.mark.parametrize("make", RECORDS)
def test_the_same_record_gives_the_same_file(tmp_path: Path, make: object) -> None:
    record = make()  # type: ignore[operator]
    for name in ("a.svg", "b.svg"):
        save_figure(record, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    texts = {item.text for item in XmlTree.parse(tmp_path / "a.svg").iter() if item.tag.endswith("}text")}
    assert record.title in texts


def test_pdf_too(tmp_path: Path) -> None:
    for name in ("a.pdf", "b.pdf"):
        save_figure(length_curves(), tmp_path / name)
    content = (tmp_path / "a.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert content == (tmp_path / "b.pdf").read_bytes()


@pytest.mark.parametrize("make", RECORDS)
def test_hostile_texts_are_texts(tmp_path: Path, make: object) -> None:
    record = make(lambda text: f"$\\frac{{</text><script>alert(1)</script>_{text}")  # type: ignore[operator]
    path = tmp_path / "a.svg"
    save_figure(record, path)
    tags = {item.tag.rpartition("}")[2] for item in XmlTree.parse(path).iter()}
    assert "script" not in tags


def test_other_files_and_a_missing_library_are_clear_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"written as \.svg, \.pdf, \.tikz, \.tex; .* is none of these"):
        save_figure(bar_chart(), tmp_path / "a.png")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    save_figure(bar_chart(), tmp_path / "a.svg")
    with pytest.raises(InputError, match=r"pip install 'nerode\[plots\]'"):
        save_figure(bar_chart(), tmp_path / "a.pdf")
