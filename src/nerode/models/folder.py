"""A model on disk: config.json and model.safetensors, checked before they are written or believed.

Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from nerode.core import DTYPES, FormatError, InputError, from_mapping, to_mapping, write_atomically
from nerode.models.model import Model, ModelConfig

WEIGHTS_FILE = "model.safetensors"
MAX_WEIGHTS_BYTES = 20_000_000_000

TORCH_DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in DTYPES}
"""The types of torch by their names, the widest first."""


def weights_of(module: nn.Module) -> dict[str, Tensor]:
    """Returns the weights of a module, ready to be written.

    Raises:
        InputError: if one is not finite.
    """
    tensors = {name: value.detach().contiguous().cpu() for name, value in module.state_dict().items()}
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


def read_notes(content: bytes) -> dict[str, str]:
    """Returns what was noted in a safetensors file, whose tensors have been read before."""
    length = int.from_bytes(content[:8], "little")
    notes: dict[str, str] = json.loads(content[8 : 8 + length]).get("__metadata__") or {}
    return notes


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


def read_bytes(path: Path, most: int) -> bytes:
    """Returns the content of a file of at most so many bytes, or raises FormatError."""
    try:
        if path.stat().st_size > most:
            raise FormatError(f"is larger than {most:,} bytes", path=path)
        return path.read_bytes()
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", path=path) from None


def is_finite(tensor: Tensor) -> bool:
    """Whether a tensor holds whole numbers, or finite ones."""
    numbers = tensor.is_floating_point() or tensor.is_complex()
    return not numbers or bool(torch.isfinite(tensor).all())


def _show(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}"


CONFIG_FILE = "config.json"
FORMAT = "nerode-model"
VERSION = 1

CONFIG_NOTE = "config"
"""Under this name the weights note the hash of the settings that they belong to."""

MAX_CONFIG_BYTES = 10_000_000


def save_model(folder: Path, model: Model) -> None:
    """Writes a model into a folder; an older model there is replaced, its weights first.

    Raises:
        InputError: if a weight is not finite, or the folder cannot be written.
    """
    settings = to_mapping(model.config.complete())
    weights = save(weights_of(model), metadata={CONFIG_NOTE: _hash(settings)})
    config = {
        "format": FORMAT,
        "version": VERSION,
        "dtype": str(next(model.parameters()).dtype).removeprefix("torch."),
        "weights": hashlib.sha256(weights).hexdigest(),
        "model": settings,
    }
    text = json.dumps(config, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    # The config holds the hash of the weights, so a folder that was written by halves is refused.
    write_atomically(folder / WEIGHTS_FILE, weights)
    write_atomically(folder / CONFIG_FILE, text)


def read_model(folder: Path, *, dtype: torch.dtype | None = None) -> Model:
    """Returns the model of a folder.

    Args:
        folder: where `save_model` wrote it.
        dtype: the type to convert the weights to; the one that they were saved in when not given.

    Raises:
        FormatError: if a file is missing, was altered, or does not fit the other.
    """
    path, weights_path = folder / CONFIG_FILE, folder / WEIGHTS_FILE
    data = _read_json(path)
    weights = read_bytes(weights_path, MAX_WEIGHTS_BYTES)
    if hashlib.sha256(weights).hexdigest() != data["weights"]:
        raise FormatError(f"is not the file that {path} was written with", path=weights_path)
    tensors = read_tensors(weights, weights_path)
    model = _build(data, path)
    fill_weights(model, tensors, weights_path)
    # Last, because what does not fit is told more exactly above. Older folders do not have the note.
    if read_notes(weights).get(CONFIG_NOTE, _hash(data["model"])) != _hash(data["model"]):
        raise FormatError(f"was altered after {weights_path} was written with it", path=path)
    return model if dtype is None else model.to(dtype)


def _build(data: Any, path: Path) -> Model:
    """The model of a config, with weights that are still to be filled in."""
    try:
        config = from_mapping(ModelConfig, data["model"], where="model")
        return Model(config).to(TORCH_DTYPES[data["dtype"]])
    except InputError as error:
        raise FormatError(str(error), path=path) from None
    except (RuntimeError, MemoryError) as error:
        # torch has no class of its own for memory that is not to be had.
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FormatError(f"describes a model that cannot be built here: {what}", path=path) from None


def _read_json(path: Path) -> Any:
    content = read_bytes(path, MAX_CONFIG_BYTES)
    try:
        data: Any = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"is not JSON: {error}", path=path) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FormatError(f"is not the config of a model: its format is not {FORMAT!r}", path=path)
    if data.get("version") != VERSION:
        raise FormatError(f"has version {data.get('version')!r}; this nerode reads {VERSION}", path=path)
    if data.get("dtype") not in tuple(TORCH_DTYPES) or not isinstance(data.get("weights"), str):
        raise FormatError("does not name the type and the hash of the weights", path=path)
    return {"model": {}, **data}


def _hash(settings: Any) -> str:
    """The SHA-256 of settings, however their JSON is laid out."""
    text = json.dumps(settings, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
