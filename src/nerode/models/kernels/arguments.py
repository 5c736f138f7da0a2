"""The arguments of kernels: checks of their shapes and types, and what kernels share.

The native library could run several networks at once, each with weights of its own; here it always runs one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from nerode.core import InputError
from nerode.models.native.calls import apply, call, dense, runs_natively


def keep_tensors(ctx: Any, saved: Tensor, *tensors: Tensor) -> None:
    """Keeps what the backward pass needs; `saved` is an output without a gradient."""
    # Otherwise zeros are made for the gradient of the saved numbers, which nobody uses.
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(saved)
    ctx.save_for_backward(*tensors)


def run_cell(
    native: type[torch.autograd.Function], plain: Callable[..., Any], tensors: Sequence[Tensor], *options: Any
) -> tuple[Tensor, ...]:
    """Returns the outputs of a cell, natively where that is possible.

    Args:
        native: the function with a kernel.
        plain: the loop, which gives the first of its outputs.
        tensors: what both take, inputs first.
        options: what the function with a kernel takes besides.
    """
    return _as_tuple(apply(native, *tensors, *options) if runs_natively(*tensors) else plain(*tensors))


def _as_tuple(result: Any) -> tuple[Tensor, ...]:
    return result if isinstance(result, tuple) else (result,)


def weight_gradients(dsums: Tensor, given: Tensor, initial: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Returns the gradients of W and b where those of the sums W v + b are `dsums`.

    Args:
        dsums: (batch, time, outputs).
        given: all v, (batch, time, inputs).
        initial: (batch, inputs), if v is what comes before each of the states in `given`.
    """
    dsums, given, initial = dense(dsums), dense(given), None if initial is None else dense(initial)
    batch, time, outputs = dsums.shape
    inputs = given.shape[-1]
    dweight, dbias = dsums.new_empty(outputs, inputs), dsums.new_empty(outputs)
    call("product_sums", dsums, given, initial, dweight, dbias, *(1, batch, time, inputs, outputs))
    return dweight, dbias


def shifted(initial: Tensor, states: Tensor) -> Tensor:
    """Returns the states before each position from those after it, (batch, time, hidden)."""
    return torch.cat([initial[:, None], states[:, :-1]], dim=1)


def empty_states(inputs: Tensor, weight: Tensor) -> Tensor:
    """Returns an uninitialised tensor for the states of a cell."""
    return inputs.new_empty(*inputs.shape[:2], weight.shape[-1])


def empty_gates(states: Tensor, count: int, *, keep: bool) -> Tensor:
    """Returns an uninitialised tensor of `count` numbers per unit; an empty one unless `keep`."""
    batch, time, hidden = states.shape
    return states.new_empty(batch, time, count * hidden) if keep else states.new_empty(0)


def or_none(tensor: Tensor) -> Tensor | None:
    """Returns the tensor, or None for a null pointer if it is empty."""
    return tensor if tensor.numel() else None


def dense_or_none(gradient: Tensor | None) -> Tensor | None:
    """Returns the gradient laid out row by row, or None for an output that was not used."""
    return None if gradient is None else dense(gradient)


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
        raise InputError(f"`{name}` has the type {dtype_name(tensor.dtype)}; give {allowed}")


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
            f"`{name}` has the type {dtype_name(tensor.dtype)}, another tensor {dtype_name(model.dtype)}; "
            "convert one of them"
        )
    if tensor.device != model.device:
        raise InputError(
            f"`{name}` is on {tensor.device}, another tensor on {model.device}; move one of them"
        )


def dtype_name(dtype: torch.dtype) -> str:
    """Returns the name of a type without the word torch."""
    return str(dtype).removeprefix("torch.")
