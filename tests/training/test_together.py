"""Runs in one computation: what each would find alone, up to rounding."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from nerode.core import InputError
from nerode.records import ModelSpec
from nerode.training.loop import Trainer, train
from nerode.training.together import JointTrainer, train_together

from .tiny import tiny

CASES = {
    "lstm": {"model": {"layers": "lstm"}},
    "s4d": {"model": {"layers": "s4d"}},
    "sgd": {"optimiser": {"name": "sgd", "momentum": 0.9}},
    "cosine": {"optimiser": {"schedule": "cosine", "warm_up": 5, "clip": 0.1}},
}


def specs(**tables):
    optimiser = tables.pop("optimiser", {})
    found = [
        tiny(**tables, optimiser={**optimiser, "rate": rate}, run={"seed": seed, "dtype": "float64"})
        for seed in (0, 1)
        for rate in (1e-2, 3e-2)
    ]
    if tables.get("model", {}).get("layers") == "s4d":
        # Some of its weights are slow, and its kernels do not take all members at once.
        model = ModelSpec(layers="s4d", width=4, settings={"states": 4})
        found = [replace(spec, model=model) for spec in found]
    return found


@pytest.mark.parametrize("name", CASES)
def test_each_finds_what_it_would_find_alone(name):
    given = specs(**CASES[name])
    for spec, (record, model) in zip(given, train_together(given), strict=True):
        alone, other = train(spec)
        assert record.key == alone.key
        assert (record.steps, record.samples, record.stopped) == (alone.steps, alone.samples, alone.stopped)
        for one, two in zip(record.history, alone.history, strict=True):
            assert one.loss == pytest.approx(two.loss, rel=1e-9)
            assert one.rate == two.rate
            assert one.validation.token == two.validation.token
        for one, two in zip(model.parameters(), other.parameters(), strict=True):
            assert torch.allclose(one, two, atol=1e-9)
        assert [e.token for e in record.evaluations] == [e.token for e in alone.evaluations]


def test_runs_that_end_early_leave_the_others_as_they_are():
    run = {"stop": {"threshold": 0.52, "patience": 1}, "measure": "token", "dtype": "float64", "steps": 60}
    given = [tiny(run={**run, "seed": seed}) for seed in range(4)]
    found = [record for record, _ in train_together(given)]
    alone = [train(spec)[0] for spec in given]
    assert [r.steps for r in found] == [r.steps for r in alone]
    assert len({r.steps for r in found}) > 1
    for one, two in zip(found, alone, strict=True):
        assert one.history[-1].loss == pytest.approx(two.history[-1].loss, rel=1e-9)


def test_a_run_that_diverges_leaves_the_others_as_they_are():
    given = specs(model={"layers": "lstm"})
    crew_runs = [Trainer(spec) for spec in given]
    with torch.no_grad():
        next(crew_runs[1].model.parameters()).fill_(math.nan)
    crew = JointTrainer(crew_runs)
    while crew.active:
        crew.step()
    records = [run.finish() for run in crew_runs]
    assert [r.stopped for r in records] == ["steps", "divergence", "steps", "steps"]
    assert (records[1].divergence.step, records[1].divergence.what) == (0, "loss")
    for number in (0, 2, 3):
        alone, _ = train(given[number])
        assert records[number].history[-1].loss == pytest.approx(alone.history[-1].loss, rel=1e-9)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"run": {"steps": 21}}, "seed and rate only"),
        ({"run": {"curriculum": {"start": 4}}}, "cannot be trained together"),
        ({"run": {"epochs": 1, "sample": 8}}, "cannot be trained together"),
        ({"run": {"aids": {"noise": 0.1}}}, "cannot be trained together"),
        ({"model": {"module": "a:b"}}, "model of your own"),
        ({"model": {"surroundings": {"dropout": 0.1}}}, "dropout"),
    ],
)
def test_what_cannot_be_trained_together_is_said(tables, message):
    given = [tiny(), tiny(**tables)] if "steps" in tables.get("run", {}) else [tiny(**tables)]
    with pytest.raises(InputError, match=message):
        train_together(given)


def test_nothing_is_refused():
    with pytest.raises(InputError, match="nothing to train"):
        train_together([])
