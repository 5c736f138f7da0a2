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
from safetensors import SafetensorError, safe_open
from safetensors.torch import load, save

from nerode.compiler.json_form import network_from_json, network_hash, network_text
from nerode.compiler.network import Network
from nerode.core.errors import FormatError, InputError
from nerode.core.files import write_atomically
from nerode.models.compiled.model import CompiledModel
from nerode.models.compiled.numbers import Converter
from nerode.models.folder import CONFIG_FILE, DTYPES, MAX_WEIGHTS_BYTES, WEIGHTS_FILE

MAX_NETWORK_BYTES = 200_000_000
FORMAT = "nerode-compiled"
VERSION = "1"


def save_compiled(folder: Path, model: CompiledModel) -> None:
    """Writes a compiled model into a folder, the weights first.

    Raises:
        InputError: if a weight is not finite (nothing is written), or the folder cannot be written.
    """
    tensors = {name: value.detach().contiguous().cpu() for name, value in model.state_dict().items()}
    for name, value in tensors.items():
        if not _is_finite(value):
            raise InputError(f"the weight {name} is not finite; nothing was written")
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
        model = CompiledModel(network, Converter(DTYPES[notes["dtype"]]))
    except InputError as error:
        raise FormatError(str(error), path=path) from None
    _fill(model, tensors, path)
    return model


def read_network(path: Path) -> Network:
    """Returns the network of a config.json, or raises FormatError."""
    try:
        data: Any = json.loads(_read(path, MAX_NETWORK_BYTES))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"is not JSON: {error}", path=path) from None
    try:
        return network_from_json(data)
    except InputError as error:
        raise FormatError(str(error), path=path) from None


def _read_weights(path: Path) -> tuple[dict[str, str], dict[str, torch.Tensor]]:
    content = _read(path, MAX_WEIGHTS_BYTES)
    try:
        with safe_open(path, framework="pt") as file:
            notes: dict[str, str] = file.metadata() or {}
        tensors = load(content)
    except SafetensorError as error:
        raise FormatError(f"is not a safetensors file: {error}", path=path) from None
    if notes.get("format") != FORMAT or notes.get("dtype") not in DTYPES:
        raise FormatError(
            "does not hold the weights of a compiled network", path=path, hint="`save_compiled` writes them"
        )
    if notes.get("version") != VERSION:
        raise FormatError(f"has version {notes.get('version')!r}; this nerode reads {VERSION!r}", path=path)
    return notes, tensors


def _fill(model: CompiledModel, tensors: dict[str, torch.Tensor], path: Path) -> None:
    wanted = model.state_dict()
    if tensors.keys() != wanted.keys():
        odd = sorted(tensors.keys() ^ wanted.keys())[0]
        where = "is not in the network" if odd in tensors else "is missing"
        raise FormatError(f"the weight {odd} {where}", path=path)
    for name, value in wanted.items():
        given = tensors[name]
        if given.shape != value.shape or given.dtype != value.dtype:
            raise FormatError(f"the weight {name} does not have the shape and type of the network", path=path)
        if not _is_finite(given):
            raise FormatError(f"the weight {name} is not finite", path=path)
        if not given.is_floating_point() and not torch.equal(given, value):
            raise FormatError(f"the table {name} is not that of the network", path=path)
    model.load_state_dict(tensors)


def _hash(tensors: dict[str, torch.Tensor]) -> str:
    """The SHA-256 of names, shapes, types and bytes, in the order of the names."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        value = tensors[name].contiguous()
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        digest.update(value.flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _is_finite(tensor: torch.Tensor) -> bool:
    return not tensor.is_floating_point() or bool(torch.isfinite(tensor).all())


def _read(path: Path, most: int) -> bytes:
    try:
        if path.stat().st_size > most:
            raise FormatError(f"is larger than {most:,} bytes", path=path)
        return path.read_bytes()
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", path=path) from None
