"""A model on disk: config.json and model.safetensors. Nothing is ever unpickled."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

from nerode.core.config import from_mapping, to_mapping
from nerode.core.errors import FormatError, InputError
from nerode.core.files import write_atomically
from nerode.models.model import Model, ModelConfig
from nerode.models.weights_file import (
    DTYPES,
    MAX_WEIGHTS_BYTES,
    WEIGHTS_FILE,
    fill_weights,
    read_bytes,
    read_tensors,
    weights_of,
)

CONFIG_FILE = "config.json"
FORMAT = "nerode-model"
VERSION = 1

MAX_CONFIG_BYTES = 10_000_000


def save_model(folder: Path, model: Model) -> None:
    """Writes a model into a folder; an older model there is replaced, its weights first.

    Raises:
        InputError: if a weight is not finite, or the folder cannot be written.
    """
    weights = save(weights_of(model))
    config = {
        "format": FORMAT,
        "version": VERSION,
        "dtype": str(next(model.parameters()).dtype).removeprefix("torch."),
        "weights": hashlib.sha256(weights).hexdigest(),
        "model": to_mapping(model.config.complete()),
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
    path = folder / CONFIG_FILE
    config, saved_in, digest = _read_config(path)
    weights = read_bytes(folder / WEIGHTS_FILE, MAX_WEIGHTS_BYTES)
    if hashlib.sha256(weights).hexdigest() != digest:
        raise FormatError(f"is not the file that {path} was written with", path=folder / WEIGHTS_FILE)
    model = Model(config).to(saved_in)
    fill_weights(model, read_tensors(weights, folder / WEIGHTS_FILE), folder / WEIGHTS_FILE)
    return model if dtype is None else model.to(dtype)


def _read_config(path: Path) -> tuple[ModelConfig, torch.dtype, str]:
    try:
        data: Any = json.loads(read_bytes(path, MAX_CONFIG_BYTES))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"is not JSON: {error}", path=path) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FormatError(f"is not the config of a model: its format is not {FORMAT!r}", path=path)
    if data.get("version") != VERSION:
        raise FormatError(f"has version {data.get('version')!r}; this nerode reads {VERSION}", path=path)
    if data.get("dtype") not in DTYPES or not isinstance(data.get("weights"), str):
        raise FormatError("does not name the type and the hash of the weights", path=path)
    try:
        config = from_mapping(ModelConfig, data.get("model", {}), where="model")
    except InputError as error:
        raise FormatError(str(error), path=path) from None
    return config, DTYPES[data["dtype"]], data["weights"]
