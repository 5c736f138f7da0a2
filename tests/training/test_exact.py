"""Runs through exact gates: attempts, checks by a judge, checkpoints; and runs without know no proofs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save

import nerode
from nerode.analysis.recipes import recipe
from nerode.core import InputError, UnknownName
from nerode.records import ExactSpec, TaskConfig, hash_tensors, merge_tables, read_settlement, run_name
from nerode.tasks import build_task
from nerode.training import make_spec, run_key, train
from nerode.training.exact import Check, ExactRun, Reply, load_judge
from nerode.training.loop import Trainer, train_run
from nerode.training.runs import run_in

QUICK = {"run": {"test_sequences": 8, "validation": 32, "test_lengths": [40, 80]}}


def spec_of(task, arch, *tables, seed=0):
    own = {"task": {"name": task}, "run": {"seed": seed}}
    return make_spec(merge_tables(recipe({"name": task}, arch), own, QUICK, *tables))


def weights_of(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def test_parity_is_learned_and_its_proof_is_in_the_folder_of_the_run(tmp_path):
    spec = spec_of("parity", "deltanet-signed")
    record = run_in(tmp_path, spec)
    assert record.stopped == "judge"
    assert record.checks[-1]["outcome"] == "proved"
    assert all(score.sequence == 1.0 for score in record.evaluations)
    folder = tmp_path / run_name(record.key)
    settlement = read_settlement(folder)
    assert settlement is not None
    assert (settlement.status, settlement.length) == ("proved", "all")
    assert {path.name for path in folder.iterdir()} >= {"model.safetensors", "settled", "result.json"}
    assert json.loads((folder / "result.json").read_text())["checks"] == list(record.checks)


def test_the_same_spec_gives_the_same_bits():
    spec = spec_of("predict-set-reset", "mingru", {"run": {"steps": 20, "exact": {"attempts": 1}}})
    (first, one), (second, two) = train(spec), train(spec)
    assert first.checks == second.checks
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))


@pytest.mark.parametrize(
    ("task", "arch", "exact"),
    [
        ("predict-flip-flop", "mamba", {"mistakes": 8, "shed": 0.2}),
        ("predict-set-reset", "deltaproduct-signed", {}),
        ("predict-set-reset", "elman", {"boxes": 1.0, "noise": 0.1}),
    ],
)
def test_a_resumed_run_has_the_same_bits(tmp_path, task, arch, exact):
    """In the middle of each of two attempts, with all that attempts, pruning and terms remember."""
    tables = {
        "run": {
            "steps": 12,
            "batch": 8,
            "evaluate_every": 4,
            "exact": {**exact, "attempts": 2, "judge": "none", "tested": 4, "longest": 6},
        }
    }
    spec = spec_of(task, arch, tables)
    whole, trainer = train_run(spec)
    assert whole.steps > 12
    for stop in (5, 17):
        first = Trainer(spec)
        for _ in range(stop):
            first.step()
        first.save(tmp_path / "checkpoint")
        second = Trainer(spec)
        second.resume(tmp_path / "checkpoint")
        assert second.exact.progress == first.exact.progress
        while not second.done:
            second.step()
        record = second.finish()
        assert record.checks == whole.checks
        assert record.evaluations == whole.evaluations
        wanted, found = weights_of(trainer.model), weights_of(second.model)
        assert all(torch.equal(wanted[name], found[name]) for name in wanted)


def test_attempts_double_and_later_ones_are_at_prefixes():
    tables = {"run": {"steps": 2, "exact": {"attempts": 3, "judge": "none", "naming": 0.5}}}
    exact = ExactRun(
        spec_of("predict-flip-flop", "mamba", tables), build_task(TaskConfig(name="predict-flip-flop"))
    )
    seen = [(exact.words, exact.steps, exact.terms[0].weight)]
    while exact.begin_next():
        seen.append((exact.words, exact.steps, exact.terms[0].weight))
    assert seen == [("all", 2, 0.0), ("valid", 2, 0.5), ("valid", 4, 0.5)]
    assert exact.most_steps == 8
    valid = merge_tables(tables, {"run": {"exact": {"words": "valid"}}})
    exact = ExactRun(
        spec_of("predict-flip-flop", "mamba", valid), build_task(TaskConfig(name="predict-flip-flop"))
    )
    assert (exact.words, exact.steps, exact.most_steps) == ("valid", 2, 2 + 4 + 8)


def test_what_is_not_learned_is_recorded():
    tables = {"run": {"steps": 3, "evaluate_every": 3, "exact": {"attempts": 1}}}
    record, _ = train(spec_of("predict-tomita-6", "mingru", tables))
    assert record.stopped == "steps"
    (check,) = record.checks
    assert check["accuracy"] < 1
    assert "outcome" not in check


class Teacher:
    """A judge that names one word at its first check, and ends the run at its second."""

    def __init__(self):
        self.seen = []

    def examine(self, check: Check) -> Reply:
        self.seen.append(check)
        if len(self.seen) == 1:
            return Reply(words=((0, 1, 1, 0, 1),), note={"outcome": "refuted"})
        return Reply(stop=True)


def test_words_of_the_judge_are_trained_on_and_its_flag_ends_the_run():
    spec = spec_of("predict-set-reset", "mingru", {"run": {"evaluate_every": 50}})
    trainer = Trainer(spec)
    trainer.exact.judge = judge = Teacher()
    while not judge.seen:
        trainer.step()
    assert trainer.exact.progress.found[-1] == (0, 1, 1, 0, 1)
    assert not judge.seen[0].model.training
    batches = [trainer.exact.batch()]
    while not trainer.done:
        trainer.step()
        batches.append(trainer.exact.batch())
    begun = [batch.inputs[:16, :5].tolist() for batch in batches if batch.inputs.shape[1] >= 5]
    assert all([0, 1, 1, 0, 1] in rows for rows in begun)
    assert trainer.finish().stopped == "judge"
    assert trainer.model is judge.seen[-1].model


@pytest.mark.parametrize(
    ("task", "arch", "depth"),
    [
        ("predict-set-reset", "gla", 1),
        pytest.param("predict-flip-flop", "mamba", 1, marks=pytest.mark.slow),
        pytest.param("predict-tomita-3", "mamba-signed", 1, marks=pytest.mark.slow),
        pytest.param("predict-d-2", "mamba", 2, marks=pytest.mark.slow),
        pytest.param("predict-tomita-3", "deltanet-signed", 2, marks=pytest.mark.slow),
        pytest.param("predict-tomita-5", "gru", 1, marks=pytest.mark.slow),
        pytest.param("predict-d-3", "mamba", 3, marks=pytest.mark.slow),
    ],
)
def test_recipes_end_with_a_proof(task, arch, depth):
    record, model = train(spec_of(task, arch))
    assert record.stopped == "judge", record.checks
    assert len(model.layers) == depth


def test_given_weights_are_those_that_the_spec_names():
    tables = {"run": {"steps": 2, "exact": {"attempts": 3, "judge": "none"}}}
    plain = spec_of("predict-flip-flop", "mamba", tables)
    weights = {k: v.contiguous() for k, v in weights_of(train(plain)[1]).items()}
    spec = spec_of("predict-flip-flop", "mamba", tables, {"run": {"start": hash_tensors(save(weights))}})
    assert run_key(spec) != run_key(plain)
    record, _ = train(spec, start=weights)
    assert [check["given"] for check in record.checks] == [True, True, False]
    with pytest.raises(InputError, match=r"run\.start names the weights"):
        train(spec)
    with pytest.raises(InputError, match="names the weights none"):
        train(plain, start=weights)
    weights["head.bias"] += 1
    with pytest.raises(InputError, match=r"run\.start names"):
        train(spec, start=weights)


def test_plain_runs_begin_with_given_weights_too():
    tables = {"task": {"name": "parity"}, "model": {"layers": "gru", "width": 4}, "run": {"steps": 1}}
    weights = {k: v.contiguous() for k, v in weights_of(train(make_spec(tables))[1]).items()}
    named = merge_tables(tables, {"run": {"start": hash_tensors(save(weights))}})
    trainer = Trainer(make_spec(named), start=weights)
    assert all(torch.equal(weights[name], value) for name, value in trainer.model.state_dict().items())


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"attempts": 0}, "1 or more"),
        ({"tested": 1}, "2 or more"),
        ({"mistakes": -1}, "0 or more"),
        ({"shed": 1.0}, "below 1"),
        ({"stray": -0.1}, "0 or more"),
        ({"noise": float("inf")}, "0 or more"),
        ({"states": 10**7}, "at most"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(setting, message):
    with pytest.raises(InputError, match=message):
        ExactSpec(**setting)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"run": {"dtype": "float64"}}, "in float32"),
        ({"run": {"aids": {"holds": 0.5}}}, "draws its own words"),
        ({"run": {"epochs": 1, "sample": 8}}, "draws its own words"),
        ({"model": {"layers": "lru", "settings": {}}}, "does not tell its gate scores"),
        ({"run": {"exact": {"gates": "three"}}}, "has no gates of three values"),
        ({"task": {"name": "copying"}}, "nothing to prove"),
    ],
)
def test_runs_that_cannot_be_made_are_refused(tables, message):
    base = {"task": {"name": "parity"}, "model": {"layers": "mingru"}, "run": {"exact": {}}}
    with pytest.raises(InputError, match=message):
        Trainer(make_spec(merge_tables(base, tables)))


def test_an_unknown_judge_is_refused():
    with pytest.raises(UnknownName, match="closure"):
        load_judge("closures", build_task(TaskConfig(name="parity")), ExactSpec())


def test_new_settings_are_in_the_key_only_where_they_are_used():
    plain = make_spec({"task": {"name": "parity"}})
    written = plain.to_mapping()
    assert not {"exact", "start"} & set(written["run"])
    assert "floor" not in written["optimiser"]
    exact = make_spec({"task": {"name": "parity"}, "run": {"exact": {}}})
    assert run_key(exact) != run_key(plain)
    assert make_spec(exact.to_mapping()) == exact


LOADED = """
import sys
from pathlib import Path
from nerode.training import make_spec
from nerode.training.runs import run_in
spec = {"task": {"name": "parity"}, "model": {"layers": "gru", "width": 4},
        "run": {"steps": 2, "test_lengths": [40], "test_sequences": 2, "validation": 8}}
run_in(Path(sys.argv[1]), make_spec(spec))
print(sorted(name for name in sys.modules if name.split(".")[:2] in (
    ["nerode", "proofs"], ["nerode", "verdict"], ["nerode", "analysis"])))
"""


def test_a_run_without_a_judge_loads_no_proofs(tmp_path):
    """What is measured is blind to what theory predicts; the contracts see imports, this sees modules."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_one_place_makes_an_optimiser():
    """Two loops ask for one: that of runs, and that of words without an automaton (`learn --train words`)."""
    source = Path(nerode.__file__).parent

    def files(pattern: str) -> set[str]:
        made = re.compile(pattern)
        return {
            str(path.relative_to(source))
            for path in source.rglob("*.py")
            if made.search(path.read_text(encoding="utf-8"))
        }

    assert files(r"optim\.(Adam|AdamW|SGD|RMSprop)\(") == {"training/optimiser.py"}
    assert files(r"(?<!def )make_optimiser\(") == {"training/loop.py", "analysis/learning/fitting.py"}
