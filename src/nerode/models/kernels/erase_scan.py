"""A matrix state with a decay for each row and a key of its own for what is taken away: RWKV-7."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from nerode.models.kernels.matrix_scan import steps_between_borders
from nerode.models.kernels.tensor_checks import require_like, require_sequence
from nerode.models.native.calls import apply, call, dense, runs_natively


def erase_scan(
    q: Float[Tensor, "batch time heads keys"],
    k: Float[Tensor, "batch time heads keys"],
    v: Float[Tensor, "batch time heads values"],
    decay: Float[Tensor, "batch time heads keys"],
    lookup: Float[Tensor, "batch time heads keys"],
    erase: Float[Tensor, "batch time heads keys"],
    initial: Float[Tensor, "batch heads keys values"] | None = None,
) -> tuple[Float[Tensor, "batch time heads values"], Float[Tensor, "batch heads keys values"]]:
    """Returns the readings o_t = q_t S_t and the last state, S_t = decay ∘ S − erase (lookup^T S) + k v^T.

    What `lookup` finds in the state before the token is taken away along `erase`. With a decay of 1,
    lookup = k and erase = β k, this is the delta rule with the value β v.

    Args:
        q: what is read.
        k: where it is written.
        v: what is written.
        decay: one number for each row of S.
        lookup: what is looked up in the state.
        erase: where, and how much of it, is taken away.
        initial: S_0; zero when not given.

    Raises:
        InputError: if shapes, types or devices do not agree, or an axis is empty.

    Implements: [Peng2025Rwkv7]
    """
    require_sequence("q", q, "batch time heads keys")
    require_sequence("v", v, "batch time heads values")
    batch, time, heads, keys = q.shape
    for name, tensor in (("k", k), ("decay", decay), ("lookup", lookup), ("erase", erase)):
        require_like(name, tensor, q.shape, q)
    require_like("v", v, (batch, time, heads, v.shape[3]), q)
    require_like("initial", initial, (batch, heads, keys, v.shape[3]), q)
    start = q.new_zeros(batch, heads, keys, v.shape[3]) if initial is None else initial
    tensors = (q, k, v, decay, lookup, erase, start)
    if not runs_natively(*tensors):
        return erase_scan_reference(*tensors)
    result: tuple[Tensor, Tensor] = apply(_EraseScan, *tensors, torch.is_grad_enabled())
    return result


class _EraseScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, Tensor]:
        *given, keep = arguments
        *sequences, initial = (dense(tensor) for tensor in given)
        q, v = sequences[0], sequences[2]
        readings, final = torch.empty_like(v), torch.empty_like(initial)
        batch, time, heads, keys = q.shape
        chunk = steps_between_borders(time, keys * v.shape[3] * q.itemsize)
        borders = q.new_empty(batch, heads, -(-time // chunk), *final.shape[2:]) if keep else None
        ctx.sizes = (*q.shape, v.shape[3], chunk)
        call("erase_forward", *sequences, initial, readings, final, borders, *ctx.sizes)
        ctx.save_for_backward(*sequences, borders)
        return readings, final

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dreadings: Tensor, dfinal: Tensor) -> tuple[Tensor | None, ...]:
        *sequences, borders = ctx.saved_tensors
        gradients = [torch.empty_like(tensor) for tensor in sequences]
        # A copy always: the kernel turns it into the gradient of the initial state.
        dinitial = dense(dfinal).clone()
        call(
            "erase_backward",
            *(*sequences, borders, dense(dreadings)),
            *(*gradients, dinitial),
            *ctx.sizes,
        )
        return (*gradients, dinitial, None)


def erase_scan_reference(
    q: Tensor, k: Tensor, v: Tensor, decay: Tensor, lookup: Tensor, erase: Tensor, initial: Tensor
) -> tuple[Tensor, Tensor]:
    """Returns the readings o_t = q_t S_t and the last state, S_t = decay ∘ S − erase (lookup^T S) + k v^T.

    Args:
        q: (batch, time, heads, keys).
        k: (batch, time, heads, keys).
        v: (batch, time, heads, values).
        decay: (batch, time, heads, keys).
        lookup: (batch, time, heads, keys).
        erase: (batch, time, heads, keys).
        initial: (batch, heads, keys, values).
    """
    columns = [x[..., None].unbind(dim=1) for x in (q, k, decay, lookup, erase)]
    state = initial
    readings = []
    for q_t, k_t, decay_t, lookup_t, erase_t, v_t in zip(*columns, v.unbind(dim=1), strict=True):
        found = (lookup_t * state).sum(dim=-2, keepdim=True)
        state = decay_t * state - erase_t * found + k_t * v_t[:, :, None, :]
        readings.append((q_t * state).sum(dim=-2))
    return torch.stack(readings, dim=1), state
