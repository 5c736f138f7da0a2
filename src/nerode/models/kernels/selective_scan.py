"""The selective scan of Mamba, fused: no array of size time × channels × states is ever made."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from nerode.models.kernels.tensor_checks import require_like, require_sequence
from nerode.models.native.calls import apply, call, dense, runs_natively

# As in native/selective.hpp.
_CHUNK = 16
_BLOCK = 64


def selective_scan(
    x: Float[Tensor, "batch time channels"],
    delta: Float[Tensor, "batch time channels"],
    A: Float[Tensor, "channels states"],
    B: Float[Tensor, "batch time states"],
    C: Float[Tensor, "batch time states"],
    D: Float[Tensor, " channels"] | None = None,
    initial: Float[Tensor, "batch channels states"] | None = None,
    *,
    signed: bool = False,
) -> tuple[Float[Tensor, "batch time channels"], Float[Tensor, "batch channels states"]]:
    """Returns the outputs y_t = C_t h_t + D x_t and the last state, h_t = exp(Δ_t A) h_{t-1} + Δ_t B_t x_t.

    Each channel has `states` of its own; B_t and C_t are shared by the channels. Δ is used as given: the
    softplus of the published layer, and the gate after it, belong to the caller. With signed gates,
    2 exp(Δ_t A) - 1 stands for exp(Δ_t A).

    Args:
        x: the inputs.
        delta: Δ, the step sizes.
        A: the continuous-time gates.
        B: how an input enters the states.
        C: how the states are read.
        D: the direct path; none when not given.
        initial: h_0; zero when not given.
        signed: whether the gates reach from -1 to 1.

    Raises:
        InputError: if shapes, types or devices do not agree, or an axis is empty.

    Implements: [GuDao2023]
    Implements: [Grazzi2025] for signed gates
    """
    require_sequence("x", x, "batch time channels")
    require_sequence("A", A, "channels states")
    batch, time, channels = x.shape
    states = A.shape[1]
    require_like("delta", delta, x.shape, x)
    require_like("A", A, (channels, states), x)
    require_like("B", B, (batch, time, states), x)
    require_like("C", C, (batch, time, states), x)
    require_like("D", D, (channels,), x)
    require_like("initial", initial, (batch, channels, states), x)
    skip = x.new_zeros(channels) if D is None else D
    start = x.new_zeros(batch, channels, states) if initial is None else initial
    if not runs_natively(x, delta, A, B, C, skip, start):
        return selective_scan_reference(x, delta, A, B, C, skip, start, signed=signed)
    result: tuple[Tensor, Tensor] = apply(
        _SelectiveScan, x, delta, A, B, C, skip, start, signed, torch.is_grad_enabled()
    )
    return result


class _SelectiveScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, Tensor]:
        *given, signed, keep = arguments
        ctx.kernel = "signed_selective" if signed else "selective"
        x, delta, A, B, C, D, initial = (dense(tensor) for tensor in given)
        y, final = torch.empty_like(x), torch.empty_like(initial)
        batch, time, channels = x.shape
        units, chunks = batch * -(-channels // _BLOCK), -(-time // _CHUNK)
        borders = x.new_empty(units, chunks, A.shape[1], _BLOCK) if keep else None
        call(
            f"{ctx.kernel}_forward",
            *(x, delta, A, B, C, D, initial),
            *(y, final, borders),
            *(*x.shape, A.shape[1]),
        )
        ctx.save_for_backward(x, delta, A, B, C, D, borders)
        return y, final

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor, dfinal: Tensor) -> tuple[Tensor | None, ...]:
        x, delta, A, B, C, D, borders = ctx.saved_tensors
        blocks = -(-x.shape[2] // _BLOCK)
        dx, ddelta = torch.empty_like(x), torch.empty_like(delta)
        dA, dD = x.new_empty(x.shape[0], *A.shape), x.new_empty(x.shape[0], *D.shape)
        dB, dC = x.new_empty(blocks, *B.shape), x.new_empty(blocks, *C.shape)
        # A copy always: the kernel turns it into the gradient of the initial state.
        dinitial = dense(dfinal).clone()
        call(
            f"{ctx.kernel}_backward",
            *(x, delta, A, B, C, D, borders, dense(dy)),
            *(dx, ddelta, dA, dB, dC, dD, dinitial),
            *(*x.shape, A.shape[1]),
        )
        sums = (partial.sum(dim=0) for partial in (dA, dB, dC, dD))
        return dx, ddelta, *sums, dinitial, None, None


def selective_scan_reference(
    x: Tensor,
    delta: Tensor,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    D: Tensor,
    initial: Tensor,
    *,
    signed: bool = False,
) -> tuple[Tensor, Tensor]:
    """Returns the outputs y_t = C_t h_t + D x_t and the last state, h_t = exp(Δ_t A) h_{t-1} + Δ_t B_t x_t.

    Args:
        x: (batch, time, channels).
        delta: Δ, (batch, time, channels).
        A: (channels, states).
        B: (batch, time, states), shared by the channels.
        C: (batch, time, states).
        D: (channels).
        initial: (batch, channels, states).
        signed: whether the gate is 2 exp(Δ_t A) - 1.
    """
    state = initial
    outputs = []
    for x_t, delta_t, B_t, C_t in zip(*(row.unbind(dim=1) for row in (x, delta, B, C)), strict=True):
        step = delta_t[:, :, None]
        gate = torch.exp(step * A)
        gate = 2 * gate - 1 if signed else gate
        state = gate * state + step * B_t[:, None, :] * x_t[:, :, None]
        outputs.append((state * C_t[:, None, :]).sum(dim=-1) + D * x_t)
    return torch.stack(outputs, dim=1), state
