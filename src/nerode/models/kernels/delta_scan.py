"""The delta rule on a matrix state: DeltaNet, its gated form and DeltaProduct."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from nerode.models.kernels.matrix_scan import steps_between_borders
from nerode.models.kernels.tensor_checks import require_like, require_sequence
from nerode.models.native.calls import apply, call, dense, runs_natively


def delta_scan(
    q: Float[Tensor, "batch time heads keys"],
    k: Float[Tensor, "batch time writes heads keys"],
    v: Float[Tensor, "batch time writes heads values"],
    beta: Float[Tensor, "batch time writes heads"],
    decay: Float[Tensor, "batch time heads"] | None = None,
    initial: Float[Tensor, "batch heads keys values"] | None = None,
) -> tuple[Float[Tensor, "batch time heads values"], Float[Tensor, "batch heads keys values"]]:
    """Returns the readings o_t = q_t S_t and the last state of the delta rule.

    Each token scales the state by its decay, then makes `writes` updates S ← (I − β k k^T) S + β k v^T, so
    that the transition of a token is a product of that many generalised Householder matrices. Keys are used
    as given: normalising them belongs to the caller.

    Args:
        q: what is read after the writes of a token.
        k: the keys, the axis `writes` in the order of the updates.
        v: the values.
        beta: the strengths; in [0, 2] for keys of length 1.
        decay: 1 when not given.
        initial: S_0; zero when not given.

    Raises:
        InputError: if shapes, types or devices do not agree, or an axis is empty.

    Implements: [YangDeltaNet2024], [YangGatedDeltaNet2025]
    """
    require_sequence("q", q, "batch time heads keys")
    require_sequence("k", k, "batch time writes heads keys")
    require_sequence("v", v, "batch time writes heads values")
    batch, time, heads, keys = q.shape
    writes, values = k.shape[2], v.shape[4]
    require_like("k", k, (batch, time, writes, heads, keys), q)
    require_like("v", v, (batch, time, writes, heads, values), q)
    require_like("beta", beta, (batch, time, writes, heads), q)
    require_like("decay", decay, (batch, time, heads), q)
    require_like("initial", initial, (batch, heads, keys, values), q)
    start = q.new_zeros(batch, heads, keys, values) if initial is None else initial
    if not runs_natively(q, k, v, beta, decay, start):
        return delta_scan_reference(q, k, v, beta, decay, start)
    result: tuple[Tensor, Tensor] = apply(_DeltaScan, q, k, v, beta, decay, start, torch.is_grad_enabled())
    return result


class _DeltaScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, Tensor]:
        *given, decay, initial, keep = arguments
        q, k, v, beta, initial = (dense(tensor) for tensor in (*given, initial))
        decay = None if decay is None else dense(decay)
        readings, final = q.new_empty(*q.shape[:3], v.shape[4]), torch.empty_like(initial)
        batch, time, heads, keys = q.shape
        writes, values = k.shape[2], v.shape[4]
        chunk = steps_between_borders(time, writes * keys * values * q.itemsize)
        borders = q.new_empty(batch, heads, -(-time // chunk), keys, values) if keep else None
        ctx.sizes = (batch, time, writes, heads, keys, values, chunk)
        call("delta_forward", q, k, v, beta, decay, initial, readings, final, borders, *ctx.sizes)
        ctx.save_for_backward(q, k, v, beta, decay, borders)
        return readings, final

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dreadings: Tensor, dfinal: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, beta, decay, borders = ctx.saved_tensors
        gradients = [
            None if tensor is None else torch.empty_like(tensor) for tensor in (q, k, v, beta, decay)
        ]
        # A copy always: the kernel turns it into the gradient of the initial state.
        dinitial = dense(dfinal).clone()
        call(
            "delta_backward",
            *(q, k, v, beta, decay, borders, dense(dreadings)),
            *(*gradients, dinitial),
            *ctx.sizes,
        )
        return (*gradients, dinitial, None)


def delta_scan_reference(
    q: Tensor, k: Tensor, v: Tensor, beta: Tensor, decay: Tensor | None, initial: Tensor
) -> tuple[Tensor, Tensor]:
    """Returns the readings o_t = q_t S_t and the last state of the delta rule.

    Each token scales the state by its decay, then makes n writes S ← (I − β k k^T) S + β k v^T.

    Args:
        q: (batch, time, heads, keys).
        k: (batch, time, n, heads, keys).
        v: (batch, time, n, heads, values).
        beta: (batch, time, n, heads).
        decay: (batch, time, heads), or None for 1.
        initial: (batch, heads, keys, values).
    """
    decays = [None] * q.shape[1] if decay is None else decay[..., None, None].unbind(dim=1)
    state = initial
    readings = []
    for q_t, k_t, v_t, beta_t, decay_t in zip(
        *(x.unbind(dim=1) for x in (q, k, v, beta)), decays, strict=True
    ):
        state = state if decay_t is None else decay_t * state
        for key, value, strength in zip(*(x.unbind(dim=1) for x in (k_t, v_t, beta_t)), strict=True):
            found = (key[..., None] * state).sum(dim=-2)
            correction = strength[..., None] * (value - found)
            state = state + key[..., None] * correction[:, :, None, :]
        readings.append((q_t[..., None] * state).sum(dim=-2))
    return torch.stack(readings, dim=1), state
