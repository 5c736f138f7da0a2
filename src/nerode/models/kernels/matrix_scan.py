"""Scans over matrix states, fast on the CPU, each with its plain loop as the reference.

Where no native kernel runs, decays and the delta rule go in chunks for gradients and on GPUs.

decay_scan: decay by a number or a vector, for RetNet, Mamba-2, mLSTM, GLA and HGRN2.
delta_scan: the delta rule, for DeltaNet, its gated form and DeltaProduct.
erase_scan: a decay for each row and a key of its own for what is taken away, for RWKV-7.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from nerode.core import InputError
from nerode.models.kernels.arguments import dense_or_none, require_like, require_sequence
from nerode.models.kernels.plain_scans import (
    decay_in_chunks,
    decay_scan_reference,
    delta_in_chunks,
    delta_scan_reference,
    pays,
)
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
        decay: one number per head, (batch, time, heads), or one per row of S, (batch, time, heads, keys).
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
        plain = decay_in_chunks if pays(q, k, v, decay, start) else decay_scan_reference
        return plain(q, k, v, decay, start)
    kernel, chunk = choose_kernel(time, keys, v.shape[3], vector=decay.ndim == 4, itemsize=q.itemsize)
    return _scan(kernel, (q, k, v, decay), start, (*q.shape, v.shape[3], chunk))


def steps_between_borders(time: int, state_bytes: int) -> int:
    """The number of states that the backward pass recomputes at once, few enough for the second cache.

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
        plain = delta_in_chunks if pays(q, k, v, beta, decay, start) else delta_scan_reference
        return plain(q, k, v, beta, decay, start)
    chunk = steps_between_borders(time, writes * keys * values * q.itemsize)
    return _scan("delta", (q, k, v, beta, decay), start, (batch, time, writes, heads, keys, values, chunk))


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
    sequences = (q, k, v, decay, lookup, erase)
    if not runs_natively(*sequences, start):
        return erase_scan_reference(*sequences, start)
    chunk = steps_between_borders(time, keys * v.shape[3] * q.itemsize)
    return _scan("erase", sequences, start, (*q.shape, v.shape[3], chunk))


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


def _scan(
    kernel: str, sequences: tuple[Tensor | None, ...], start: Tensor, sizes: tuple[int, ...]
) -> tuple[Tensor, Tensor]:
    """The readings and the last state by a native kernel.

    Args:
        kernel: the beginning of its name.
        sequences: q, k, v and what else it takes at each position; None for what is not given.
        start: S_0.
        sizes: of the axes, and last the steps between the states that are kept for the backward pass.
    """
    result: tuple[Tensor, Tensor] = apply(
        _MatrixScan, *sequences, start, kernel, sizes, torch.is_grad_enabled()
    )
    return result


class _MatrixScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, Tensor]:
        *given, start, ctx.kernel, ctx.sizes, keep = arguments
        q, _, v, *_ = given
        sequences, initial = [dense_or_none(tensor) for tensor in given], dense(start)
        readings, final = q.new_empty(*q.shape[:3], v.shape[-1]), torch.empty_like(initial)
        batch, heads, *shape = initial.shape
        chunks = -(-q.shape[1] // ctx.sizes[-1])
        borders = q.new_empty(batch, heads, chunks, *shape) if keep else None
        call(f"{ctx.kernel}_forward", *sequences, initial, readings, final, borders, *ctx.sizes)
        ctx.save_for_backward(*sequences, borders)
        return readings, final

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dreadings: Tensor, dfinal: Tensor) -> tuple[Tensor | None, ...]:
        *sequences, borders = ctx.saved_tensors
        gradients = [None if tensor is None else torch.empty_like(tensor) for tensor in sequences]
        # A copy always: the kernel turns it into the gradient of the initial state.
        dinitial = dense(dfinal).clone()
        call(
            f"{ctx.kernel}_backward",
            *(*sequences, borders, dense(dreadings)),
            *(*gradients, dinitial),
            *ctx.sizes,
        )
        return (*gradients, dinitial, None, None, None)
