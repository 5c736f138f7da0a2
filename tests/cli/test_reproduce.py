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
    assert names == {f"{p.name}:{t.name}" for p in PAPERS.values() for t in p.tables}
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
