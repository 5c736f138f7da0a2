"""Mending a model: training that goes on from its weights until it is proved; the outcome is a new run.

gates   exact gates: training goes on through gates that are exactly 0, 1 or -1. The first attempts begin with
        the given weights, whose gate scores are spread, so that about half of the gates write; that changes
        the function. If these find no proof, fresh weights of the same config follow.
words   failing words: training goes on with words that a search names.

The folder that is written is that of a run: its spec names the weights that it began with. The given model is
not changed.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from safetensors.torch import save
from torch import Tensor

from nerode.analysis.recipes import recipe
from nerode.analysis.settle.keeping import settled_or_new
from nerode.analysis.subject import LoadedNetwork, imported_task
from nerode.core import Budget, InputError, to_mapping
from nerode.models import ModelConfig
from nerode.records import ModelSpec, RunRecord, Settlement, TaskConfig, hash_tensors, merge_tables, run_name
from nerode.tasks import Recognition, StateTracking, build_task
from nerode.training import make_spec, run_in, spec_model_config

Method = Literal["gates", "words"]

_ROUNDS, _STEPS = 10, 50
"""Checks by failing words, and the updates before each."""


def mend(
    subject: LoadedNetwork,
    out: Path,
    *,
    method: Method = "gates",
    task: TaskConfig | None = None,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    budget: Budget | None = None,
) -> tuple[RunRecord, Settlement]:
    """Returns the run that mends a model, and its settlement; both are in the folder.

    Args:
        subject: a model of the zoo; it is not changed.
        out: the folder of the mended model; what is there is replaced.
        method: how.
        task: what the model should do, if it says nothing of it itself.
        seed: of the run.
        settings: further tables of its spec.
        budget: limits the CPU seconds in which a model without a proof is settled.

    Raises:
        InputError: if nothing says what is correct, or the method is not made for the model.
    """
    chosen = _task_of(subject, task)
    model = subject.zoo_model
    weights = {name: value.detach().clone().contiguous() for name, value in model.state_dict().items()}
    own = subject.spec.model if subject.spec is not None else _model_spec(model.config, chosen)
    spec = make_spec(
        merge_tables(
            {"task": to_mapping(chosen), "model": to_mapping(own)},
            _tables(method, chosen, own),
            {"run": {"seed": seed, "start": hash_tensors(save(weights))}},
            settings or {},
        )
    )
    record = _run_into(out, spec, weights)
    if record.divergence is not None:
        raise InputError(f"training diverged after {record.divergence.step} updates; give a smaller rate")
    return record, settled_or_new(out, budget=budget)


def choose_method(subject: LoadedNetwork) -> Literal["gates", "words", "group"]:
    """Returns the first method that a model allows: exact gates, the representation of a group, words."""
    layers = subject.zoo_model.config.layers
    kinds = [layer.resolve()[0] for layer in layers]
    if all("two" in kind.gates for kind in kinds):
        return "gates"
    if isinstance(subject.task, StateTracking) and [kind.name for kind in kinds] == ["orthogonal"]:
        return "group"
    return "words"


def _run_into(out: Path, spec: Any, start: Mapping[str, Tensor]) -> RunRecord:
    """Makes a run whose folder is this one; it appears whole or not at all."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as place:
        record = run_in(Path(place), spec, start=start)
        if out.exists():
            shutil.rmtree(out)
        (Path(place) / run_name(record.key)).rename(out)
    return record


def _task_of(subject: LoadedNetwork, task: TaskConfig | None) -> TaskConfig:
    """The task of a model: its own, or the given one."""
    if subject.spec is not None:
        own = subject.spec.task
    elif subject.imported is not None and subject.task is not None:
        own = imported_task(subject.imported, recognises=isinstance(subject.task, Recognition))
    elif task is None:
        raise InputError(f"{subject.name} has no task, so nothing says what is correct; name it (--task)")
    else:
        return task
    if task is not None:
        raise InputError(f"{subject.name} says by itself what it should do; leave --task out")
    return own


def _model_spec(config: ModelConfig, task: TaskConfig) -> ModelSpec:
    """The spec of a model that was not trained here.

    Raises:
        InputError: if no spec describes it for this task.
    """
    around = [config.around(number) for number in range(len(config.layers))]
    spec = ModelSpec(
        layers=",".join(layer.name for layer in config.layers),
        layer_settings=tuple(dict(layer.settings) for layer in config.layers),
        width=config.width or 0,
        surroundings=around[0],
        positions="sine" if config.positions == "sine" else "none",
        final_norm=config.final_norm,
        head=config.head,
        head_width=config.head_width,
        head_bias=config.head_bias,
    )
    made = build_task(task)
    if (config.letters, config.outputs) != (made.letters, made.outputs):
        raise InputError(
            f"the model reads {config.letters} letters and gives {config.outputs} scores; {made.name} has "
            f"{made.letters} letters and asks for {made.outputs}"
        )
    if (
        len(set(around)) > 1
        or spec_model_config(spec, made) != replace(config, surroundings=around[0]).complete()
    ):
        raise InputError("the model has parts that no training spec describes; it cannot be mended here")
    return spec


def _tables(method: Method, task: TaskConfig, model: ModelSpec) -> dict[str, Any]:
    """The settings with which training goes on."""
    if method == "gates":
        names = "+".join([model.layers.replace(",", "+")] * model.depth)
        found = recipe(to_mapping(task), names)
        return {"optimiser": found["optimiser"], "run": found["run"]}
    return {
        "optimiser": {"name": "adam", "rate": 1e-3, "decay": 0.0},
        "run": {
            "steps": _ROUNDS * _STEPS,
            "batch": 32,
            "evaluate_every": _STEPS,
            "exact": {
                "gates": "none",
                "words": "valid",
                "attempts": 1,
                "naming": 0.0,
                "judge": "words",
                "states": 20_000,
            },
        },
    }
