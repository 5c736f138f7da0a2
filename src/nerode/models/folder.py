"""Weights on disk: subject.json and model.safetensors, checked before they are written or believed.

Nothing is ever unpickled.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from nerode.core import (
    DTYPES,
    FormatError,
    InputError,
    from_mapping,
    to_mapping,
    whole_folder,
    write_atomically,
)
from nerode.kernel import LANGUAGE_FILE, content_hash
from nerode.models.config import ModelConfig
from nerode.models.kernels.arguments import dtype_name
from nerode.models.model import Model
from nerode.records import (
    SUBJECT_FILE,
    WEIGHTS_FILE,
    Folder,
    NetworkEntry,
    SubjectRecord,
    hash_tensors,
    unexamined,
)

TORCH_DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in DTYPES}
"""The types of torch by their names, the widest first."""


def dtype_of(module: nn.Module) -> str:
    """Returns the name of the type of a module's weights."""
    return dtype_name(next(module.parameters()).dtype)


def weights_of(module: nn.Module) -> dict[str, Tensor]:
    """Returns the weights of a module, ready to be written.

    Raises:
        InputError: if one is not finite.
    """
    tensors = {name: value.detach().cpu().clone().contiguous() for name, value in module.state_dict().items()}
    for name, value in tensors.items():
        if not is_finite(value):
            raise InputError(f"the weight {name} is not finite; nothing was written")
    return tensors


def read_tensors(content: bytes, path: Path) -> dict[str, Tensor]:
    """Returns the tensors of a safetensors file, or raises FormatError."""
    try:
        return load(content)
    except SafetensorError as error:
        raise FormatError(f"is not a safetensors file: {error}", path=path) from None


def fill_weights(module: nn.Module, tensors: dict[str, Tensor], path: Path) -> None:
    """Gives a module its weights.

    Raises:
        FormatError: if names, shapes or types are not those of the module, or a number is not finite.
    """
    wanted = module.state_dict()
    if tensors.keys() != wanted.keys():
        odd = sorted(tensors.keys() ^ wanted.keys())[0]
        where = "is not in the model" if odd in tensors else "is missing"
        raise FormatError(f"the weight {odd} {where}", path=path)
    for name, value in wanted.items():
        given = tensors[name]
        if given.shape != value.shape or given.dtype != value.dtype:
            raise FormatError(
                f"the weight {name} is {_show(given)}, the model needs {_show(value)}", path=path
            )
        if not is_finite(given):
            raise FormatError(f"the weight {name} is not finite", path=path)
    module.load_state_dict(tensors)


def is_finite(tensor: Tensor) -> bool:
    """Whether a tensor holds whole numbers, or finite ones."""
    numbers = tensor.is_floating_point() or tensor.is_complex()
    return not numbers or bool(torch.isfinite(tensor).all())


def _show(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}"


def save_model(
    folder: Path | str,
    model: nn.Module,
    *,
    subject: SubjectRecord | None = None,
    language: dict[str, Any] | None = None,
) -> SubjectRecord:
    """Writes a model into a folder and returns its subject; an older model there is replaced.

    Args:
        folder: to write.
        model: of the zoo, or a module of the user's own, of which the weights alone are written.
        subject: letters, reading, question and origin; nothing is known of them without it.
        language: what the question is about.

    Raises:
        InputError: if a weight is not finite, or the folder cannot be written.
    """
    content = save(weights_of(model))
    entry = NetworkEntry(kind="module", dtype=dtype_of(model))
    if isinstance(model, Model):
        names = dict.fromkeys(layer.name for layer in model.config.layers)
        settings = to_mapping(model.config.complete())
        entry = NetworkEntry(kind="zoo", target=",".join(names), dtype=dtype_of(model), config=settings)
    elif subject is not None:
        entry = replace(entry, code=subject.network.code)
    files = {WEIGHTS_FILE: hash_tensors(content)}
    if language is not None:
        files[LANGUAGE_FILE] = content_hash(language)
    found = replace(subject or SubjectRecord(network=entry), network=entry, files=files)
    # The subject holds the hashes of the files, so a folder that was written by halves is refused.
    with whole_folder(Path(folder)) as place:
        write_atomically(place / WEIGHTS_FILE, content)
        if language is not None:
            write_atomically(place / LANGUAGE_FILE, _text(language))
        write_atomically(place / SUBJECT_FILE, _text(found.to_json()))
    return found


def _text(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def read_model(folder: Folder | Path | str, *, dtype: torch.dtype | None = None) -> Model:
    """Returns the model of a folder.

    Args:
        folder: where `save_model` wrote it.
        dtype: the type to convert the weights to; the one that they were saved in when not given.

    Raises:
        FormatError: if a file is missing, was altered, or does not fit the other.
    """
    folder = folder if isinstance(folder, Folder) else Folder(folder)
    entry, path = folder.subject.network, folder.path / SUBJECT_FILE
    if entry.kind != "zoo" or entry.dtype not in TORCH_DTYPES:
        raise FormatError(f"names {_named(entry)}, not a model of the zoo with a type of floats", path=path)
    content = folder.weights
    if folder.file_hash(WEIGHTS_FILE) != folder.subject.files.get(WEIGHTS_FILE):
        raise FormatError(f"is not the file that {path} was written with", path=folder.path / WEIGHTS_FILE)
    model = _build(entry, path)
    fill_weights(model, read_tensors(content, folder.path / WEIGHTS_FILE), folder.path / WEIGHTS_FILE)
    model.claims = (unexamined(f"{path} says nothing about what its model does.", dtype=entry.dtype),)
    return model if dtype is None else model.to(dtype)


def _named(entry: NetworkEntry) -> str:
    return f"a network of the kind {entry.kind!r} in {entry.dtype}"


def _build(entry: NetworkEntry, path: Path) -> Model:
    """The model of a config, with weights that are still to be filled in."""
    try:
        config = from_mapping(ModelConfig, entry.config, where="config")
        return Model(config).to(TORCH_DTYPES[str(entry.dtype)])
    except InputError as error:
        raise FormatError(str(error), path=path) from None
    except (RuntimeError, MemoryError) as error:
        # torch has no class of its own for memory that is not to be had.
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FormatError(f"describes a model that cannot be built here: {what}", path=path) from None
