"""A compiled model on disk: the network in config.json, its weights in model.safetensors.

The network is what a certificate speaks about; the weights are what it became in one type of floats. The
weights name the network that they were made from and carry their own hash. Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

from nerode.core import FormatError, InputError, write_atomically
from nerode.models.compiled.model import CompiledModel
from nerode.models.compiled.numbers import Converter
from nerode.models.folder import (
    CONFIG_FILE,
    MAX_WEIGHTS_BYTES,
    TORCH_DTYPES,
    WEIGHTS_FILE,
    fill_weights,
    read_bytes,
    read_notes,
    read_tensors,
    weights_of,
)
from nerode.network import Network, network_from_json, network_hash, network_text

MAX_NETWORK_BYTES = 200_000_000
FORMAT = "nerode-compiled"
VERSION = "1"


def save_compiled(folder: Path, model: CompiledModel) -> None:
    """Writes a compiled model into a folder, the weights first.

    Raises:
        InputError: if a weight is not finite (nothing is written), or the folder cannot be written.
    """
    tensors = weights_of(model)
    notes = {
        "format": FORMAT,
        "version": VERSION,
        "dtype": str(model.dtype).removeprefix("torch."),
        "network": network_hash(model.network),
        "weights": _hash(tensors),
    }
    write_atomically(folder / WEIGHTS_FILE, save(tensors, metadata=notes))
    write_atomically(folder / CONFIG_FILE, network_text(model.network) + "\n")


def load_compiled(folder: Path) -> CompiledModel:
    """Returns the compiled model of a folder, in the type that it was saved in.

    Raises:
        FormatError: if a file is missing, was altered, or does not belong to the other.
    """
    network = read_network(folder / CONFIG_FILE)
    path = folder / WEIGHTS_FILE
    notes, tensors = _read_weights(path)
    if notes.get("network") != network_hash(network):
        raise FormatError(f"was made from another network than {folder / CONFIG_FILE}", path=path)
    if notes.get("weights") != _hash(tensors):
        raise FormatError("was altered: its weights do not have the hash that it names", path=path)
    try:
        model = CompiledModel(network, Converter(TORCH_DTYPES[notes["dtype"]]))
    except InputError as error:
        raise FormatError(str(error), path=path) from None
    _check_tables(model, tensors, path)
    fill_weights(model, tensors, path)
    return model


def read_network(path: Path) -> Network:
    """Returns the network of a config.json, or raises FormatError."""
    content = read_bytes(path, MAX_NETWORK_BYTES)
    try:
        data: Any = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"is not JSON: {error}", path=path) from None
    try:
        return network_from_json(data)
    except InputError as error:
        raise FormatError(str(error), path=path) from None


def _read_weights(path: Path) -> tuple[dict[str, str], dict[str, torch.Tensor]]:
    content = read_bytes(path, MAX_WEIGHTS_BYTES)
    tensors, notes = read_tensors(content, path), read_notes(content)
    if notes.get("format") != FORMAT or notes.get("dtype") not in TORCH_DTYPES:
        raise FormatError(
            "does not hold the weights of a compiled network", path=path, hint="`save_compiled` writes them"
        )
    if notes.get("version") != VERSION:
        raise FormatError(f"has version {notes.get('version')!r}; this nerode reads {VERSION!r}", path=path)
    return notes, tensors


def _check_tables(model: CompiledModel, tensors: dict[str, torch.Tensor], path: Path) -> None:
    """Raises FormatError unless the tables of whole numbers are those that the network gives."""
    for name, value in model.state_dict().items():
        if not value.is_floating_point() and not torch.equal(tensors.get(name, value), value):
            raise FormatError(f"the table {name} is not that of the network", path=path)


def _hash(tensors: dict[str, torch.Tensor]) -> str:
    """The SHA-256 of names, shapes, types and bytes, in the order of the names."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        value = tensors[name].contiguous()
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        digest.update(value.flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
