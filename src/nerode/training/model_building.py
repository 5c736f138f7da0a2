"""Models from their specs: layers of the zoo, a configuration of a paper, or a module of the user."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from nerode.core import InputError, stream, to_mapping
from nerode.models import LayerConfig, ModelConfig, build_model, configuration, model_config
from nerode.records import ModelSpec
from nerode.tasks import Task

Build = Callable[[Task], nn.Module]
"""Makes a model for a task: `forward(x, state) -> (scores, state)`, with None for the first state."""


def spec_model(spec: ModelSpec, task: Task, *, seed: int, build: Build | None = None) -> nn.Module:
    """Returns the model of a spec with weights drawn by the seed.

    Args:
        spec: the model.
        task: the task it is for.
        seed: of the run.
        build: makes the model instead of what the spec says.
    """
    draw = int(stream(seed, "init").integers(2**63))
    if build is None and spec.module:
        build = import_builder(spec.module)
    if build is not None:
        return build_seeded(build, task, draw)
    return build_model(spec_model_config(spec, task), seed=draw)


def spec_model_config(spec: ModelSpec, task: Task) -> ModelConfig:
    """Returns the configuration of a model for the sizes of a task, every setting written out."""
    sizes = {"letters": task.letters, "features": task.features}
    if spec.configuration:
        return configuration(
            spec.configuration,
            outputs=task.outputs,
            width=spec.width or None,
            depth=spec.depth or None,
            **sizes,
        ).complete()
    config = model_config(
        ",".join([spec.layers] * spec.depth),
        outputs=task.outputs,
        width=spec.width or None,
        surroundings=spec.surroundings,
        **sizes,
    )
    return replace(
        config,
        layers=_layers(spec, config.layers),
        positions=config.positions if spec.positions is None else spec.positions,
        final_norm=config.final_norm if spec.final_norm is None else spec.final_norm,
        head=spec.head,
        head_width=spec.head_width,
        head_bias=spec.head_bias,
    ).complete()


def _layers(spec: ModelSpec, named: tuple[LayerConfig, ...]) -> tuple[LayerConfig, ...]:
    own = spec.layer_settings or ({},) * len(named)
    if len(own) != len(named):
        raise InputError(
            f"model.layer_settings has {len(own)} tables; the model has {len(named)} layers, "
            "each needs its table"
        )
    return tuple(
        replace(layer, settings={**layer.settings, **spec.settings, **extra})
        for layer, extra in zip(named, own, strict=True)
    )


def complete_model(spec: ModelSpec, task: Task) -> dict[str, Any]:
    """Returns the complete configuration of a model as plain values."""
    return {"module": spec.module} if spec.module else to_mapping(spec_model_config(spec, task))


def model_file_hashes(spec: ModelSpec) -> dict[str, str]:
    """Returns the SHA-256 of the file of the user's own module, by its name; empty without one.

    What that module imports is not looked at.
    """
    path = builder_file(spec.module) if spec.module else None
    if path is None or not path.is_file():
        return {}
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()}


def import_builder(name: str) -> Callable[[Task], nn.Module]:
    """Returns the function that "module:function" names, from the current folder or the Python path.

    This imports and runs the user's code: name only modules that you trust.

    Raises:
        InputError: if there is no such module or function.
    """
    module_name, function_name = _parts(name)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise InputError(
            f"there is no module {module_name!r} in {os.getcwd()} or on the Python path"
        ) from None
    function: object = getattr(module, function_name, None)
    if not callable(function):
        raise InputError(f"the module {module_name!r} has no function {function_name!r}")
    return function


def builder_file(name: str) -> Path | None:
    """Returns the file of the module that "module:function" names; None if it has none.

    Nothing of it is run, but for the packages that the module is in.
    """
    module_name, _ = _parts(name)
    try:
        found = importlib.util.find_spec(module_name)
    except (ImportError, ValueError):
        return None
    return Path(found.origin) if found is not None and found.origin and found.has_location else None


def _parts(name: str) -> tuple[str, str]:
    """The module and the function; modules of the current folder can be found from now on."""
    module_name, colon, function_name = name.partition(":")
    if not colon or not module_name or not function_name:
        raise InputError(f"the model {name!r} is not of the form module:function, like mymodule:build")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    return module_name, function_name


def build_seeded(build: Callable[[Task], nn.Module], task: Task, seed: int) -> nn.Module:
    """Returns the model that `build` makes with torch's random numbers begun at `seed`.

    Raises:
        InputError: if it is no module, or its scores have not the shape that the task asks for.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = build(task)
        if not isinstance(model, nn.Module):
            raise InputError(f"the builder gave {type(model).__name__}; it has to give a torch.nn.Module")
        _try(model, task)
    return model


def _try(model: nn.Module, task: Task) -> None:
    """Raises InputError unless the model maps two positions to scores and a state."""
    if task.letters is not None:
        x = torch.zeros(1, 2, dtype=torch.int64)
    else:
        x = torch.zeros(1, 2, task.features or 1)
    with torch.no_grad():
        result = model(x, None)
    wanted = (1, 2, task.outputs)
    if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[0], torch.Tensor):
        raise InputError("the model has to map (x, state) to a pair of scores and state")
    if tuple(result[0].shape) != wanted:
        raise InputError(
            f"the model gives scores of shape {tuple(result[0].shape)} for one sequence of two positions; "
            f"the task asks for {wanted}"
        )
