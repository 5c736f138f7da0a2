"""The page of a report, also in a real browser."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from nerode.core import Reference
from nerode.report.pages.report import report_page
from nerode.report.tables.run_report import RunReport, make_report, report_json
from nerode.study.runs import read_run_files
from tests.browser import OpenPage
from tests.report.run_specimens import fill_store, write_run

HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"

ANALYSIS: dict[str, Any] = {
    "format": "nerode-analysis-1",
    "name": "mamba on parity",
    "about": {},
    "spectra": [
        {
            "layer": 0,
            "linear": True,
            "source": "one matrix",
            "spectra": [
                {
                    "label": "all",
                    "eigenvalues": [[0.5, 0.1], [-1.0, 0.0]],
                    "counted": 2,
                    "outside": 0,
                    "on": 1,
                    "radius": 1.0,
                    "norm": 1.0,
                }
            ],
            "products": [{"n": 1, "median": 1.0, "largest": 1.0}],
            "nilpotent": None,
            "stretch": None,
            "rate": 1.0,
        }
    ],
    "context": None,
    "clusters": [],
    "trace": None,
    "attention": None,
    "margins": None,
    "forgetting": None,
    "left_out": {},
}


def report_of(*places: Path, **options: Any) -> RunReport:
    runs, left_out = read_run_files(places)
    return make_report(runs, left_out=left_out, **options)


def test_theory_and_training_are_compared_in_one_sentence_per_model(tmp_path: Path) -> None:
    page = unescape(report_page(report_of(fill_store(tmp_path))))
    text = " ".join(re.sub("<[^>]*>", " ", page).split())
    assert (
        "mamba: impossible, and 3 of 3 seeds fail first at length 80. Theory, finite precision: needs a "
        "star-free language; the monoid contains Z2 [Sarrof et al. 2024]"
    ) in text
    assert "lstm: possible, and 2 of 3 seeds pass the tests up to length 400; 1 of 3 seeds diverged." in text


def test_the_json_has_every_cell_by_name(tmp_path: Path) -> None:
    report = report_of(fill_store(tmp_path), task_works={"parity": Reference("Grazzi2025")})
    data = json.loads(json.dumps(report_json(report)))
    (task,) = data["tasks"]
    mamba = next(model for model in task["models"] if model["model"] == "mamba")
    assert mamba["lengths"]["400"] == {"median": 0.0, "low": 0.0, "high": 0.0, "seeds": 3}
    assert mamba["theory"]["status"] == "no"
    assert "Grazzi2025" in data["works"]


def test_published_values_stand_beside_runs_of_their_task_only(tmp_path: Path) -> None:
    # Grazzi et al. train on the last answer, not on one at each position.
    write_run(tmp_path / "each", task="parity")
    write_run(tmp_path / "last", task="parity-last")
    found = {}
    for name in ("each", "last"):
        (task,) = report_json(report_of(tmp_path / name))["tasks"]
        found[name] = [row for row in task["published"] if row["source"].startswith("Grazzi")]
    assert found["last"]
    assert not found["each"]


def test_everything_from_files_is_escaped(tmp_path: Path) -> None:
    settings = {"language": HOSTILE, HOSTILE: HOSTILE}
    folder = write_run(tmp_path, title=HOSTILE, task=HOSTILE, settings=settings, layers=(HOSTILE,))
    (folder / "analysis.json").write_text(json.dumps({**ANALYSIS, "name": HOSTILE}))
    damaged = write_run(tmp_path / HOSTILE.replace("/", "_"), seed=3)
    (damaged / "result.json").write_text("{")
    store = damaged.parent
    write_run(store, seed=4)
    page = report_page(report_of(tmp_path, store), command=HOSTILE)
    assert "<img" not in page
    assert "<script>alert" not in page
    assert HOSTILE in unescape(page)
    assert "<script" not in page


def test_a_damaged_analysis_is_told_and_the_rest_is_shown(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    (folder / "analysis.json").write_text(json.dumps({"format": "nerode-analysis-1", "name": "broken"}))
    page = report_page(report_of(tmp_path))
    assert "cannot be shown: KeyError" in page
    assert "Accuracy against length" in page


def test_a_run_that_was_never_tested_has_a_page(tmp_path: Path) -> None:
    write_run(tmp_path, accuracies=(), divergence={"step": 3, "what": "loss"})
    report = report_of(tmp_path)
    assert "(1 diverged)" in report_page(report)
    assert report.tasks[0].successes is None


def margins(last: float) -> dict[str, Any]:
    reads = [{"ignored": n, "margin": m, "right": m > 0} for n, m in ((10, 5.0), (1000, last))]
    return {"streams": [{"bit": 0, "stream": "opposite", "reads": reads, "survived": 10}]}


def test_how_long_a_bit_is_remembered_is_a_figure(tmp_path: Path) -> None:
    write_run(tmp_path, task="flip-flop", examination=margins(-2.0))
    (item,) = report_of(tmp_path).tasks
    assert item.streams is not None
    assert item.streams.lines[0].points == ((10.0, 5.0), (1000.0, -2.0))


@pytest.mark.browser
@pytest.mark.parametrize(("width", "dark"), [(1100, False), (390, True)])
def test_the_report_in_a_browser(open_page: OpenPage, tmp_path: Path, width: int, dark: bool) -> None:
    store = fill_store(tmp_path / "runs")
    for seed in (8, 9):
        folder = write_run(store, seed=seed, title=HOSTILE, task="flip-flop", examination=margins(1.0))
        (folder / "analysis.json").write_text(json.dumps({**ANALYSIS, "name": f"{HOSTILE} {seed}"}))
    file = tmp_path / "report.html"
    file.write_text(report_page(report_of(store), command="nerode report runs"), encoding="utf-8")
    page = open_page(file, width=width, dark=dark)
    # Two tasks: lengths, loss, accuracy and successes; streams of one; spectrum and norms of an analysis.
    assert page.locator("figure.chart:visible").count() == 2 * 4 + 1 + 2
    page.locator("details.analysis > summary").nth(1).click()
    assert page.locator("figure.chart:visible").count() == 2 * 4 + 1 + 2 + 2
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.images.length") == 0
    assert page.locator("section.task h2.task").all_inner_texts() == ["flip-flop", "parity", "Mechanism"]
    assert page.locator("#task-2 .results tbody tr").count() == 2
    assert page.locator("#task-2 .pill.no").first.inner_text() == "impossible"
