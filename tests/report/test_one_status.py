"""A run that passes its tests and gets a word of 12 letters wrong is nowhere called correct."""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from nerode.analysis.standing import Standing, Trained, judge
from nerode.models import save_model
from nerode.records import RunStatus, Settlement, read_run, run_status
from nerode.report import save_figure
from nerode.report.tables.run_report import make_report
from nerode.study import TheoryOfRuns, conclude_task, group_runs, read_run_files, read_runs
from tests.cli.runner import run
from tests.report.run_specimens import write_run

WORD = ("1",) * 12
SHARED = {"about": "parity", "words": "all words", "dtype": "float32", "method": "closure", "states": 2}
REFUTED = Settlement(status="refuted", length=11, word=WORD, **SHARED)
PROVED = Settlement(status="proved", length="all", **SHARED)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two seeds of an LSTM with 100 % in every test of parity, each with a wrong word."""
    for seed in range(2):
        folder = write_run(
            tmp_path / "runs", title="lstm", layers=("lstm",), seed=seed, accuracies=(1.0, 1.0, 1.0)
        )
        subject = save_model(folder, torch.nn.Linear(2, seed + 1))
        (folder / "settled").mkdir()
        kept = replace(REFUTED, subject=subject.hash)
        (folder / "settled" / "settlement.json").write_text(json.dumps(kept.to_json()))
    return tmp_path / "runs"


def test_the_least_of_word_and_test_counts(store: Path, tmp_path: Path) -> None:
    record = read_run(next(path for path in store.iterdir() if path.is_dir()))
    assert run_status(record, REFUTED) == RunStatus(kind="refuted", length=12, tested=0)
    assert run_status(record, replace(REFUTED, word=("1",) * 100)).tested == 80
    assert run_status(record, None) == RunStatus(kind="tested", length=400, tested=400)
    assert run_status(record, PROVED).kind == "proved"
    failing = read_run(write_run(tmp_path / "failing", accuracies=(1.0, 0.2, 1.0)))
    assert run_status(failing, None) == RunStatus(kind="refuted", length=80, tested=40)
    assert run_status(failing, replace(REFUTED, word=("1",) * 100)).length == 80
    assert [str(run_status(failing, end)) for end in (None, PROVED)] == [
        "refuted at length 80",
        "proved at every length",
    ]


def test_no_sentence_table_or_bar_calls_it_correct(store: Path) -> None:
    (task,) = group_runs(read_run_files([store])[0])
    (said,) = conclude_task(task, TheoryOfRuns(task))
    assert said == "lstm: possible, but 2 of 2 seeds refuted by words, the shortest 1^12 (12 letters)."
    (item,) = make_report(read_run_files([store])[0]).tasks
    assert item.table.rows[0][-2] == "0 of 2"
    assert item.successes is not None
    assert item.successes.bars[0].text == "0 of 2"
    (outcome,) = read_runs(store)
    assert (outcome.status, outcome.generalises) == ("refuted", False)


def test_every_curve_has_a_cross_at_the_word_on_the_page_and_in_the_paper(
    store: Path, tmp_path: Path
) -> None:
    (item,) = make_report(read_run_files([store])[0]).tasks
    assert [run.cross for series in item.curves.series for run in series.runs] == [(12, 1.0)] * 2
    assert item.curves.span[0] == 12
    assert "✗" in item.curves.caption
    for name in ("with.svg", "with.pdf"):
        save_figure(item.curves, tmp_path / name, width=3.25)
    clean = replace(
        item.curves,
        series=tuple(
            replace(s, runs=tuple(replace(r, wrong=None) for r in s.runs)) for s in item.curves.series
        ),
    )
    for name in ("without.svg", "without.pdf"):
        save_figure(clean, tmp_path / name, width=3.25)
    drawn = (tmp_path / "with.svg").read_text()
    assert drawn.count('<g class="cross">') == 2
    assert "lstm seed 0: answers a word of 12 letters incorrectly" in drawn
    assert 'class="cross"' not in (tmp_path / "without.svg").read_text()
    crosses = re.findall(r'<g class="cross">.*?</g>', drawn)
    assert all("of 12 letters" in cross for cross in crosses)
    strokes = re.findall(r'd="M([0-9.]+) (-?[0-9.]+)L([0-9.]+) (-?[0-9.]+)"', "".join(crosses))
    for stroke in ([float(v) for v in found] for found in strokes):
        assert is_drawn(tmp_path / "with.pdf", stroke)
        assert not is_drawn(tmp_path / "without.pdf", stroke)


def is_drawn(path: Path, stroke: list[float]) -> bool:
    """Whether a PDF has a line of a picture, found by its two ends."""
    content = path.read_bytes()
    (height,) = re.findall(rb"/MediaBox \[ 0 0 [0-9.]+ ([0-9.]+) \]", content)
    streams = re.findall(rb"stream\r?\n(.*?)endstream", content, re.DOTALL)
    commands = b"".join(zlib.decompressobj().decompress(stream) for stream in streams[:1])
    lines = re.findall(rb"([0-9.]+) ([0-9.]+) m\n([0-9.]+) ([0-9.]+) l\n", commands)
    (top,) = re.findall(r'viewBox="0 (-?[0-9.]+) ', path.with_suffix(".svg").read_text())
    wanted = [0.75 * stroke[0], 0.75 * stroke[2]]
    wanted += [float(height) - 0.75 * (y - float(top)) for y in (stroke[1], stroke[3])]
    found = [[float(a), float(c), float(b), float(d)] for a, b, c, d in lines]
    return any(all(abs(x - y) < 0.2 for x, y in zip(line, wanted, strict=True)) for line in found)


def test_the_commands_do_not_either(store: Path, tmp_path: Path) -> None:
    listed = run("runs", "ls", str(store)).out
    assert "○ 12" in listed
    assert "400" not in listed
    shown = run("report", str(store), "-o", str(tmp_path / "page.html"), "--json").out
    assert json.loads(shown)["tasks"][0]["models"][0]["masters_longest"] == 0
    page = (tmp_path / "page.html").read_text()
    assert "lstm: possible, but 2 of 2 seeds refuted by words, the shortest 1^12 (12 letters)." in page
    for wrong in ("correct up to length 400", "training found what theory allows", "2 of 2"):
        assert wrong not in page.replace("2 of 2 seeds refuted", "")


def test_it_is_a_disagreement_where_theory_says_yes(store: Path) -> None:
    record = read_run(next(path for path in store.iterdir() if path.is_dir()))
    trained = Trained(
        folder="run",
        seed=0,
        longest=400,
        reaches=run_status(record, REFUTED).tested or None,
        diverged=False,
        status=str(run_status(record, REFUTED)),
        settled="refuted",
        fails_first=12,
    )
    row = Standing(
        architecture="lstm", theory="yes", reason="", compiled="cascade", refusal="", trained=(trained,)
    )
    assert judge(row).disagreements == (
        "theory says yes, but 1 of 1 runs fail at a tested length, or on a word that is known",
    )
