"""The loop: the same bits after any interruption, and divergence as a result."""

from __future__ import annotations

import copy
import json
import math

import numpy as np
import pytest
import torch
from torch import nn

import nerode as nr
from nerode.core import FormatError, InputError, stream
from nerode.records import (
    ModelSpec,
    RunRecord,
    TaskConfig,
    TrainingAids,
    TrainSpec,
    join_scores,
    merge_tables,
)
from nerode.tasks import build_task
from nerode.training import batch_parts, run, run_key, spec_model
from nerode.training.data import add_holds, first_state
from nerode.training.evaluation import score
from nerode.training.loop import Trainer, train
from tests.training.tiny import TINY, tiny

TIMES = ("cpu_seconds", "evaluation_cpu_seconds")


def timeless(record: RunRecord) -> dict:
    return {k: v for k, v in record.to_json().items() if k not in TIMES}


def weights(model: nn.Module) -> list[bytes]:
    return [value.detach().numpy().tobytes() for value in model.state_dict().values()]


def test_a_run_is_a_function_of_its_spec():
    torch.manual_seed(1)
    one, first = train(tiny())
    torch.manual_seed(2)
    torch.rand(5)
    two, second = train(tiny())
    assert timeless(one) == timeless(two)
    assert weights(first) == weights(second)
    three, third = train(tiny(run={"seed": 1}))
    assert weights(third) != weights(first)
    assert three.key != one.key


def test_the_world_outside_is_left_as_it_was():
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    train(tiny(run={"steps": 2, "threads": 1}))
    assert torch.equal(before, torch.get_rng_state())
    assert torch.get_num_threads() == threads


INTERRUPTED = {
    "adamw": {"optimiser": {"warm_up": 5, "schedule": "cosine"}},
    "sgd": {"optimiser": {"name": "sgd", "momentum": 0.9, "rate": 0.1}},
    "dropout": {"model": {"surroundings": {"dropout": 0.5}}},
    "curriculum": {"run": {"curriculum": {"start": 4, "step": 2, "threshold": 0.01}, "measure": "token"}},
    "epochs": {"run": {"epochs": 3, "sample": 40}},
    "float64": {"run": {"dtype": "float64"}, "optimiser": {"name": "adam"}},
}


@pytest.mark.parametrize("name", INTERRUPTED)
def test_a_resumed_run_gives_the_same_bits(name, tmp_path):
    spec = tiny(**INTERRUPTED[name])
    whole, model = train(spec)
    assert whole.divergence is None
    path = tmp_path / "checkpoint"
    trainer = Trainer(spec)
    stops = {3, 5, 11}
    while not trainer.done:
        trainer.step()
        if trainer.progress.step in stops:
            trainer.save(path)
            for _ in range(2):
                trainer.step()
            # What was done since the checkpoint is lost, as after a kill.
            trainer = Trainer(spec)
            trainer.resume(path)
            stops.discard(trainer.progress.step)
    assert timeless(trainer.finish()) == timeless(whole)
    assert weights(trainer.model) == weights(model)


@pytest.mark.parametrize("layers", ["gru", "mamba", "transformer-nope", "gla", "lru", "s4d", "rwkv-6"])
def test_a_resumed_run_with_more_threads_gives_the_same_bits(layers, tmp_path, monkeypatch):
    monkeypatch.setattr(batch_parts, "_NUMBERS", 1 << 14)
    spec = TrainSpec.from_mapping(
        {
            "task": {"name": "parity", "settings": {"shortest": 40, "longest": 40}},
            "model": {"layers": layers, "width": 32},
            "run": {"steps": 5, "batch": 48, "test_lengths": [40], "evaluate_every": 10},
        }
    )
    before, path = torch.get_num_threads(), tmp_path / "checkpoint"
    found = []
    try:
        for threads in ((1, 1), (2, 1), (1, 3), (7, 2)):
            for part in threads:
                torch.set_num_threads(part)
                trainer = Trainer(spec)
                if path.exists():
                    trainer.resume(path)
                for _ in range(2):
                    trainer.step()
                trainer.save(path)
            path.unlink()
            found.append(weights(trainer.model))
    finally:
        torch.set_num_threads(before)
    assert all(other == found[0] for other in found)


def test_train_goes_on_from_the_checkpoint_it_wrote(tmp_path):
    path = tmp_path / "a" / "checkpoint"
    seen = []

    class Killed(Exception):
        pass

    def kill(event):
        if event.event == "validation" and event.step == 15:
            raise Killed

    with pytest.raises(Killed):
        train(tiny(), checkpoint=path, checkpoint_every=0.0, on_progress=kill)
    record, model = train(tiny(), checkpoint=path, on_progress=lambda s: seen.append(s.step))
    whole, other = train(tiny())
    assert min(seen) >= 14
    assert timeless(record) == timeless(whole)
    assert weights(model) == weights(other)


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    path = tmp_path / "checkpoint"
    trainer = Trainer(tiny())
    trainer.save(path)
    with pytest.raises(FormatError, match="is the checkpoint of the run"):
        Trainer(tiny(run={"seed": 5})).resume(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FormatError, match="is not a checkpoint"):
        Trainer(tiny()).resume(path)
    path.write_text("hello")
    with pytest.raises(FormatError, match="is not a checkpoint"):
        Trainer(tiny()).resume(path)


class Diverging(nn.Module):
    """Fine until its weight has been changed a few times."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what
        self.weight = nn.Parameter(torch.ones(2))
        self.calls = 0

    def forward(self, x, state=None):
        scores = nn.functional.one_hot(x, 2).float() * self.weight
        if self.training:
            self.calls += 1
        if self.training and self.calls > 4:
            return (scores * float("nan"), None) if self.what == "loss" else (_Steep.apply(scores), None)
        return scores, None


class _Steep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * math.inf


@pytest.mark.parametrize("what", ["loss", "gradient"])
def test_divergence_is_a_result(what):
    model = Diverging(what)
    record, trained = train(tiny(), build=lambda task: model)
    # One call of the four was the trial of the shape.
    assert (record.stopped, record.divergence.step, record.divergence.what) == ("divergence", 3, what)
    assert record.evaluations == ()
    assert record.extrapolates_to is None
    assert torch.isfinite(trained.weight).all()
    json.dumps(record.to_json(), allow_nan=False)


def test_a_run_that_really_diverges():
    record, _ = train(
        tiny(
            model={"layers": "elman-relu"},
            optimiser={"name": "sgd", "rate": 1e6, "clip": 0},
            run={"steps": 60},
        )
    )
    assert record.stopped == "divergence"
    json.dumps(record.to_json(), allow_nan=False)


def test_a_record_is_read_back_as_it_was():
    record, _ = train(tiny())
    again = RunRecord.from_json(json.loads(json.dumps(record.to_json())), path="x")
    assert again == record
    assert again.at(20).sequences == 16
    assert again.at(21) is None
    for bad in ({}, {**record.to_json(), "version": 99}, {**record.to_json(), "steps": "many"}):
        with pytest.raises(FormatError):
            RunRecord.from_json(bad, path="x")


def test_validation_alone_ends_a_run():
    record, _ = train(tiny(run={"stop": {"threshold": 0.001, "patience": 2}, "measure": "token"}))
    assert (record.stopped, record.steps, len(record.history)) == ("threshold", 10, 2)
    never, _ = train(tiny(run={"stop": {"threshold": 1.5}, "measure": "token"}))
    assert (never.stopped, never.steps) == ("steps", 20)


def test_the_stop_rule_can_look_at_one_length_of_training():
    """A threshold between the score at one length and that of all lengths tells the two rules apart."""
    usual = Trainer(tiny(run={"validation": 80, "measure": "token"}))
    scores = [score(usual.model, usual.task, [batch]) for batch in usual._validation]
    worst, together = min(scores, key=lambda s: s.token), join_scores(scores).token
    assert worst.token < together
    ended = []
    for length in (0, worst.length):
        stop = {"threshold": (worst.token + together) / 2, "patience": 1, "length": length}
        trainer = Trainer(tiny(run={"validation": 80, "measure": "token", "stop": stop}))
        trainer.progress.step = 1
        trainer.validate()
        ended.append(trainer.progress.stopped)
    assert ended == [True, False]
    with pytest.raises(InputError, match=r"run\.stop\.length is 99; validation has the lengths"):
        Trainer(tiny(run={"stop": {"length": 99}}))


def test_the_embedding_is_drawn_with_the_deviation_that_is_asked_for():
    usual, small = (Trainer(tiny(model=own)).model for own in ({"width": 8}, {"width": 8, "embedding": 0.1}))
    drawn = dict(usual.named_parameters())
    for name, weight in small.named_parameters():
        factor = 0.1 if name == "embedding.weight" else 1.0
        assert torch.equal(weight, drawn[name] * factor), name
    with pytest.raises(InputError, match="counting has no letters"):
        spec_model(ModelSpec(embedding=0.1), build_task(TaskConfig(name="counting")), seed=0)


def test_sequences_get_longer_when_the_short_ones_are_learnt():
    run = {"curriculum": {"start": 4, "step": 4, "threshold": 0.001}, "measure": "token"}
    lengths = []

    class Spy(Trainer):
        def _update(self, batch):
            lengths.append(batch.inputs.shape[1])
            return super()._update(batch)

    trainer = Spy(tiny(run=run))
    while not trainer.done:
        trainer.step()
    assert [row.longest for row in trainer.progress.history] == [4, 8, 10, 10]
    assert set(lengths[:5]) == {4}
    assert max(lengths[5:10]) <= 8
    assert max(lengths[10:]) > 8
    stuck = Trainer(tiny(run={**run, "curriculum": {"start": 4, "threshold": 1.0}, "measure": "sequence"}))
    while not stuck.done:
        stuck.step()
    assert stuck.progress.longest < 10


def test_epochs_show_the_same_sequences_again():
    seen = []

    class Spy(Trainer):
        def _update(self, batch):
            seen.append([tuple(row) for row in batch.inputs.tolist()])
            return super()._update(batch)

    trainer = Spy(tiny(run={"epochs": 2, "sample": 30}))
    while not trainer.done:
        trainer.step()
    half = len(seen) // 2
    first, second = (sorted(w for batch in part for w in batch) for part in (seen[:half], seen[half:]))
    assert first == second
    assert len(first) == 30
    assert seen[:half] != seen[half:]


def test_progress_is_reported():
    events = []
    train(tiny(), on_progress=events.append)
    assert [s.step for s in events if s.event == "validation"] == [5, 10, 15, 20]
    assert events[-1].event == "testing"
    assert all(s.steps == 20 and s.samples_per_second > 0 for s in events)
    assert events[-1].seconds_left == 0


def test_training_learns():
    run = {"steps": 400, "batch": 64, "stop": {"threshold": 1.0, "patience": 1}}
    record, _ = train(tiny(model={"layers": "lstm", "width": 8, "settings": {"hidden": 8}}, run=run))
    assert record.stopped == "threshold"
    assert record.extrapolates_to == 20
    assert record.first_failing_length is None


def test_own_models(tmp_path, monkeypatch):
    (tmp_path / "own_model_of_test.py").write_text(
        "from torch import nn\n"
        "class Own(nn.Module):\n"
        "    def __init__(self, letters, outputs):\n"
        "        super().__init__()\n"
        "        self.embedding = nn.Embedding(letters, 4)\n"
        "        self.cell = nn.GRU(4, 4, batch_first=True)\n"
        "        self.head = nn.Linear(4, outputs)\n"
        "    def forward(self, x, state=None):\n"
        "        y, state = self.cell(self.embedding(x), state)\n"
        "        return self.head(y), state\n"
        "def build(task):\n"
        "    return Own(task.letters, task.outputs)\n"
        "def wide(task):\n"
        "    return Own(task.letters, 7)\n"
        "def number(task):\n"
        "    return 3\n"
        "class Stateless(nn.Module):\n"
        "    def forward(self, x):\n"
        "        return x\n"
        "def stateless(task):\n"
        "    return Stateless()\n"
        "class Late(Own):\n"
        "    def forward(self, x, state=None):\n"
        "        if x.shape[1] > 2:\n"
        "            raise KeyError('late')\n"
        "        return super().forward(x, state)\n"
        "def late(task):\n"
        "    return Late(task.letters, task.outputs)\n"
    )
    monkeypatch.chdir(tmp_path)
    spec = tiny(model={"module": "own_model_of_test:build"})
    record, model = train(spec)
    assert (record.title, record.complete.model) == (
        "own_model_of_test:build",
        {"module": "own_model_of_test:build"},
    )
    assert type(model).__name__ == "Own"
    _, other = train(spec)
    assert weights(model) == weights(other)
    for name, what in [
        ("own_model_of_test:wide", "scores of shape"),
        ("own_model_of_test:number", "has to give a torch.nn.Module"),
        (
            "own_model_of_test:stateless",
            r"the model gives scores of shape \(1, 2\); it has to give scores at",
        ),
        ("own_model_of_test:late", r"the model raised KeyError: 'late' \(own_model_of_test.py, line"),
        ("os:getcwd", "the builder of the model raised TypeError"),
        ("sys:exit", "the builder of the model raised SystemExit"),
        ("own_model_of_test:absent", "has no function"),
        ("absent_module_of_test:build", "no module"),
        ("build", "not of the form"),
    ]:
        with pytest.raises(InputError, match=what):
            train(tiny(model={"module": name}))


class WordsAlone(nn.Module):
    """An own layer as most people have it: tokens in, scores out."""

    def __init__(self, letters, outputs):
        super().__init__()
        self.embedding, self.head = nn.Embedding(letters, 4), nn.Linear(4, outputs)

    def forward(self, tokens):
        return self.head(torch.tanh(self.embedding(tokens)).cumsum(1))


def build_words_alone(task):
    return WordsAlone(task.letters, task.outputs)


def test_own_models_may_map_words_to_scores_without_a_state(tmp_path):
    settings = {"run.steps": 6, "run.test_lengths": [12], "task.settings.longest": 8}
    (record, model), (_, other) = nr.train("parity", build=build_words_alone, seeds=2, settings=settings)
    assert record.title.endswith(":build_words_alone")
    assert list(model.state_dict()) == ["embedding.weight", "head.weight", "head.bias"]
    assert weights(model) != weights(other)
    x = torch.tensor([[0, 1, 1, 0, 1]])
    whole, _ = model(x)
    first, state = model(x[:, :2])
    assert torch.equal(torch.cat([first, model(x[:, 2:], state)[0]], dim=1), whole)
    copied = copy.deepcopy(model).double()
    assert copied(x)[0].dtype == torch.float64
    assert model(x)[0].dtype == torch.float32
    found = nr.ask(model, budget=nr.Budget(seconds=2))
    assert (found.model, found.settlement.status) == ("WordsAlone", "refuted")
    assert str(found).startswith("WordsAlone seems to compute ")
    with pytest.raises(InputError, match="arch and build exclude each other"):
        nr.train("parity", arch="lstm", build=build_words_alone)


def spec_of(task="predict-tomita-5", layers="lstm", **aids):
    settings = {"longest": 12} if task.startswith("predict") else {}
    run = {"steps": 4, "evaluate_every": 4, "test_lengths": [12]} | ({"aids": aids} if aids else {})
    model = {"layers": layers, "width": 8}
    task_table = {"name": task, "settings": settings}
    return TrainSpec.from_mapping(merge_tables(TINY, {"run": run}) | {"model": model, "task": task_table})


def parts_of(spec):
    task = build_task(spec.task)
    return task, spec_model(spec.model, task, seed=0)


def test_a_passed_state_is_that_after_a_sequence_that_leads_back_to_the_start():
    task, model = parts_of(spec_of("states-tomita-5"))
    batch = task.draw("train", 8, 16, stream(0, "some"))
    state = first_state(model, batch, task, TrainingAids(passed=0.5), seed=3, step=7)
    fresh = model.initial_state(16)
    others = task.draw("train", 8, 16, stream(3, "passed", 7))
    back = task.leads_back(others)
    dfa = task.language.dfa()
    assert back.tolist() == [dfa.run(word) == dfa.start for word in others.inputs.tolist()]
    assert 0 < back.sum() < 16
    with torch.no_grad():
        after = run(model, others.inputs)[1]
    for name, value in state.items():
        assert torch.equal(value[:8], fresh[name][:8])
        allowed = after[name][torch.from_numpy(np.flatnonzero(back))]
        assert all(any(torch.equal(row, one) for one in allowed) for row in value[8:])


def test_noise_has_the_deviation_that_was_asked_for_and_depends_on_seed_and_step_alone():
    task, model = parts_of(spec_of())
    batch = task.draw("train", 8, 256, stream(0, "some"))
    aids = TrainingAids(noise=0.5)
    first, again, other = (first_state(model, batch, task, aids, seed=0, step=step) for step in (1, 1, 2))
    fresh = model.initial_state(256)
    for name, value in first.items():
        assert torch.equal(value, again[name])
        assert not torch.equal(value, other[name])
        assert 0.4 < float((value - fresh[name]).std()) < 0.6
    assert first_state(model, batch, task, TrainingAids(), seed=0, step=1) is None


@pytest.mark.parametrize("name", ["predict-tomita-5", "predict-flip-flop", "recognise-tomita-3", "states-s3"])
def test_words_with_holds_are_words_of_training_with_a_long_loop_and_correct_targets(name):
    task = build_task(TaskConfig(name=name))
    batch = task.draw("train", 30, 16, stream(0, "some"))
    mixed = add_holds(batch, task, TrainingAids(holds=0.5), seed=0, step=0)
    assert mixed.inputs.shape == batch.inputs.shape
    held = [row for row, word in enumerate(mixed.inputs.tolist()) if _longest_repeat(word) >= 14]
    assert len(held) >= 6
    assert set(task.split_of(mixed)) == {"train"}
    assert torch.equal(task.label(mixed.inputs.numpy()).targets, mixed.targets)
    assert torch.equal(mixed.inputs[8:], batch.inputs[8:])


def _longest_repeat(word):
    """Letters of the longest part of a word with period 1 or 2."""
    longest = 0
    for period in (1, 2):
        here = period
        for place in range(period, len(word)):
            here = here + 1 if word[place] == word[place - period] else period
            longest = max(longest, here)
    return longest


def test_a_run_with_aids_is_trained_has_a_key_of_its_own_and_survives_its_record():
    plain, aided = spec_of(), spec_of(passed=0.25, noise=0.1, holds=0.25)
    assert run_key(plain) != run_key(aided)
    assert "aids" not in plain.to_mapping()["run"]
    assert TrainSpec.from_mapping(aided.to_mapping()) == aided
    record, _ = train(aided)
    assert record.steps == 4
    assert record.history[0].loss != train(plain)[0].history[0].loss


@pytest.mark.parametrize(
    ("task", "layers", "aids", "says"),
    [
        ("parity", "lstm", {"holds": 0.5}, "is not about one"),
        ("predict-tomita-5", "transformer", {"noise": 0.5}, "that of attention grows"),
        ("predict-aabbccddee", "lstm", {"passed": 0.5}, "lead back to the start; aabbccddee has none"),
        ("predict-tomita-5", "lstm", {"passed": 2.0}, "run.aids.passed is 2.0; it has to be from 0 to 1"),
        ("predict-tomita-5", "lstm", {"noise": -1.0}, "run.aids.noise is -1.0"),
    ],
)
def test_aids_that_a_run_cannot_have_are_refused_with_a_sentence(task, layers, aids, says):
    with pytest.raises(InputError, match=says):
        train(spec_of(task, layers, **aids))


def test_holds_need_new_words():
    with pytest.raises(InputError, match="needs new words"):
        tiny(run={"epochs": 1, "sample": 8, "aids": {"holds": 0.5}})
