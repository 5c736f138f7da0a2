"""Checks of the tensors given to a scan: what was wrong, what was given, what is allowed."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from nerode.core import InputError


def require_sequence(name: str, tensor: Tensor, axes: str, *, complex_too: bool = False) -> None:
    """Raises unless a tensor is floating point and has these axes, each of size 1 or more.

    Args:
        name: what the message calls the tensor.
        tensor: what was given.
        axes: names of the axes, separated by spaces; a trailing `...` stands for one or more.
        complex_too: whether complex numbers will do.
    """
    names = axes.split()
    enough = tensor.ndim >= len(names) if names[-1] == "..." else tensor.ndim == len(names)
    if not enough:
        raise InputError(f"`{name}` has the shape {tuple(tensor.shape)}; give the axes ({', '.join(names)})")
    if 0 in tensor.shape:
        raise InputError(f"`{name}` has the shape {tuple(tensor.shape)}; every axis needs one entry or more")
    if not (tensor.is_floating_point() or (complex_too and tensor.is_complex())):
        allowed = "a floating or complex type" if complex_too else "a floating type"
        raise InputError(f"`{name}` has the type {_type(tensor.dtype)}; give {allowed}")


def require_like(name: str, tensor: Tensor | None, shape: Sequence[int], model: Tensor) -> None:
    """Raises unless a tensor, where given, has this shape and the type and device of `model`."""
    if tensor is None:
        return
    if tuple(tensor.shape) != tuple(shape):
        raise InputError(
            f"`{name}` has the shape {tuple(tensor.shape)}; the other tensors need {tuple(shape)}"
        )
    if tensor.dtype != model.dtype:
        raise InputError(
            f"`{name}` has the type {_type(tensor.dtype)}, another tensor {_type(model.dtype)}; "
            "convert one of them"
        )
    if tensor.device != model.device:
        raise InputError(
            f"`{name}` is on {tensor.device}, another tensor on {model.device}; move one of them"
        )


def _type(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
