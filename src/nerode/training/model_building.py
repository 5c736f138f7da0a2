"""Models from their specs: layers of the zoo, a configuration of a paper, or a module of the user."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import torch
from torch import nn

from nerode.core import InputError, NerodeError, stream, to_mapping
from nerode.models import (
    Model,
    ModelConfig,
    WordModule,
    build_model,
    configuration,
    measure_transitions,
    spec_config,
    takes_state,
)
from nerode.records import ModelSpec, untrusted_code
from nerode.tasks import Task

Build = Callable[[Task], nn.Module]
"""Makes a model for a task: `forward(x, state) -> (scores, state)`, or `forward(tokens) -> scores`."""


def spec_model(spec: ModelSpec, task: Task, *, seed: int, build: Build | None = None) -> nn.Module:
    """Returns the model of a spec with weights drawn by the seed.

    A module of the user's own is never imported here: `own_builder` does that, where code may run.

    Args:
        spec: the model.
        task: the task it is for.
        seed: of the run.
        build: makes the model instead of what the spec says.

    Raises:
        InputError: if the spec names a module and there is no `build`.
    """
    draw = int(stream(seed, "init").integers(2**63))
    if build is None and spec.module:
        raise untrusted_code(spec.module, "the spec")
    if build is not None:
        return build_seeded(build, task, draw)
    model = build_model(spec_model_config(spec, task), seed=draw)
    if spec.embedding:
        if not isinstance(model.embedding, nn.Embedding):
            raise InputError(f"model.embedding is {spec.embedding}; {task.name} has no letters to embed")
        with torch.no_grad():
            model.embedding.weight.mul_(spec.embedding)
    return model


def spec_model_config(spec: ModelSpec, task: Task) -> ModelConfig:
    """Returns the configuration of a model for the sizes of a task, every setting written out."""
    sizes = {"letters": task.letters, "features": task.features}
    if not spec.configuration:
        return spec_config(spec, outputs=task.outputs, **sizes).complete()
    found = configuration(
        spec.configuration,
        outputs=task.outputs,
        width=spec.width or None,
        depth=spec.depth or None,
        **sizes,
    )
    return found.complete()


_LEFT_OUT_OF_KEY_AT_DEFAULT = {
    "beginning": False,
    "embedding_norm": "none",
    "gate_cap": 15.0,
    "inner_norm": 0.0,
    "norm_epsilon": 1e-5,
    "open_start": False,
    "period": 2,
    "slopes": None,
}
"""Settings of models and layers that were added later; without their defaults old run keys stay valid."""


def complete_model(spec: ModelSpec, task: Task) -> dict[str, Any]:
    """Returns the complete configuration of a model as plain values.

    Settings that are younger than old keys are left out where they are not set.
    """
    if spec.module:
        return {"module": spec.module, **({"theory": spec.theory} if spec.theory else {})}
    plain = to_mapping(spec_model_config(spec, task))
    for table in (plain, *(layer["settings"] for layer in plain["layers"])):
        for name, default in _LEFT_OUT_OF_KEY_AT_DEFAULT.items():
            if name in table and table[name] == default:
                del table[name]
    return {**plain, "embedding": spec.embedding} if spec.embedding else plain


def model_file_hashes(spec: ModelSpec) -> dict[str, str]:
    """Returns the SHA-256 of the file of the user's own module, by its name; empty without one.

    What that module imports is not hashed.
    """
    path = builder_file(spec.module) if spec.module else None
    if path is None or not path.is_file():
        return {}
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()}


def own_builder(spec: ModelSpec, *, recorded: Mapping[str, str] | None = None) -> Build | None:
    """Returns the user's own function that builds the model, None for a model of the zoo.

    This imports and runs the user's code: call it only for a module that the user has named or trusts.

    Args:
        spec: the model.
        recorded: SHA-256 by name of the files that a run was made with; None for a new run.

    Raises:
        InputError: if there is no such module or function, or its file is not the one that was recorded.
    """
    if not spec.module:
        return None
    if recorded is not None:
        _require_same_source(spec.module, recorded)
    return import_builder(spec.module)


def _require_same_source(name: str, recorded: Mapping[str, str]) -> None:
    """Raises InputError unless the file of a module is the one that a run was made with."""
    path = builder_file(name)
    if path is None or not path.is_file():
        raise InputError(f"there is no file of the module of {name!r} in {os.getcwd()} or on the Python path")
    wanted = recorded.get(path.name)
    if wanted is None:
        raise InputError(
            f"the record of the run has no hash of {path.name}, so that nobody can say whether {path} is the "
            "module that it was trained with; train it again"
        )
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != wanted:
        raise InputError(
            f"{path} is not the module that the run was trained with: its SHA-256 is {found[:16]}…, the "
            f"record says {wanted[:16]}…; restore that file, or train again"
        )


def import_builder(name: str) -> Build:
    """Returns the function that "module:function" names, from the current folder or the Python path.

    This imports and runs the user's code. The source is what runs, never a compiled file beside it.

    Raises:
        InputError: if there is no such module or function.
    """
    module_name, function_name = _parts(name)
    with own_code(f"the module {module_name!r}"):
        try:
            module = _import_source(module_name)
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


@contextmanager
def own_code(what: str) -> Iterator[None]:
    """Turns whatever the user's own code raises into an InputError that says where.

    Args:
        what: the code, in words.
    """
    try:
        yield
    except NerodeError:
        raise
    except (Exception, SystemExit) as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        raise InputError(
            f"{what} raised {type(error).__name__}: {error} ({where}); it has to build a module that maps "
            "tokens to scores, or (x, state) to scores and state"
        ) from error


class _FromSource(SourceFileLoader):
    """The loader of a source file that neither reads nor writes a compiled one."""

    def get_code(self, fullname: str) -> CodeType:
        """Returns the code of the source."""
        return self.source_to_code(self.get_data(self.path), self.path)


def _import_source(name: str) -> ModuleType:
    """The module of this name, from its source: a compiled file could hold other code than was hashed."""
    path = None if name in sys.modules else builder_file(name)
    if path is None or path.suffix != ".py":
        return importlib.import_module(name)
    if parent := name.rpartition(".")[0]:
        importlib.import_module(parent)
    loader = _FromSource(name, str(path))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def builder_file(name: str) -> Path | None:
    """Returns the file of the module that "module:function" or "module" names; None if it has none.

    Nothing of it is run, not even the packages that the module is in.
    """
    module_name = _parts(name)[0] if ":" in name else name
    places: Sequence[str] | None = None
    found: ModuleSpec | None = None
    parts = module_name.split(".")
    for count in range(1, len(parts) + 1):
        found = _find_module(".".join(parts[:count]), places)
        if found is None:
            return None
        places = found.submodule_search_locations
        if places is None and count < len(parts):
            return None
    return Path(found.origin) if found is not None and found.origin and found.has_location else None


def _find_module(name: str, places: Sequence[str] | None) -> ModuleSpec | None:
    """The spec of a module among the places of its package, found without an import of that package."""
    for finder in sys.meta_path:
        try:
            found = finder.find_spec(name, places)
        except (ImportError, ValueError, AttributeError):
            continue
        if found is not None:
            return found
    return None


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
        with own_code("the builder of the model"):
            model = build(task)
        if not isinstance(model, nn.Module):
            raise InputError(f"the builder gave {type(model).__name__}; it has to give a torch.nn.Module")
        return _tried(model, task)


def _tried(model: nn.Module, task: Task) -> nn.Module:
    """The model as one that maps (x, state) to scores and state, run on two positions."""
    if task.letters is not None:
        x = torch.zeros(1, 2, dtype=torch.int64)
    else:
        x = torch.zeros(1, 2, task.features or 1)
    with torch.no_grad(), own_code("the model"):
        result = model(x, None) if takes_state(model) else model(x)
        if not _is_pair(result) and task.letters is not None:
            model = WordModule(model)
            result = model(x)
    wanted = (1, 2, task.outputs)
    if not _is_pair(result):
        raise InputError("the model has to map (x, state) to a pair of scores and state")
    if tuple(result[0].shape) != wanted:
        raise InputError(
            f"the model gives scores of shape {tuple(result[0].shape)} for one sequence of two positions; "
            f"the task asks for {wanted}"
        )
    return model


def _is_pair(result: object) -> bool:
    """Whether what a model gives is a pair of scores and state."""
    return isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], torch.Tensor)


def declared_theory(spec: ModelSpec, model: nn.Module) -> str:
    """Returns the class of theory that an own model is declared to be of; empty if none is.

    Raises:
        InputError: if the two say different things.
    """
    if isinstance(model, Model):
        return ""
    own = getattr(model, "theory", "")
    own = own if isinstance(own, str) else ""
    if spec.theory and own and spec.theory != own:
        raise InputError(
            f"model.theory is {spec.theory!r}, and {type(model).__name__}.theory is {own!r}; leave one out"
        )
    return spec.theory or own


def measure_own(model: nn.Module, task: Task) -> dict[str, Any]:
    """Returns what is measured of the transitions of an own model along a few words of its task."""
    batch = task.sample(
        task.usual_length(_MEASURED_LENGTH), _MEASURED_WORDS, stream(0, "own model", "transitions")
    )
    dtype = next((p.dtype for p in model.parameters() if p.is_floating_point()), torch.float32)
    inputs = batch.inputs.to(dtype) if batch.inputs.is_floating_point() else batch.inputs
    was_training = model.training
    model.eval()
    try:
        with own_code("the model"):
            return dict(measure_transitions(model, inputs))
    finally:
        model.train(was_training)


_MEASURED_LENGTH, _MEASURED_WORDS = 24, 4
