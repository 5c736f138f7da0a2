"""Weights on disk: what every folder of a model checks before it writes or believes them."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor, nn

from nerode.core import FormatError, InputError

WEIGHTS_FILE = "model.safetensors"
MAX_WEIGHTS_BYTES = 20_000_000_000

DTYPES = {
    "float64": torch.float64,
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


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
