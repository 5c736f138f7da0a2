"""The fair comparison of `benchmarks/fair.py`: its arms, rows and page, with planted networks."""

from __future__ import annotations

import importlib
import json
from types import SimpleNamespace

import pytest

from benchmarks import fair

STUDY = ("mamba", "predict-set-reset", 1)


@pytest.fixture
def planted(monkeypatch, tmp_path):
    """Training that has learned from 1,000 updates on, at 0.01 seconds each; exact runs are proved."""
    runs = []

    def train(study, seed, *, updates=0, **exact):
        runs.append((updates, exact.get("gates", "two"), exact))
        steps = updates or 200
        stopped = "steps" if updates else "judge"
        return SimpleNamespace(steps=steps, cpu_seconds=steps / 100, stopped=stopped), steps

    monkeypatch.setattr(fair, "_train", train)
    monkeypatch.setattr(fair, "learned", lambda steps, task: steps >= 1000)
    monkeypatch.setattr(fair, "accuracies", lambda steps, task: {"8": steps / 10_000, "64": 0.0})
    monkeypatch.setattr(fair, "end_of", lambda *_: {"status": "refuted", "word": ["0"] * 7})
    monkeypatch.setattr(fair, "FOLDER", tmp_path)
    return runs


def rows(tmp_path):
    return [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]


def test_plain_training_goes_on_as_long_again_after_it_has_learned(planted):
    record, _ = fair.plain_until_learned(STUDY, 301, None)
    assert [updates for updates, *_ in planted] == [400, 800, 1600, 3200]
    assert record.steps == 3200
    assert all(gates == "none" for _, gates, _ in planted)


def test_equal_seconds_are_counted_in_updates(planted):
    record, _ = fair.plain_of_equal_seconds(STUDY, 301, {"train_seconds": 7.5})
    assert record.steps == 750


def test_a_comparison_goes_on_and_its_page_has_shared_pairs_only(planted, tmp_path, capsys):
    words = ["--only", "mamba:predict-set-reset", "--arms", "exact,loop"]
    fair.main([*words, "--seeds", "301"])
    assert [(row["arm"], row["status"], row["word"]) for row in rows(tmp_path)] == [
        ("exact", "proved", None),
        ("loop", "proved", None),
    ]
    made = len(planted)
    fair.main([*words, "--seeds", "301"])
    assert len(planted) == made
    fair.main(["--only", "mamba:predict-set-reset", "--arms", "exact", "--seeds", "301-302"])
    page = (tmp_path / "README.md").read_text()
    assert "1 pair of a study and a seed" in page
    assert "| exact | 1 | 0 | 0.02 | 0.00 | 1 | 0 | 0 | 2.0 |" in page
    fair.main(["--only", "mamba:predict-set-reset", "--arms", "seconds", "--seeds", "303"])
    assert "need the exact run first" in capsys.readouterr().out
    assert len(rows(tmp_path)) == 3


def test_ablations_change_one_setting_of_the_recipe(planted):
    for arm in ("exact", "no-head", "no-restarts", "no-margin", "loop"):
        fair.ARMS[arm](STUDY, 301, None)
    assert [exact for _, _, exact in planted] == [
        {},
        {"naming": 0.0},
        {"attempts": 1},
        {"hinge": 0.0},
        {"gates": "none"},
    ]
    for changed in ({"naming": 0.0}, {"attempts": 1}, {"hinge": 0.0}, {"gates": "none"}, fair.PLAIN):
        (name, value), *_ = changed.items()
        assert getattr(fair.spec_of(*STUDY, 301, **changed).run.exact, name) == value


def test_all_arms_of_the_command_are_told_on_the_page():
    assert all(f"{arm}:" in fair.HEAD or f"{arm}," in fair.HEAD for arm in fair.ARMS)


@pytest.mark.parametrize("name", ["settled", "polish", "ngram_experiment"])
def test_fresh_seeds_of_a_finding_are_printed_and_nothing_is_written(name, monkeypatch, tmp_path, capsys):
    module = importlib.import_module(f"benchmarks.{name}")
    seen = []

    def make(*arguments):
        seen.append(arguments)
        return {"proved": len(seen) > 1}

    monkeypatch.chdir(tmp_path)
    words = ["--seeds", "301-302"]
    if name == "settled":
        monkeypatch.setattr(module, "exact_row", make)
        words += ["--only", "mamba:predict-tomita-1"]
    elif name == "polish":
        monkeypatch.setattr(module, "measure", make)
        monkeypatch.setattr(module, "row_of", str)
    else:
        monkeypatch.setattr(module, "run_in", lambda *_: None)
        monkeypatch.setattr(module, "load_subject", lambda folder: folder)
        monkeypatch.setattr(module, "analyse", lambda folder: folder)
        monkeypatch.setattr(module, "row", make)
    module.main(words)
    assert len(seen) >= 2
    assert capsys.readouterr().out
    assert not any(path.is_file() for path in tmp_path.rglob("*"))
    if name == "settled":
        assert [arguments[3] for arguments in seen] == [301, 302]
