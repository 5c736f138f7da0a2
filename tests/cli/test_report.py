"""`nerode report`: from real runs to page, tables and figures."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from tests.cli.runner import run
from tests.report.run_specimens import fill_store, write_run


def test_trained_runs_become_a_report(tmp_path: Path) -> None:
    store = tmp_path / "runs"
    trained = run(
        "train", "parity", "--arch", "elman", "--seeds", "2", "--steps", "2", "--lengths", "40,64",
        "--jobs", "1", "--out", str(store), "--json",
    )  # fmt: skip
    assert trained.code == 0
    page = tmp_path / "report.html"
    made = run("report", str(store), "-o", str(page), "--json")
    assert made.code == 0
    data = json.loads(made.out)
    (task,) = data["tasks"]
    scores = [json.loads(line)["lengths"]["64"]["sequence"] for line in trained.out.splitlines()]
    assert task["models"][0]["lengths"]["64"]["low"] == min(scores)
    assert task["models"][0]["lengths"]["64"]["seeds"] == 2
    assert task["trained"] == [3, 40]
    # The task, the architecture, and the theorem.
    assert {"Grazzi2025", "Elman1990"} <= set(data["works"])
    assert page.read_text().startswith("<!doctype html>")


def test_tables_figures_and_works_are_written_beside_the_page(tmp_path: Path) -> None:
    store = fill_store(tmp_path / "runs")
    page = tmp_path / "out" / "page.html"
    figures = tmp_path / "figures"
    forms = [argument for form in ("md", "tex", "csv") for argument in ("--tables", form)]
    made = run("report", str(store), "-o", str(page), "--figures", str(figures), *forms)
    assert made.code == 0
    written = [Path(line) for line in made.out.splitlines()]
    assert all(path.stat().st_size > 0 for path in written)
    assert {path.suffix for path in written} == {".html", ".md", ".tex", ".csv", ".svg", ".pdf", ".bib"}
    assert sorted(path.name for path in figures.iterdir() if path.suffix == ".svg") == [
        "1-parity-accuracy.svg",
        "1-parity-lengths.svg",
        "1-parity-loss.svg",
        "1-parity-successes.svg",
    ]
    assert "@" in page.with_suffix(".bib").read_text()


def test_a_task_cannot_choose_where_figures_go(tmp_path: Path) -> None:
    write_run(tmp_path / "runs", task="../../evil", settings={"language": "/../x"})
    figures = tmp_path / "deep" / "figures"
    made = run("report", str(tmp_path / "runs"), "-o", str(tmp_path / "r.html"), "--figures", str(figures))
    assert made.code == 0
    names = {path.name for path in figures.iterdir()}
    assert "1-evil-x-lengths.svg" in names
    assert not list(tmp_path.glob("*evil*"))


def test_what_is_damaged_is_told(tmp_path: Path) -> None:
    store = fill_store(tmp_path / "runs")
    (sorted(store.iterdir())[0] / "result.json").write_text("{")
    made = run("report", str(store), "-o", str(tmp_path / "r.html"))
    assert made.code == 0
    assert "left out: " in made.err
    assert "5 runs on 1 task" in made.err


@pytest.mark.parametrize("ending", ["md", "bib"])
def test_a_page_is_not_overwritten_by_what_goes_beside_it(tmp_path: Path, ending: str) -> None:
    store = fill_store(tmp_path / "runs")
    page = tmp_path / f"page.{ending}"
    made = run("report", str(store), "-o", str(page), "--tables", "md")
    assert made.code == 2
    assert "would be overwritten" in made.err
    assert not page.exists()


def test_the_page_has_the_command_that_makes_it_again(tmp_path: Path) -> None:
    store = fill_store(tmp_path / "some runs")
    page = tmp_path / "r.html"
    made = run("report", str(store), "-o", str(page), "--measure", "token", "--sense", "exact")
    assert made.code == 0
    command = f"nerode report '{store}' -o {page} --measure token --sense exact"
    assert command in unescape(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "arguments", [("report",), ("report", "nowhere"), ("report", ".", "--tables", "doc")]
)
def test_wrong_use_is_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*arguments).code == 2


def test_the_page_alone_needs_no_torch(tmp_path: Path) -> None:
    store = fill_store(tmp_path / "runs")
    program = (
        "import sys; sys.modules['torch'] = None; from nerode.cli.main import main; "
        f"main(['report', {str(store)!r}, '-o', {str(tmp_path / 'r.html')!r}])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_figures_have_labelled_bands_names_and_a_width(tmp_path: Path) -> None:
    store = fill_store(tmp_path / "runs")
    figures = tmp_path / "figures"
    page = tmp_path / "r.html"
    made = run(
        "report", str(store), "-o", str(page), "--figures", str(figures), "--width", "85mm",
        "--names", "mamba=Ours, mostly",
    )  # fmt: skip
    assert made.code == 0, made.err
    drawn = (figures / "1-parity-lengths.svg").read_text()
    assert f'width="{85 / 25.4 * 96:.1f}"' in drawn
    for said in ("✓ possible at every length", "✗ impossible", "lstm ✓", "Ours, mostly ✗"):
        assert said in drawn
    shown = unescape(page.read_text())
    assert "Ours, mostly: impossible, and 3 of 3 seeds fail first at length 80." in shown
    assert "--names 'mamba=Ours, mostly'" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--width", "9km"), "--width 9km: give a number between 1in and 40in"),
        (("--width", "0.1in"), "--width 0.1in"),
        (("--names", "mamba"), "write MODEL=NAME"),
        (("--names", "mambo=Ours"), "no model is called 'mambo'; the models are lstm, mamba"),
        (("--names", "mamba=A", "--names", "lstm=A"), "two models the same name"),
    ],
)
def test_bad_widths_and_names_are_told(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    store = fill_store(tmp_path / "runs")
    made = run("report", str(store), "-o", str(tmp_path / "r.html"), *arguments)
    assert made.code == 2
    assert message in made.err
    assert not (tmp_path / "r.html").exists()


def test_two_seeds_have_no_median(tmp_path: Path) -> None:
    for seed, good in enumerate(((1.0, 1.0, 1.0), (0.0, 0.0, 0.0))):
        write_run(tmp_path / "runs", seed=seed, accuracies=good)
    page, table = tmp_path / "r.html", tmp_path / "r.md"
    assert run("report", str(tmp_path / "runs"), "-o", str(page), "--tables", "md").code == 0
    assert "0, 100" in table.read_text()
    titles = re.findall("<title>([^<]* at length 40)</title>", page.read_text())
    assert {title.partition(" seed ")[2] for title in titles} == {"0: 100 at length 40", "1: 0 at length 40"}
