from __future__ import annotations

from pathlib import Path

from nerode.records import CellResult, LineResult, write_table
from nerode.report.pages.atlas import atlas_page
from nerode.report.pages.highlights import read_highlights
from tests.report import table_specimens as specimens
from tests.report.pages.test_atlas import parity_row
from tests.report.pages.test_language import assert_offline, words


def cell(column: str, *values: float, printed: str = "", published: float | None = None) -> CellResult:
    return specimens.cell(column=column, values=values, printed=printed, published=published)


def line(row: str, model: str, kind: str, *cells: CellResult) -> LineResult:
    return specimens.line(row=row, model=model, kind=kind, cells=cells)


ONE = "Mamba, 1 layer"


def write(folder: Path, paper: str, table: str, *lines: LineResult) -> None:
    found = specimens.table(
        *lines,
        paper=paper,
        table=table,
        citation="A paper 2024",
        command=f"nerode reproduce {paper}:{table}",
    )
    write_table(folder / "reproduce", found)


def write_all(folder: Path) -> None:
    far = cell("51–100", 0.1, 0.2, 0.9, printed="54", published=0.54)
    write(
        folder,
        "sarrof",
        "counters",
        line("Dyck-1", "Transformer", "trained", cell("51–100", 1.0)),
        line("Dyck-1", ONE, "trained", far),
        line("Dyck-1", "gla, compiled", "compiled", cell("51–100", 1.0)),
        line("Shuffle-2", ONE, "trained", far),
    )
    good = cell("51–100", 1.0, 0.95, printed="100", published=1.0)
    deeper = [line(row, "Mamba, 2 layers", "trained", good) for row in "ABC"]
    star_free = (line("A", ONE, "trained", good), line("B", ONE, "trained", far), *deeper[:2])
    write(folder, "sarrof", "star-free", *star_free)
    write(folder, "sarrof", "not-star-free", line("C", ONE, "trained", far), *deeper[2:])
    write(
        folder,
        "memory",
        "table-2",
        line("A5", "LSTM, 1 layer", "trained", cell("1X", 1.0), cell("512", 0.0)),
        line("A5", "rotations", "polished", cell("1X", 1.0), cell("512", 1.0), cell("4096", 0.5, 1.0, 1.0)),
    )
    write(folder, "metric-automata", "flip-flop", line("Flip-flop", "LSTM", "trained", cell("survives", 1.0)))


def test_the_four_comparisons(tmp_path: Path) -> None:
    write_all(tmp_path)
    split, horizon, counters, groups = read_highlights(tmp_path)
    assert counters.chart.columns == ("51–100",)
    assert counters.rows == [
        (f"{ONE}, published", "54"),
        (f"{ONE}, trained here", "20 (10–90)"),
        ("gla, compiled", "100"),
    ]
    assert counters.claim.endswith("compiled weights answer 100 % of the words correctly, trained ones 20 %.")
    assert split.rows == [
        ("star-free, published", "1 of 2"),
        ("star-free, trained here", "1 of 2"),
        ("not star-free, published", "0 of 1"),
        ("not star-free, trained here", "0 of 1"),
    ]
    assert "on 1 of 2 star-free languages and on 0 of 1 others" in split.claim
    assert groups.rows == [
        ("A5, polished", "100", "–", "–", "100", "100 (50–100)"),
        ("A5: LSTM, 1 layer", "100", "–", "–", "0", "–"),
    ]
    assert groups.claim.startswith("1 of 1 polished")
    assert horizon.rows == [("LSTM", "100")]
    assert horizon.claim == "All models learn flip-flop perfectly; LSTM keeps the bit."


def test_what_is_not_there_is_not_shown(tmp_path: Path) -> None:
    assert read_highlights(tmp_path) == []
    write_all(tmp_path)
    (tmp_path / "reproduce" / "sarrof" / "star-free.json").unlink()
    (tmp_path / "reproduce" / "memory" / "table-2.json").write_text("{", encoding="utf-8")
    assert len(read_highlights(tmp_path)) == 2


def test_they_follow_the_matrix_as_charts(tmp_path: Path) -> None:
    write_all(tmp_path)
    page = atlas_page([parity_row()], highlights=read_highlights(tmp_path))
    assert_offline(page)
    text = words(page)
    assert page.index('class="matrix"') < page.index('class="card finding"')
    assert page.count('<svg class="chart half"') == 4
    assert "<title>Mamba, 1 layer, trained here: 20 (10–90) at 51–100</title>" in page
    assert "Reproduce: nerode reproduce sarrof:counters Published: A paper 2024." in text
