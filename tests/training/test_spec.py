"""Specs: what is refused, what the key depends on, and the ways in."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from nerode.core import InputError, UnknownName
from nerode.models import all_kinds
from nerode.records import (
    Curriculum,
    ModelSpec,
    OptimiserSpec,
    RunSpec,
    StopRule,
    TaskConfig,
    TrainSpec,
    merge_tables,
    parse_assignments,
    read_toml,
)
from nerode.tasks import build_task
from nerode.training import run_key, spec_model, spec_model_config
from nerode.training.specs import complete_spec, make_spec, make_specs

PARITY = TaskConfig(name="parity")


def test_a_spec_is_read_from_toml_and_written_back(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(
        '[task]\nname = "parity"\nsettings = {longest = 20}\n'
        '[model]\nlayers = "mamba,lstm"\nwidth = 8\nlayer_settings = [{states = 4}, {hidden = 6}]\n'
        '[optimiser]\nname = "sgd"\nrate = 1\n[run]\nsteps = 5\ncurriculum = {start = 4}\n'
    )
    spec = TrainSpec.from_mapping(read_toml(path))
    assert spec.run.curriculum == Curriculum(start=4)
    assert spec.optimiser.rate == 1.0
    layers = spec_model_config(spec.model, build_task(spec.task)).layers
    assert [(layer.name, layer.settings.get("states"), layer.settings.get("hidden")) for layer in layers] == [
        ("mamba", 4, None),
        ("lstm", None, 6),
    ]
    again = TrainSpec.from_mapping(json.loads(json.dumps(spec.to_mapping())))
    assert again == spec
    assert run_key(again) == run_key(spec)


@pytest.mark.parametrize(
    ("text", "nearest"),
    [("optimise.rate=1", "optimiser"), ("run.step=1", "steps"), ("model.widht=1", "width")],
)
def test_unknown_settings_are_refused_with_the_nearest(text, nearest):
    with pytest.raises(UnknownName) as error:
        TrainSpec.from_mapping(merge_tables({"task": {"name": "parity"}}, parse_assignments([text])))
    assert nearest in error.value.nearest


def test_unknown_settings_of_task_and_layer_are_refused():
    with pytest.raises(UnknownName, match="longest"):
        make_spec({"task": {"name": "parity", "settings": {"longst": 3}}})
    with pytest.raises(UnknownName, match="hidden"):
        spec_model_config(ModelSpec(layers="lstm", settings={"hiden": 3}), build_task(PARITY))


@pytest.mark.parametrize(
    "broken",
    [
        lambda: OptimiserSpec(rate=0.0),
        lambda: OptimiserSpec(rate=float("nan")),
        lambda: OptimiserSpec(slow_rate=-1.0),
        lambda: OptimiserSpec(decay=-0.1),
        lambda: OptimiserSpec(clip=float("inf")),
        lambda: OptimiserSpec(warm_up=-1),
        lambda: OptimiserSpec(betas=(0.9, 1.0)),
        lambda: OptimiserSpec(momentum=1.0),
        lambda: Curriculum(start=0),
        lambda: Curriculum(start=1, step=0),
        lambda: Curriculum(start=1, threshold=1.5),
        lambda: StopRule(threshold=0.0),
        lambda: StopRule(patience=0),
        lambda: StopRule(length=-1),
        lambda: ModelSpec(embedding=-0.1),
        lambda: ModelSpec(embedding=0.1, width=0),
        lambda: ModelSpec(embedding=0.1, module="a:b"),
        lambda: RunSpec(steps=0),
        lambda: RunSpec(batch=0),
        lambda: RunSpec(seed=-1),
        lambda: RunSpec(test_lengths=(4, 0)),
        lambda: RunSpec(test_threshold=0.0),
        lambda: RunSpec(epochs=2),
        lambda: RunSpec(sample=2),
        lambda: RunSpec(epochs=2, sample=2, curriculum=Curriculum(start=3)),
        lambda: ModelSpec(width=-1),
        lambda: ModelSpec(depth=0),
        lambda: ModelSpec(module="a:b", configuration="c"),
        lambda: spec_model_config(ModelSpec(layer_settings=({}, {})), build_task(PARITY)),
    ],
)
def test_settings_that_make_no_sense_are_refused(broken):
    with pytest.raises(InputError):
        broken()


def test_the_key_is_that_of_the_complete_spec():
    spec = TrainSpec(task=PARITY)
    assert len(run_key(spec)) == 64
    written = TrainSpec(
        task=TaskConfig(name="parity", settings={"longest": 40}),
        model=ModelSpec(layers="mamba", settings={"states": 16}),
        run=RunSpec(test_lengths=(1024, 512, 256, 128, 64, 40)),
    )
    assert run_key(written) == run_key(spec)
    others = [
        replace(spec, task=TaskConfig(name="parity-last")),
        replace(spec, model=ModelSpec(width=8)),
        replace(spec, optimiser=OptimiserSpec(rate=2e-3)),
        replace(spec, run=RunSpec(seed=1)),
        replace(spec, run=RunSpec(test_lengths=(40,))),
    ]
    assert len({run_key(spec), *(run_key(other) for other in others)}) == 6


def test_steps_do_not_count_where_epochs_do():
    one, two = (
        TrainSpec(task=PARITY, run=RunSpec(steps=s, epochs=2, sample=10, test_lengths=(4,))) for s in (3, 4)
    )
    assert run_key(one) == run_key(two)


def test_a_configuration_of_a_paper():
    from nerode.models.published import all_configurations

    name, row = next((n, r) for n, r in all_configurations().items() if not r.scores and r.features is None)
    config = spec_model_config(ModelSpec(configuration=name, width=0, depth=0), build_task(PARITY))
    assert config.width == row.model.width
    assert len(config.layers) == row.model.depth


def test_defaults_build_every_member_of_the_zoo():
    task = build_task(PARITY)
    specs = make_specs("parity", list(all_kinds()), seeds=[3])
    for spec in specs:
        assert spec.run.seed == 3
        scores, _ = spec_model(spec.model, task, seed=3)(torch.tensor([[0, 1, 1]]))
        assert scores.shape == (1, 3, 2)


def test_defaults_of_mixed_layers():
    (spec,) = make_specs("parity", ["mamba+elman"], seeds=[0], tables={"run": {"steps": 2}})
    assert spec.model.title == "mamba+elman"
    assert spec.optimiser.rate == 3e-3
    assert spec.run.steps == 2
    names = [layer.name for layer in spec_model_config(spec.model, build_task(PARITY)).layers]
    assert names == ["mamba", "elman-tanh"]


def test_nothing_to_train_is_refused():
    with pytest.raises(InputError, match="nothing to train"):
        make_specs("parity", [], seeds=[0])


def test_a_changed_automaton_makes_another_run(tmp_path):
    path = tmp_path / "mine.att"

    def key():
        settings = {"language": str(path)}
        return run_key(TrainSpec(task=TaskConfig(name="language-recognition", settings=settings)))

    path.write_text("0 1 a\n1 0 a\n0 0 b\n1 1 b\n0\n")
    first = key()
    assert key() == first
    path.write_text("0 1 a\n1 0 b\n0\n")
    assert key() != first


def test_a_changed_module_makes_another_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    spec = TrainSpec(task=PARITY, model=ModelSpec(module="edited_model:build"))
    (tmp_path / "edited_model.py").write_text("def build(task):\n    return 1\n")
    first = run_key(spec)
    assert run_key(spec) == first
    (tmp_path / "edited_model.py").write_text("def build(task):\n    return 2\n")
    assert run_key(spec) != first


def test_a_run_without_files_keeps_its_key():
    plain = [PARITY, TaskConfig(name="language-recognition", settings={"language": "(ab)*"})]
    for task in plain:
        assert "files" not in complete_spec(TrainSpec(task=task)).to_mapping()


def test_settings_that_are_younger_than_old_runs_are_in_the_key_only_where_they_are_used():
    plain = complete_spec(TrainSpec(task=PARITY)).to_mapping()["optimiser"]
    assert not {"decay_only", "hold"} & set(plain)
    used = TrainSpec(task=PARITY, optimiser=OptimiserSpec(hold=3))
    assert complete_spec(used).to_mapping()["optimiser"]["hold"] == 3
    complete = complete_spec(TrainSpec(task=PARITY)).to_mapping()
    assert "embedding" not in complete["model"]
    assert "length" not in complete["run"]["stop"]
    younger = TrainSpec(
        task=PARITY, model=ModelSpec(embedding=0.1), run=RunSpec(stop=StopRule(threshold=0.9, length=8))
    )
    complete = complete_spec(younger).to_mapping()
    assert complete["model"]["embedding"] == 0.1
    assert complete["run"]["stop"]["length"] == 8
    assert TrainSpec.from_mapping(younger.to_mapping()) == younger


@pytest.mark.parametrize(
    "setting",
    [
        "run.threads=100000",
        "model.depth=100000",
        "model.width=10000000",
        "run.test_lengths=[99999999]",
        "run.batch=1000000000",
        "run.steps=10000000000",
        "run.test_sequences=1000000000",
    ],
)
def test_sizes_beyond_any_machine_are_refused_with_the_bound(setting: str) -> None:
    tables = parse_assignments(["task.name=parity", setting])
    with pytest.raises(InputError, match=r"it has to be at most [\d,]+"):
        make_spec(tables)
