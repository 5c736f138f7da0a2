"""Recurrences with a matrix state: decay by a number or a vector (RetNet, Mamba-2, mLSTM, GLA, HGRN2)."""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from nerode.core import InputError
from nerode.models.kernels.tensor_checks import require_like, require_sequence
from nerode.models.native.calls import apply, call, dense, runs_natively


def decay_scan(
    q: Float[Tensor, "batch time heads keys"],
    k: Float[Tensor, "batch time heads keys"],
    v: Float[Tensor, "batch time heads values"],
    decay: Float[Tensor, "batch time heads ..."],
    initial: Float[Tensor, "batch heads keys values"] | None = None,
) -> tuple[Float[Tensor, "batch time heads values"], Float[Tensor, "batch heads keys values"]]:
    """Returns the readings o_t = q_t S_t and the last state, where S_t = decay_t ∘ S_{t-1} + k_t^T v_t.

    Large states are worked on in chunks, so a sequence in parts gives what the whole gives up to rounding;
    where all numbers are integers that the format holds, and decays 0, 1 or -1, bit for bit.

    Args:
        q: what is read.
        k: where it is written.
        v: what is written.
        decay: one number a head, (batch, time, heads), or one for each row of S, (batch, time, heads, keys).
        initial: S_0; zero when not given.

    Raises:
        InputError: if shapes, types or devices do not agree, or an axis is empty.

    Implements: [SunRetNet2023], [Yang2024Gla]
    """
    require_sequence("q", q, "batch time heads keys")
    require_sequence("v", v, "batch time heads values")
    batch, time, heads, keys = q.shape
    require_like("k", k, q.shape, q)
    require_like("v", v, (batch, time, heads, v.shape[3]), q)
    if decay.ndim not in (3, 4):
        raise InputError(
            f"`decay` has the shape {tuple(decay.shape)}; give {tuple(q.shape[:3])} or {tuple(q.shape)}"
        )
    require_like("decay", decay, q.shape[: decay.ndim], q)
    require_like("initial", initial, (batch, heads, keys, v.shape[3]), q)
    start = q.new_zeros(batch, heads, keys, v.shape[3]) if initial is None else initial
    if not runs_natively(q, k, v, decay, start):
        return decay_scan_reference(q, k, v, decay, start)
    result: tuple[Tensor, Tensor] = apply(_DecayScan, q, k, v, decay, start, torch.is_grad_enabled())
    return result


def steps_between_borders(time: int, state_bytes: int) -> int:
    """How many states the backward pass recomputes at once: few enough for the second cache.

    Large states would then keep a border at nearly every step; a share of √T bounds that memory.
    """
    return max(1, min(64, (3 << 16) // state_bytes), math.isqrt(time) // 2)


def choose_kernel(time: int, keys: int, values: int, *, vector: bool, itemsize: int) -> tuple[str, int]:
    """Returns the kernel, and the steps between the states that it keeps for its backward pass; measured.

    In chunks a step costs fewer loads and stores of the state, but more arithmetic: it pays for large states.
    """
    large = min(keys, values) >= 16 and keys * values >= (4096 if vector else 1024)
    if time >= 16 and large:
        return ("vector_chunks", min(time, 16)) if vector else ("scalar_chunks", min(time, 32))
    return "vector_decay" if vector else "scalar_decay", steps_between_borders(time, keys * values * itemsize)


class _DecayScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, Tensor]:
        *given, keep = arguments
        q, k, v, decay, initial = (dense(tensor) for tensor in given)
        readings, final = torch.empty_like(v), torch.empty_like(initial)
        batch, time, heads, keys = q.shape
        ctx.kernel, chunk = choose_kernel(time, keys, v.shape[3], vector=decay.ndim == 4, itemsize=q.itemsize)
        borders = q.new_empty(batch, heads, -(-time // chunk), *final.shape[2:]) if keep else None
        ctx.sizes = (*q.shape, v.shape[3], chunk)
        call(f"{ctx.kernel}_forward", q, k, v, decay, initial, readings, final, borders, *ctx.sizes)
        ctx.save_for_backward(q, k, v, decay, borders)
        return readings, final

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dreadings: Tensor, dfinal: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, decay, borders = ctx.saved_tensors
        gradients = [torch.empty_like(tensor) for tensor in (q, k, v, decay)]
        # A copy always: the kernel turns it into the gradient of the initial state.
        dinitial = dense(dfinal).clone()
        call(
            f"{ctx.kernel}_backward",
            *(q, k, v, decay, borders, dense(dreadings)),
            *(*gradients, dinitial),
            *ctx.sizes,
        )
        return (*gradients, dinitial, None)


def decay_scan_reference(
    q: Tensor, k: Tensor, v: Tensor, decay: Tensor, initial: Tensor
) -> tuple[Tensor, Tensor]:
    """Returns the readings o_t = q_t S_t and the last state, where S_t = decay_t ∘ S_{t-1} + k_t^T v_t.

    Args:
        q: (batch, time, heads, keys).
        k: (batch, time, heads, keys).
        v: (batch, time, heads, values).
        decay: (batch, time, heads) for one number a head, (batch, time, heads, keys) for one a row of S.
        initial: (batch, heads, keys, values).
    """
    rows = decay[..., None, None] if decay.ndim == 3 else decay[..., None]
    state = initial
    readings = []
    for q_t, k_t, v_t, row in zip(*(x.unbind(dim=1) for x in (q, k, v, rows)), strict=True):
        state = row * state + k_t[..., None] * v_t[:, :, None, :]
        readings.append((q_t[..., None] * state).sum(dim=-2))
    return torch.stack(readings, dim=1), state
