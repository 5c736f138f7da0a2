"""`nerode reproduce` and `nerode list papers`."""

from __future__ import annotations

import json

import pytest

from nerode.reproduce import PAPERS
from nerode.sweeps import read_sweep
from tests.cli.runner import run
from tests.reproduce.tiny import paper


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(PAPERS._rows, "tiny", paper())


def test_papers_lists_every_table():
    outcome = run("list", "papers", "--json")
    assert outcome.code == 0
    names = {json.loads(text)["name"] for text in outcome.out.splitlines()}
    assert names == {f"{p.name}:{t.name}" for p in PAPERS.values() for t in (*p.tables, *p.figures)}
    assert "sarrof:counters" in run("list", "papers").out


def test_a_table_is_run_kept_and_listed(tiny, tmp_path):
    kept = tmp_path / "experiments"
    outcome = run(
        "reproduce",
        "tiny:table-1",
        "--seeds",
        "1",
        "--out",
        str(tmp_path / "runs"),
        "--keep",
        str(kept),
        "--json",
    )
    assert outcome.code == 0, outcome.err
    (found,) = [json.loads(text) for text in outcome.out.splitlines()]
    assert found["lines"][0]["seeds"] == [0]
    assert "GRU · seed 0: done" in outcome.err
    assert (kept / "reproduce/tiny/table-1.md").read_text().startswith("## Table 1: parity")
    page = run("reproduce", "--all", "--table", "--keep", str(kept))
    assert page.out.startswith("# Claims of papers")
    plain = run("reproduce", "tiny", "--out", str(tmp_path / "runs"), "--done")
    assert plain.code == 0
    assert "agrees?" in plain.out


def test_fresh_seeds_are_named_by_their_range(tiny, tmp_path):
    words = ("reproduce", "tiny:table-1", "--seeds", "301-302", "--out", str(tmp_path / "runs"))
    outcome = run(*words, "--settle", "off", "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert found["lines"][0]["seeds"] == [301, 302]
    assert found["command"].endswith("--seeds 301-302")
    assert run(*words, "--keep", str(tmp_path / "kept")).code == 2
    assert run("reproduce", "tiny", "--seeds", "305-301").code == 2
    place = tmp_path / "sweeps"
    sweep = run("reproduce", "grazzi:parity", "--scale", "paper", "--seeds", "7-8", "--out", str(place))
    assert sweep.code == 0
    assert "run.seed = [7, 8]" in (place / "grazzi-parity.toml").read_text()


def test_a_figure_is_drawn_from_runs_and_from_stored_results(tiny, tmp_path):
    runs, kept = tmp_path / "runs", tmp_path / "kept"
    words = ("reproduce", "tiny:figure-1", "--settle", "off", "--out", str(runs), "--keep", str(kept))
    assert run(*words).code == 2  # a figure is no table to keep
    table = run("reproduce", "tiny:table-1", *words[2:])
    assert table.code == 0, table.err
    path = runs / "figures" / "tiny-figure-1.svg"
    assert not path.exists()
    drawn = run(*words[:-2])
    assert str(path) in drawn.err
    svg = path.read_text()
    assert "GRU" in svg
    assert "compiled" not in svg
    # Every seed and their mean, through the two lengths of the table.
    assert svg.count("<path") > 4
    none = tmp_path / "none"
    words = ("reproduce", "tiny:figure-1", "--done", "--out", str(none), "--figures", str(none))
    assert "there is no run to draw yet" in run(*words).err
    assert not list(none.glob("*.svg"))


def test_what_is_left_goes_on_line_by_line(tiny, tmp_path):
    kept, runs = tmp_path / "experiments", tmp_path / "runs"
    words = ("reproduce", "tiny", "--go-on", "--keep", str(kept), "--out", str(runs))
    before = run(*words, "--done")
    assert before.code == 0, before.err
    assert "done 0 of 2 lines; left 2 lines, 4 runs" in before.out
    assert "Parity · GRU: 3 runs of about" in before.out
    # As if it had been killed after two seeds of a line: these are not made again.
    assert run("reproduce", "tiny", "--seeds", "2", "--out", str(runs), "--settle", "off").code == 0
    assert "Parity · GRU: 1 runs of about" in run(*words, "--done").out
    first = run(*words, "--settle", "off")
    assert first.code == 0, first.err
    assert first.out.count("seed 2: done") == 1
    assert "seed 1: done" not in first.out.replace("seed 1: done already", "")
    assert first.out.splitlines()[-1].endswith("done 2 of 2 lines; left 0 lines, 0 runs, about 0.0 CPU hours")
    (line,) = (
        x for x in json.loads((kept / "reproduce/tiny/table-1.json").read_text())["lines"] if x["keys"]
    )
    assert (line["seeds"], line["missing"]) == ([0, 1, 2], [])
    assert [len(line[name]) for name in ("commits", "weights", "curves", "keys")] == [3, 3, 3, 3]
    assert len(set(line["weights"])) == 3
    assert line["curves"][0][-1][0] == 3
    # A line that is kept needs no folder of runs.
    other = run(
        "reproduce", "tiny", "--go-on", "--keep", str(kept), "--out", str(tmp_path / "none"), "--done"
    )
    assert "done 2 of 2 lines" in other.out
    assert run(*words, "--seeds", "1").code == 2


def test_the_table_of_claims_of_one_paper(tiny, tmp_path):
    kept = tmp_path / "experiments"
    run("reproduce", "tiny", "--seeds", "1", "--out", str(tmp_path / "runs"), "--keep", str(kept))
    page = run("reproduce", "tiny:table-1", "--table", "--keep", str(kept))
    assert page.out.startswith("# Claims of papers")
    other = run("reproduce", "sarrof", "--table", "--keep", str(kept))
    assert other.code == 2
    assert "no kept result of these" in other.err


def test_a_table_that_is_named_twice_is_run_once(tiny, tmp_path):
    outcome = run("reproduce", "tiny", "tiny:table-1", "--done", "--out", str(tmp_path / "runs"), "--json")
    assert outcome.code == 0
    assert len(outcome.out.splitlines()) == 1


def test_the_full_scale_is_a_sweep_file(tmp_path):
    outcome = run("reproduce", "grazzi:parity", "--scale", "paper", "--seeds", "3", "--out", str(tmp_path))
    assert outcome.code == 0
    sweep = read_sweep(tmp_path / "grazzi-parity.toml")
    assert sweep.size == 7 * 4 * 3
    everything = run("reproduce", "metric-automata", "--scale", "paper", "--out", str(tmp_path), "--json")
    assert [json.loads(text)["table"] for text in everything.out.splitlines()] == ["flip-flop"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("reproduce",), "give --all"),
        (("reproduce", "sarrof", "--all"), "one of the two"),
        (("reproduce", "sarof"), "sarrof"),
        (("reproduce", "sarrof:counter"), "counters"),
        (("reproduce", "--table", "--keep", "/nowhere"), "no kept result"),
        (("reproduce", "metric-automata:constructions", "--scale", "paper"), "nothing to run"),
        (("reproduce", "sarrof", "--scale", "paper", "--done"), "leave --done and --keep out"),
    ],
)
def test_wrong_use(words, message, tmp_path):
    outcome = run(*words)
    assert outcome.code == 2
    assert message in outcome.err
