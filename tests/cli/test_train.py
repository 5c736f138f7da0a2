"""`nerode train` and `nerode list tasks`."""

from __future__ import annotations

import json

import pytest

from nerode.cli.progress import Board
from nerode.records import STATUS_LEGEND
from nerode.tasks import all_tasks
from nerode.training import ProgressEvent, make_specs, run_key
from tests.cli.runner import run

TINY = (
    *("--set", "task.settings.longest=10", "--set", "task.settings.shortest=4", "--steps", "6"),
    *("--set", "run.batch=8", "--set", "run.evaluate_every=3", "--set", "run.test_sequences=8"),
    *("--lengths", "10,20", "--set", "run.validation=16"),
)


def items(outcome):
    assert outcome.code == 0, outcome.err
    return [json.loads(line) for line in outcome.out.splitlines()]


def test_records_are_keyed_by_architecture_seed_and_length(tmp_path):
    found = items(
        run(
            *("train", "parity", "--arch", "gru,mamba+elman", "--seeds", "2", "--jobs", "1", "--json"),
            *("--out", str(tmp_path), *TINY),
        )
    )
    assert [(f["architecture"], f["seed"]) for f in found] == [
        ("gru", 0),
        ("gru", 1),
        ("mamba+elman", 0),
        ("mamba+elman", 1),
    ]
    for one in found:
        assert list(one["lengths"]) == ["10", "20"]
        assert one["lengths"]["20"]["sequences"] == 8
        assert one["steps"] == 6
        assert (tmp_path / one["folder"]).joinpath("result.json").exists()
    assert len({one["key"] for one in found}) == 4


def test_every_seed_is_listed_and_finished_runs_are_taken_as_they_are(tmp_path):
    command = (
        "train",
        "parity",
        "--arch",
        "gru",
        "--seeds",
        "3",
        "--jobs",
        "1",
        "--out",
        str(tmp_path),
        *TINY,
    )
    outcome = run(*command)
    assert outcome.code == 0
    assert "parity, trained on lengths 4 to 10" in outcome.out
    rows = [line.split() for line in outcome.out.splitlines() if line.strip()]
    assert [row[:2] for row in rows if row[0] == "gru"] == [["gru", "0"]]
    assert [row[0] for row in rows][2:7] == ["gru", "1", "2", "median", "range"]
    assert "gru seed 2: training, step 3/6" in outcome.err
    again = run(*command)
    assert again.out == outcome.out
    assert "training" not in again.err
    assert again.err.count("done") == 3


def test_processes_give_what_one_gives(tmp_path):
    def command(jobs):
        return (
            *("train", "parity", "--arch", "gru", "--seeds", "2", "--jobs", str(jobs), "--json"),
            *("--out", str(tmp_path / str(jobs)), *TINY),
        )

    one, two = items(run(*command(1))), items(run(*command(2)))
    for a, b in zip(one, two, strict=True):
        same = set(a) - {"cpu_seconds", "folder", "settled"}
        assert {k: a[k] for k in same} == {k: b[k] for k in same}
        ends = [{**item["settled"], "cpu_seconds": 0} for item in (a, b)]
        assert ends[0] == ends[1]
        assert ends[0]["status"] == "refuted"


def test_a_spec_file_and_own_models(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_model_of_cli_test.py").write_text(
        "from torch import nn\n"
        "class Table(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.table = nn.Embedding(2, 2)\n"
        "    def forward(self, x, state):\n"
        "        return self.table(x), state\n"
        "def build(task):\n"
        "    return Table()\n"
    )
    (one,) = items(
        run("train", "parity", "--model", "own_model_of_cli_test:build", "--jobs", "1", "--json", *TINY)
    )
    assert (one["architecture"], one["parameters"]) == ("own_model_of_cli_test:build", 4)
    (tmp_path / "spec.toml").write_text(
        '[task]\nname = "parity"\n[model]\nlayers = "gru"\nwidth = 4\n[run]\nseed = 7\n'
    )
    found = items(run("train", "--spec", "spec.toml", "--seeds", "2", "--jobs", "1", "--json", *TINY))
    assert [(f["architecture"], f["seed"]) for f in found] == [("gru", 7), ("gru", 8)]
    assert run("train", "--spec", "spec.toml", "--arch", "gru").code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("parity",), "name what to train"),
        (("--arch", "gru"), "name a task"),
        (("parrity", "--arch", "gru"), "did you mean parity"),
        (("parity", "--arch", "mambo"), "did you mean mamba"),
        (("parity", "--arch", "gru", "--set", "run.stpes=3"), "did you mean steps"),
        (("parity", "--arch", "gru", "--set", "steps"), "does not set anything"),
        (("parity", "--arch", "gru", "--lengths", "4,x"), "give whole numbers with commas"),
        (("parity", "--arch", "gru", "--lengths", "0"), "lengths of 1 or more"),
        (("parity", "--arch", "gru", "--model", "a:b"), "exclude each other"),
        (("parity", "--arch", "gru", "--set", "run.seed=x"), "whole number"),
        (("parity", "--spec", "absent.toml"), "there is no such file"),
        (("parity", "--model", "absent_module_of_cli_test:build"), "no module"),
    ],
)
def test_wrong_use_is_said(arguments, message, tmp_path):
    outcome = run("train", *arguments, "--jobs", "1", "--out", str(tmp_path / "runs"))
    assert outcome.code == 2
    assert message in outcome.err
    assert not (tmp_path / "runs").exists()


def test_tasks_are_listed():
    kinds, presets = all_tasks()
    found = [json.loads(line) for line in run("list", "tasks", "--json").out.splitlines()]
    names = [f["name"] for f in found]
    assert sorted(names) == sorted([*kinds, *presets])
    assert [f["kind"] for f in found] == sorted(f["kind"] for f in found)
    assert names.index("dfa-states") < names.index("states-a5") < names.index("states-d-4")
    assert names.index("states-d-4") < names.index("states-d-12")
    row = next(f for f in found if f["name"] == "parity-last")
    assert (row["kind"], row["memory"], row["training_lengths"]) == ("parity", "stateful", [3, 40])
    assert row["preset"] == {"labels": "last"}
    plain = run("list", "tasks").out
    assert "parity: parity of the ones read so far" in plain
    assert ["parity-last", "stateful", "3–40", "labels", "last"] in map(str.split, plain.splitlines())


def test_a_stopped_command_says_how_to_go_on(tmp_path, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("nerode.training.runs.run_in", stop)
    outcome = run("train", "parity", "--arch", "lstm", "--seeds", "2", "--jobs", "1", "--out", str(tmp_path))
    assert outcome.code == 130
    assert "0 of 2 runs are stored; the same command continues" in outcome.err


def test_measurements_go_to_a_viewer_while_training(monkeypatch, tmp_path):
    logged = []

    class Viewer:
        def __init__(self, name):
            self.name = name

        def log(self, step, values):
            logged.append((self.name, step, values))

    def opened(viewer, out, name, config, *, live):
        assert (viewer, out, live) == ("tensorboard", tmp_path, True)
        return Viewer(name)

    monkeypatch.setattr("nerode.sweeps.open_tracker", opened)
    specs = make_specs("parity", ["gru"], seeds=[0, 1])
    board = Board(specs, live=False)
    board.log_to("tensorboard", tmp_path, specs)
    shared = {"steps": 9, "longest": 4, "samples_per_second": 1.0, "seconds_left": 1.0}
    board.see(1, ProgressEvent(event="validation", step=3, loss=0.5, accuracy=0.25, **shared))
    board.see(0, ProgressEvent(event="testing", step=9, loss=0.1, accuracy=None, **shared))
    assert logged == [(run_key(specs[1])[:16], 3, {"loss": 0.5, "longest": 4, "accuracy": 0.25})]


def test_a_certified_run_has_one_outcome_and_verify_agrees(tmp_path):
    """What is proved is the run itself: there is no second model, and nothing says otherwise."""
    shown = run("train", "parity", "--arch", "deltanet-signed", "--certify", "--out", str(tmp_path))
    assert shown.code == 0, shown.err
    (folder,) = [path for path in tmp_path.iterdir() if (path / "result.json").exists()]
    assert f"● {folder}: proved for parity at every length" in shown.out
    assert "deltanet-signed: possible, and proved at every length." in shown.out
    assert f"Next\n  nerode verify {folder}\n" in shown.out
    for other in ("refuted", "fails first", "unsettled", "◐ "):
        assert other not in shown.out.replace(STATUS_LEGEND, "")
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {"settled"}
    verified = run("verify", str(folder))
    assert verified.code == 0, verified.err
    assert f"about the weights of the run {folder.name}" in verified.out
    again = run("train", "parity", "--arch", "deltanet-signed", "--certify", "--out", str(tmp_path), "--json")
    assert (again.code, json.loads(again.out)["stopped"]) == (0, "judge")


def test_a_run_that_is_not_proved_ends_with_1(tmp_path):
    shown = run(
        *("train", "predict-tomita-4", "--arch", "mingru", "--certify", "--steps", "2", "--lengths", "40"),
        *("--set", "run.exact.attempts=1", "--out", str(tmp_path), "--settle", "off"),
    )
    assert shown.code == 1
    assert "refuted for tomita-4" in shown.out
    assert "mingru: the smallest known network has 3 layers; these are trained" in shown.err
    assert "mingru ×3" in shown.out


def test_theory_says_first_what_cannot_be_proved(tmp_path):
    """Parity is beyond nonnegative gates: nothing is trained in vain, and the others are."""
    both = run(
        "train", "parity", "--arch", "mamba,mamba-signed", "--certify", "--out", str(tmp_path / "runs")
    )
    assert both.code == 1
    assert "mamba is not trained: theory excludes a proof at every length" in both.err
    assert "mamba-signed: possible, and proved at every length" in both.out
    alone = run("train", "parity", "--arch", "mamba", "--certify", "--out", str(tmp_path / "none"))
    assert (alone.code, alone.out) == (1, "")
    assert not (tmp_path / "none").exists()


def test_a_depth_that_is_given_is_kept_and_a_deeper_one_is_named(tmp_path):
    shown = run(
        *("train", "predict-tomita-4", "--arch", "mingru+mingru", "--certify", "--steps", "2"),
        *("--set", "run.exact.attempts=1", "--out", str(tmp_path), "--settle", "off", "--lengths", "40"),
    )
    assert "has 3 layers, 2 are trained; --arch mingru+mingru+mingru trains more" in shown.err
    assert "mingru ×2" in shown.out


def test_what_has_no_recipe_is_refused_before_training(tmp_path):
    for words in (("parity", "--arch", "lru"), ("copying", "--arch", "gru")):
        shown = run("train", *words, "--certify", "--out", str(tmp_path / "runs"))
        assert shown.code == 2
        assert not (tmp_path / "runs").exists()
