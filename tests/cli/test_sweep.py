from __future__ import annotations

import csv
import io
import json
import subprocess
import sys

import pytest

from nerode.records import TrainSpec, read_run
from nerode.tasks import build_task
from nerode.training import make_specs, run_key, spec_model_config, with_small_defaults
from tests.cli.runner import run
from tests.report.run_specimens import write_run

FILE = """
[base]
task.name = "parity"
task.settings = {shortest = 4, longest = 8}
model.width = 4
model.settings = {hidden = 4}
run = {steps = 6, batch = 4, evaluate_every = 3, validation = 8, test_lengths = [8, 16], test_sequences = 8}
[grid]
model.layers = ["gru", "lstm"]
run.seed = [0]
"""

TIMES = ("cpu_seconds", "evaluation_cpu_seconds", "environment")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A sweep of two runs, with a seed added later."""
    place = tmp_path_factory.mktemp("sweep")
    (place / "s.toml").write_text(FILE)
    preview = run("train", str(place / "s.toml"), "--out", str(place / "runs"), "--dry-run")
    assert preview.out.count("to run") == 2
    first = run(
        "sweep", str(place / "s.toml"), "--out", str(place / "runs"), "--jobs", "1", "--settle", "0.2"
    )
    assert first.code == 0, first.err
    assert "2 runs: 0 done before, 2 now, 0 not done" in first.out.replace("\n", " ")
    (place / "s.toml").write_text(FILE.replace("[0]", "[0, 1]"))
    second = run(
        "sweep", str(place / "s.toml"), "--out", str(place / "runs"), "--jobs", "1", "--json", "--settle", "0"
    )
    assert second.code == 0, second.err
    assert second.err.count(": done,") == 2
    rows = [json.loads(line) for line in second.out.splitlines()]
    assert {(r["architecture"], r["seed"], *r["lengths"]) for r in rows} == {
        (a, s, "8", "16") for a in ("gru", "lstm") for s in (0, 1)
    }
    return place


def plain(path):
    return {k: v for k, v in read_run(path).to_json().items() if k not in TIMES}


@pytest.mark.slow
def test_a_sweep_finds_what_training_finds(folder, tmp_path):
    settings = ["model.width=4", "model.settings={hidden=4}", "run.batch=4"]
    settings += ["run.evaluate_every=3", "run.validation=8", "run.test_sequences=8"]
    settings += ["task.settings={shortest=4,longest=8}"]
    arguments = [part for text in settings for part in ("--set", text)]
    arguments += ["--steps", "6", "--lengths", "8,16", "--out", str(tmp_path)]
    outcome = run("train", "parity", "--arch", "gru", *arguments)
    assert outcome.code == 0, outcome.err
    (trained,) = [p for p in tmp_path.iterdir() if not p.name.startswith(".")]
    swept = folder / "runs" / trained.name
    assert plain(swept) == plain(trained)
    for name in ("metrics.jsonl", "subject.json", "model.safetensors"):
        assert (swept / name).read_bytes() == (trained / name).read_bytes()
    assert run("runs", "ls", str(tmp_path)).out.count("gru") == 1


def test_ls_lists_each_run(folder):
    listed = run("runs", "ls", str(folder / "runs"))
    assert listed.code == 0
    assert listed.out.count("parity") == 4
    items = [json.loads(line) for line in run("runs", "ls", str(folder / "runs"), "--json").out.splitlines()]
    assert {(i["architecture"], i["seed"], i["status"]) for i in items} == {
        (a, s, "done") for a in ("gru", "lstm") for s in (0, 1)
    }


def test_show_one_run(folder):
    items = [json.loads(line) for line in run("runs", "ls", str(folder / "runs"), "--json").out.splitlines()]
    shown = run("runs", "show", str(folder / "runs"), items[0]["key"][:10], "--json")
    assert json.loads(shown.out)["evaluations"][0] == items[0]["lengths"]["8"]
    text = run("runs", "show", str(folder / "runs"), items[0]["key"][:10]).out
    assert "model.layers" in text
    assert items[0]["key"] in text
    assert run("runs", "show", str(folder / "runs"), "xyz").code == 2
    assert "no run begins with 'runs'" in run("runs", "show", str(folder / "runs"), "").err
    # The folder of a run says all.
    assert run("runs", "show", str(folder / "runs" / items[0]["key"][:16])).out == text
    assert run("runs", "show", "a", "b", "c").code == 2


def test_table_has_every_seed(folder):
    shown = run("runs", "table", str(folder / "runs"), "--measure", "token").out
    assert shown.count("median") == 2
    assert "16" in shown


def test_table_tells_languages_and_settings_apart(tmp_path):
    for language in ("(aa)*", "(ab)*"):
        for rate in (0.001, 0.002):
            for seed in range(2):
                write_run(
                    tmp_path,
                    task="language-prediction",
                    settings={"language": language},
                    rate=rate,
                    seed=seed,
                )
    shown = run("runs", "table", str(tmp_path))
    assert shown.code == 0, shown.err
    assert shown.out.count("median") == 4
    assert "language-prediction · (aa)*; share of sequences" in shown.out
    assert "mamba · rate 0.002" in shown.out


def test_export_has_a_row_for_each_run_and_length(folder, tmp_path):
    text = run("runs", "export", str(folder / "runs")).out
    rows = list(csv.DictReader(io.StringIO(text)))
    found = {(r["spec.model.layers"], r["spec.run.seed"], r["score.length"]) for r in rows}
    assert found == {(a, s, n) for a in ("gru", "lstm") for s in "01" for n in ("8", "16")}
    assert len(rows) == 8
    target = tmp_path / "runs.jsonl"
    assert run("runs", "export", str(folder / "runs"), "--to", "jsonl", "-o", str(target)).code == 0
    objects = [json.loads(line) for line in target.read_text().splitlines()]
    assert [str(o["score.token"]) for o in objects] == [r["score.token"] for r in rows]
    assert len({tuple(o) for o in objects}) == 1, "the same columns in the same order"


@pytest.mark.parametrize("tracker", ["tensorboard", "wandb"])
def test_a_viewer_that_is_not_installed_is_named(folder, tmp_path, tracker, monkeypatch):
    monkeypatch.setitem(sys.modules, tracker, None)
    outcome = run("runs", "export", str(folder / "runs"), "--to", tracker, "-o", str(tmp_path))
    assert outcome.code == 2
    assert f"pip install 'nerode[{tracker}]'" in outcome.err
    assert run("runs", "export", str(folder / "runs"), "--to", tracker).code == 2


def test_prune_removes_only_with_yes_and_only_what_nobody_keeps(folder, tmp_path):
    subprocess.run(["cp", "-r", str(folder / "runs"), str(tmp_path / "runs")], check=True)
    (tmp_path / "s.toml").write_text(FILE)
    store = tmp_path / "runs"
    (store / ".work" / ("0" * 16) / "scratch").mkdir(parents=True)
    arguments = ["runs", "prune", str(store), "--keep", str(tmp_path / "s.toml")]
    assert len(run(*arguments).out.splitlines()) == 3
    assert run("runs", "ls", str(store)).out.count("parity") == 4
    assert run(*arguments, "--yes").code == 0
    items = [json.loads(line) for line in run("runs", "ls", str(store), "--json").out.splitlines()]
    assert [i["seed"] for i in items] == [0, 0]
    assert run(*arguments).out == ""


def test_a_wrong_setting_is_named_with_its_combination(tmp_path):
    (tmp_path / "s.toml").write_text(FILE.replace("model.width", "model.widht"))
    outcome = run("train", str(tmp_path / "s.toml"), "--out", str(tmp_path / "runs"))
    assert outcome.code == 2
    assert "combination 1" in outcome.err
    assert "did you mean width" in outcome.err
    assert not (tmp_path / "runs").exists()


BREAKS = """
import torch
from torch import nn


class Breaks(nn.Module):
    def __init__(self, task):
        super().__init__()
        self.letters, self.outputs, self.calls = task.letters, task.outputs, 0
        self.cell = nn.Linear(task.letters, task.outputs)

    def forward(self, x, state=None):
        self.calls += 1
        if self.calls > 6:
            raise RuntimeError("no model today")
        return self.cell(nn.functional.one_hot(x, self.letters).float()), state


def build(task):
    return Breaks(task)
"""
"""A model that passes what is looked at before training, and breaks while it is trained."""


def test_a_run_that_fails_is_told_and_listed(tmp_path, monkeypatch):
    (tmp_path / "broken_model.py").write_text(BREAKS)
    monkeypatch.chdir(tmp_path)
    text = FILE.replace('model.layers = ["gru", "lstm"]', 'model.module = ["broken_model:build"]')
    (tmp_path / "s.toml").write_text(text)
    outcome = run("train", "s.toml", "--jobs", "1", "--trust-code")
    assert outcome.code == 1
    assert "no model today" in outcome.out
    assert "failed" in run("runs", "ls", "runs/s").out


def test_listing_needs_no_torch(folder):
    code = (
        "import sys; from nerode.cli.main import main\n"
        f"try: main(['runs', 'ls', {str(folder / 'runs')!r}])\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize(("option", "value"), [("--address", "auto"), ("--slurm", "timeout_min=5")])
def test_options_of_other_executors_are_refused(tmp_path, option, value):
    (tmp_path / "s.toml").write_text(FILE)
    outcome = run("train", str(tmp_path / "s.toml"), "--out", str(tmp_path / "runs"), option, value)
    assert outcome.code == 2
    assert f"{option} belongs to" in outcome.err


def test_a_sweep_and_train_make_the_same_runs_of_an_architecture(tmp_path):
    file = tmp_path / "sweep.toml"
    file.write_text(
        '[base]\ntask.name = "parity"\nrun.steps = 7\n'
        '[grid]\nmodel.layers = ["lstm", "elman", "mamba", "mamba,lstm"]\n'
    )
    outcome = run("train", str(file), "--dry-run", "--json", "--out", str(tmp_path / "out"))
    keys = [json.loads(line)["key"] for line in outcome.out.splitlines()]
    specs = make_specs(
        "parity", ["lstm", "elman", "mamba", "mamba+lstm"], seeds=[0], tables={"run": {"steps": 7}}
    )
    assert keys == [run_key(spec) for spec in specs]


def test_what_a_sweep_gives_wins_over_the_defaults(tmp_path):
    file = tmp_path / "sweep.toml"
    file.write_text(
        '[base]\ntask.name = "parity"\nmodel.width = 5\nmodel.settings.hidden = 6\noptimiser.rate = 0.5\n'
        'model.depth = 2\n[grid]\nmodel.layers = ["lstm"]\n'
    )
    outcome = run("train", str(file), "--dry-run", "--json", "--out", str(tmp_path / "out"))
    (spec,) = [json.loads(line)["spec"] for line in outcome.out.splitlines()]
    assert spec["model"] == {"layers": "lstm", "depth": 2, "width": 5, "settings": {"hidden": 6}}
    assert spec["optimiser"] == {"rate": 0.5}


def test_mixed_layers_that_are_repeated_have_their_settings_each(tmp_path):
    tables = {"task": {"name": "parity"}, "model": {"layers": "mamba,lstm", "depth": 2}}
    spec = TrainSpec.from_mapping(with_small_defaults(tables))
    layers = spec_model_config(spec.model, build_task(spec.task)).layers
    assert [layer.settings.get("hidden") for layer in layers] == [None, 16, None, 16]
    own = {"task": {"name": "parity"}, "model": {"configuration": "cpu-parity-rnn"}}
    assert with_small_defaults(own) == own
