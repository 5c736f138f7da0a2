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

from nerode.core import (
    DTYPES,
    FormatError,
    InputError,
    from_mapping,
    read_bytes,
    to_mapping,
    whole_folder,
    write_atomically,
)
from nerode.models.config import ModelConfig
from nerode.models.kernels.arguments import dtype_name
from nerode.models.model import Model
from nerode.records import ModelClaim, claims_from_json, claims_to_json, unexamined

WEIGHTS_FILE = "model.safetensors"
MAX_WEIGHTS_BYTES = 20_000_000_000

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


def is_finite(tensor: Tensor) -> bool:
    """Whether a tensor holds whole numbers, or finite ones."""
    numbers = tensor.is_floating_point() or tensor.is_complex()
    return not numbers or bool(torch.isfinite(tensor).all())


def _show(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}"


CONFIG_FILE = "config.json"
MODEL_FORMAT = "nerode-model"
VERSION = 1

CONFIG_NOTE = "config"
"""Under this name the weights note the hash of the settings that they belong to."""

CLAIMS_NOTE = "claims"
"""Under this name the weights note what was known of the model when it was written."""

MAX_CONFIG_BYTES = 10_000_000


def _with_ordered_notes(content: bytes) -> bytes:
    """The same safetensors file with its notes in order; the library writes them in any, so hashes differ."""
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + content[8 + size :]


def save_model(folder: Path | str, model: Model) -> None:
    """Writes a model into a folder; an older model there is replaced, its weights first.

    Raises:
        InputError: if a weight is not finite, or the folder cannot be written.
    """
    folder = Path(folder)
    settings = to_mapping(model.config.complete())
    notes = {CONFIG_NOTE: _hash(settings)}
    if model.claims:
        notes[CLAIMS_NOTE] = json.dumps(claims_to_json(model.claims), ensure_ascii=False)
    weights = _with_ordered_notes(save(weights_of(model), metadata=notes))
    config = {
        "format": MODEL_FORMAT,
        "version": VERSION,
        "dtype": dtype_of(model),
        "weights": hashlib.sha256(weights).hexdigest(),
        "model": settings,
    }
    text = json.dumps(config, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    # The config holds the hash of the weights, so a folder that was written by halves is refused.
    with whole_folder(folder) as place:
        write_atomically(place / WEIGHTS_FILE, weights)
        write_atomically(place / CONFIG_FILE, text)


def read_model(folder: Path | str, *, dtype: torch.dtype | None = None) -> Model:
    """Returns the model of a folder.

    Args:
        folder: where `save_model` wrote it.
        dtype: the type to convert the weights to; the one that they were saved in when not given.

    Raises:
        FormatError: if a file is missing, was altered, or does not fit the other.
    """
    path, weights_path = Path(folder) / CONFIG_FILE, Path(folder) / WEIGHTS_FILE
    data = _read_json(path)
    weights = read_bytes(weights_path, max_bytes=MAX_WEIGHTS_BYTES)
    if hashlib.sha256(weights).hexdigest() != data["weights"]:
        raise FormatError(f"is not the file that {path} was written with", path=weights_path)
    tensors = read_tensors(weights, weights_path)
    model = _build(data, path)
    fill_weights(model, tensors, weights_path)
    # Last, because what does not fit is told more exactly above. Older folders do not have the note.
    notes = read_notes(weights)
    if notes.get(CONFIG_NOTE, _hash(data["model"])) != _hash(data["model"]):
        raise FormatError(f"was altered after {weights_path} was written with it", path=path)
    model.claims = stated_claims(notes, weights_path, dtype=data["dtype"])
    return model if dtype is None else model.to(dtype)


def stated_claims(notes: dict[str, str], path: Path, *, dtype: str) -> tuple[ModelClaim, ...]:
    """Returns what is known of weights that were read: nothing, but for what their file states.

    Raises:
        FormatError: if the file states something that is no claim.
    """
    if CLAIMS_NOTE not in notes:
        return (unexamined(f"{path.name} says nothing about what its model does.", dtype=dtype),)
    try:
        found = claims_from_json(json.loads(notes[CLAIMS_NOTE]), path=str(path))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"has claims that are not JSON: {error}", path=path) from None
    stated = "; ".join(str(claim) for claim in found)
    return (unexamined(f"{path.name} states, which was not checked again: {stated}.", dtype=dtype),)


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
    content = read_bytes(path, max_bytes=MAX_CONFIG_BYTES)
    try:
        data: Any = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"is not JSON: {error}", path=path) from None
    if not isinstance(data, dict) or data.get("format") != MODEL_FORMAT:
        raise FormatError(f"is not the config of a model: its format is not {MODEL_FORMAT!r}", path=path)
    if data.get("version") != VERSION:
        raise FormatError(f"has version {data.get('version')!r}; this nerode reads {VERSION}", path=path)
    if data.get("dtype") not in tuple(TORCH_DTYPES) or not isinstance(data.get("weights"), str):
        raise FormatError("does not name the type and the hash of the weights", path=path)
    return {"model": {}, **data}


def _hash(settings: Any) -> str:
    """The SHA-256 of settings, however their JSON is laid out."""
    text = json.dumps(settings, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
