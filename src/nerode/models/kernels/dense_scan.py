"""Recurrences with dense matrices on a small state: IDS4, orthogonal blocks, PD-SSM."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Complex, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from nerode.core import InputError
from nerode.models.kernels.tensor_checks import require_like, require_sequence
from nerode.models.native.calls import apply, call, dense, runs_natively


def dense_scan(
    matrices: Float[Tensor, "batch time blocks n n"] | Complex[Tensor, "batch time blocks n n"],
    writes: Float[Tensor, "batch time blocks n m"] | Complex[Tensor, "batch time blocks n m"] | None,
    initial: Float[Tensor, "batch blocks n m"] | Complex[Tensor, "batch blocks n m"],
) -> Float[Tensor, "batch time blocks n m"] | Complex[Tensor, "batch time blocks n m"]:
    """Returns all states H_t of the blocks, H_t = A_t H_{t-1} + B_t.

    Args:
        matrices: A, real or complex.
        writes: B; zero when not given.
        initial: H_0.

    Raises:
        InputError: if shapes, types or devices do not agree, or an axis is empty.

    Implements: [Merrill2024]
    """
    require_sequence("matrices", matrices, "batch time blocks n n", complex_too=True)
    batch, time, blocks, n, columns = matrices.shape
    if n != columns:
        raise InputError(f"`matrices` has the shape {tuple(matrices.shape)}; the last two axes must be equal")
    require_sequence("initial", initial, "batch blocks n m", complex_too=True)
    m = initial.shape[-1]
    require_like("initial", initial, (batch, blocks, n, m), matrices)
    require_like("writes", writes, (batch, time, blocks, n, m), matrices)
    if not runs_natively(matrices, writes, initial, complex_too=True):
        return dense_scan_reference(matrices, writes, initial)
    result: Tensor = apply(_DenseScan, matrices, writes, initial)
    return result


class _DenseScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        given_matrices, given_writes, given_initial = arguments
        matrices, initial = dense(given_matrices), dense(given_initial)
        writes = None if given_writes is None else dense(given_writes)
        ctx.sizes = (*matrices.shape[:4], initial.shape[-1])
        states = matrices.new_empty(ctx.sizes)
        call("dense_forward", matrices, writes, initial, states, *ctx.sizes)
        ctx.save_for_backward(matrices, initial, states)
        ctx.writes = writes is not None
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dstates: Tensor) -> tuple[Tensor | None, ...]:
        matrices, initial, states = ctx.saved_tensors
        dmatrices, dinitial = torch.empty_like(matrices), torch.empty_like(initial)
        dwrites = torch.empty_like(states) if ctx.writes else None
        call(
            "dense_backward",
            *(matrices, initial, states, dense(dstates)),
            *(dmatrices, dwrites, dinitial),
            *ctx.sizes,
        )
        return dmatrices, dwrites, dinitial


def dense_scan_reference(matrices: Tensor, writes: Tensor | None, initial: Tensor) -> Tensor:
    """Returns all H_t of H_t = A_t H_{t-1} + B_t.

    Args:
        matrices: A, (batch, time, blocks, n, n).
        writes: B, (batch, time, blocks, n, m), or None for zero.
        initial: H_0, (batch, blocks, n, m).
    """
    state, states = initial, []
    for t, matrix in enumerate(matrices.unbind(dim=1)):
        state = matrix @ state
        state = state if writes is None else state + writes[:, t]
        states.append(state)
    return torch.stack(states, dim=1)
