"""The scan of PD-SSM, fast on the CPU, with its plain loop as the reference.

h_t = P_t (D_t ∘ h_{t-1}) + b_t, where P_t has a 1 at the largest entry of each column of a mixture.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Complex, Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import one_hot

from nerode.models.kernels.arguments import require_like, require_sequence
from nerode.models.native.calls import apply, call, dense, runs_natively


def choose_rows(
    shares: Float[Tensor, "... choices"],
    matrices: Float[Tensor, "choices n n"],
    *,
    straight_through: bool = True,
) -> Float[Tensor, "... n n"]:
    """Returns P: in each column of Σ_k shares_k matrices_k a 1 at the largest entry, 0 elsewhere.

    Args:
        shares: of the matrices.
        matrices: what is mixed.
        straight_through: whether P has the gradient of the softmax of each column; otherwise it has none.
    """
    mixed = torch.einsum("...k,kij->...ij", shares, matrices)
    hard = one_hot(mixed.argmax(dim=-2), mixed.shape[-1]).transpose(-1, -2).to(mixed.dtype)
    if not straight_through:
        return hard
    soft = mixed.softmax(dim=-2)
    # The difference is zero bit for bit, so that P stays exact.
    return hard + (soft - soft.detach())


def choice_scan(
    shares: Float[Tensor, "batch time choices"],
    matrices: Float[Tensor, "choices n n"],
    diagonal: Complex[Tensor, "batch time n"],
    writes: Complex[Tensor, "batch time n"] | None,
    initial: Complex[Tensor, "batch n"],
    *,
    straight_through: bool = True,
) -> Complex[Tensor, "batch time n"]:
    """Returns all states h_t = P_t (D_t ∘ h_{t-1}) + b_t.

    A column with an entry that is not a number makes the whole state one that is not a number.

    Args:
        shares: of the matrices from which P is chosen, by `choose_rows`.
        matrices: what is mixed.
        diagonal: D.
        writes: b; zero when not given.
        initial: h_0.
        straight_through: whether the choice has the gradient of a softmax, or none.

    Raises:
        InputError: if shapes, types or devices do not agree, or an axis is empty.

    Implements: [Terzic2025PdSsm]
    """
    require_sequence("shares", shares, "batch time choices")
    require_sequence("initial", initial, "batch n", complex_too=True)
    batch, time, choices = shares.shape
    n = initial.shape[1]
    require_like("matrices", matrices, (choices, n, n), shares)
    require_like("initial", initial, (batch, n), diagonal)
    require_like("diagonal", diagonal, (batch, time, n), initial)
    require_like("writes", writes, (batch, time, n), initial)
    if not (runs_natively(shares, matrices) and runs_natively(diagonal, writes, initial, complex_too=True)):
        return choice_scan_reference(
            shares, matrices, diagonal, writes, initial, straight_through=straight_through
        )
    result: Tensor = apply(_ChoiceScan, shares, matrices, diagonal, writes, initial, straight_through)
    return result


class _ChoiceScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        *given, ctx.soft = arguments
        shares, matrices, diagonal, initial = (dense(given[i]) for i in (0, 1, 2, 4))
        writes = None if given[3] is None else dense(given[3])
        ctx.sizes = (*shares.shape, initial.shape[1])
        states = torch.empty_like(diagonal)
        targets = torch.empty(diagonal.shape, dtype=torch.int32)
        call("choice_forward", shares, matrices, diagonal, writes, initial, targets, states, *ctx.sizes)
        ctx.save_for_backward(shares, matrices, diagonal, initial, targets, states)
        ctx.writes = writes is not None
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dstates: Tensor) -> tuple[Tensor | None, ...]:
        shares, matrices, diagonal, initial, targets, states = ctx.saved_tensors
        ddiagonal, dwrites, dinitial = (torch.empty_like(t) for t in (diagonal, states, initial))
        soft = ctx.soft and any(ctx.needs_input_grad[:2])
        dshares, dmatrices = (torch.empty_like(t) if soft else None for t in (shares, matrices))
        call(
            "choice_backward",
            *(shares, matrices, diagonal, initial, targets, states, dense(dstates)),
            *(dshares, dmatrices, ddiagonal, dwrites, dinitial),
            *ctx.sizes,
        )
        return dshares, dmatrices, ddiagonal, dwrites if ctx.writes else None, dinitial, None


def choice_scan_reference(
    shares: Tensor,
    matrices: Tensor,
    diagonal: Tensor,
    writes: Tensor | None,
    initial: Tensor,
    *,
    straight_through: bool = True,
) -> Tensor:
    """Returns all states h_t = P_t (D_t ∘ h_{t-1}) + b_t, one after the other.

    Args:
        shares: (batch, time, choices).
        matrices: (choices, n, n).
        diagonal: D, (batch, time, n), complex.
        writes: b, (batch, time, n), complex, or None for zero.
        initial: h_0, (batch, n), complex.
        straight_through: whether the choice has the gradient of a softmax, or none.
    """
    state, states = initial, []
    for t, (share, factor) in enumerate(zip(shares.unbind(1), diagonal.unbind(1), strict=True)):
        moves = choose_rows(share, matrices, straight_through=straight_through)
        state = (moves.to(state.dtype) @ (factor * state)[..., None])[..., 0]
        state = state if writes is None else state + writes[:, t]
        states.append(state)
    return torch.stack(states, dim=1)
