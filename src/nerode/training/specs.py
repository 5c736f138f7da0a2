"""Training specs: from tables and small defaults; complete specs and run keys.

The defaults are models and rates that learn on a laptop, one row per kind of layer: `--arch` begins there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from nerode.core import InputError
from nerode.models import model_config
from nerode.records import CompleteSpec, TrainSpec, merge_tables
from nerode.tasks import build_task, complete_task, resolve_task, task_file_hashes
from nerode.training.model_building import complete_model, model_file_hashes


def make_spec(tables: Mapping[str, Any]) -> TrainSpec:
    """Returns the spec that tables describe, its task checked.

    Raises:
        InputError: if a setting does not fit; UnknownName if there is no such task or setting.
    """
    spec = TrainSpec.from_mapping(tables)
    resolve_task(spec.task)
    return spec


def tested_lengths(spec: TrainSpec) -> tuple[int, ...]:
    """Returns the lengths to test, in order: the spec's, or the task's, or multiples of the longest."""
    kind, _ = resolve_task(spec.task)
    task = build_task(spec.task)
    longest = task.training_lengths[1]
    chosen = (
        spec.run.test_lengths
        or task.test_lengths
        or kind.test_lengths
        or tuple(longest * k for k in (1, 2, 4, 8))
    )
    return tuple(sorted(set(chosen)))


def complete_spec(spec: TrainSpec) -> CompleteSpec:
    """Returns the spec with all defaults written out.

    A default that is written and one that is not give the same complete spec.
    """
    return CompleteSpec(
        task=complete_task(spec.task),
        model=complete_model(spec.model, build_task(spec.task)),
        optimiser=spec.optimiser,
        run=replace(spec.run, test_lengths=tested_lengths(spec)),
        files={**task_file_hashes(spec.task), **model_file_hashes(spec.model)},
    )


def run_key(spec: TrainSpec) -> str:
    """Returns the hash of the complete spec: the name of the run."""
    return complete_spec(spec).key


OTHER: dict[str, Any] = {"rate": 5e-3, "width": 16, "settings": {}}
"""Learning rate, features after the embedding, and settings of a layer, unless its kind has others."""

SMALL: dict[str, dict[str, Any]] = {
    "elman-tanh": {"rate": 3e-3, "width": 8, "settings": {"hidden": 16}},
    "lstm": {"rate": 1e-2, "width": 8, "settings": {"hidden": 16}},
    "gru": {"rate": 1e-2, "width": 8, "settings": {"hidden": 16}},
    "mingru": {"rate": 1e-2, "settings": {"hidden": 16}},
    "nru": {"width": 8, "settings": {"hidden": 16}},
    "slstm": {},
    "mamba": {"settings": {"states": 4}},
    "mamba-2": {"settings": {"states": 8}},
    "s4": {"settings": {"states": 16}},
    "s4d": {"settings": {"states": 16}},
    "h3": {"settings": {"states": 16}},
    "lssl": {"settings": {"states": 16}},
    "ids4": {"settings": {"states": 16}},
    "ssm": {"rate": 1e-3, "width": 10, "settings": {"states": 32}},
    "orthogonal": {"rate": 1e-2},
    "transformer": {"rate": 1e-3, "width": 32},
    "local-attention": {"rate": 1e-3, "width": 32},
}
"""By the name of the kind; the rates of the cells, of Mamba and of the rotations are measured ones."""


def default_tables(task: str, layers: str) -> dict[str, Any]:
    """Returns the tables of a spec for a task and a list of layers: what is not measured is left out.

    Args:
        task: name of the task.
        layers: names of the zoo, separated by commas or by `+`.
    """
    names = layers.replace("+", ",")
    kinds = [layer.resolve()[0].name for layer in model_config(names, letters=2, outputs=2).layers]
    rows = [OTHER | SMALL.get(kind, {}) for kind in kinds]
    model: dict[str, Any] = {"layers": names, "width": max(row["width"] for row in rows)}
    if len({kind if kind in SMALL else "" for kind in kinds}) == 1:
        model["settings"] = dict(rows[0]["settings"])
    else:
        model["layer_settings"] = [dict(row["settings"]) for row in rows]
    return {
        "task": {"name": task},
        "model": model,
        "optimiser": {"rate": min(row["rate"] for row in rows)},
    }


def with_small_defaults(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the tables of a spec with what its layers need and they do not give: width, settings, rate.

    Tables without a list of layers (a model of a paper, one of the user's own) come back as they are.
    """
    model = tables.get("model")
    if not isinstance(model, Mapping) or model.get("configuration") or model.get("module"):
        return dict(tables)
    layers, depth = model.get("layers"), model.get("depth", 1)
    if not isinstance(layers, str) or not isinstance(depth, int):
        return dict(tables)
    defaults = default_tables("", layers)
    defaults.pop("task")
    if "layer_settings" in defaults["model"]:
        defaults["model"]["layer_settings"] *= depth
    return merge_tables(defaults, tables)


def make_specs(
    task: str,
    architectures: Sequence[str],
    *,
    seeds: Sequence[int],
    tables: dict[str, Any] | None = None,
) -> list[TrainSpec]:
    """Returns a spec for each architecture and seed, the architectures in the order given.

    Args:
        task: name of the task.
        architectures: lists of layers; the layers of one model are joined by `+`.
        seeds: of the runs.
        tables: settings over the defaults.

    Raises:
        InputError: if nothing is to be trained, or a setting does not fit.
    """
    if not architectures or not seeds:
        raise InputError("there is nothing to train; name one architecture or more, and one seed or more")
    return [
        spec
        for layers in architectures
        for spec in specs_of_seeds(merge_tables(default_tables(task, layers), tables or {}), seeds=seeds)
    ]


def specs_of_seeds(tables: Mapping[str, Any], *, seeds: Sequence[int]) -> list[TrainSpec]:
    """Returns the spec that tables describe, once for each seed."""
    return [make_spec(merge_tables(tables, {"run": {"seed": seed}})) for seed in seeds]
