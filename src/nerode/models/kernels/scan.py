"""Scans over vector states, fast on the CPU, each with its plain loop as the reference.

diagonal_scan: h_t = a_t ∘ h_{t-1} + b_t.
dense_scan: h_t = A_t h_{t-1} + b_t on a small state, for IDS4 and orthogonal blocks.
selective_scan: that of Mamba, fused, so that no array of size time × channels × states is ever made.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Complex, Float, Inexact
from torch import Tensor
from torch.autograd.function import once_differentiable

from nerode.core import InputError
from nerode.models.kernels.arguments import require_like, require_sequence
from nerode.models.native.calls import apply, call, dense, runs_natively


def diagonal_scan(
    gate: Inexact[Tensor, " ..."],
    inputs: Inexact[Tensor, "batch time ..."],
    initial: Inexact[Tensor, "batch ..."] | None = None,
) -> tuple[Inexact[Tensor, "batch time ..."], Inexact[Tensor, "batch ..."]]:
    """Returns the states h_t = a_t h_{t-1} + b_t for t = 1 … T, and the last of them.

    Every channel is computed by the same operations in the same order however the sequence is cut: a scan of
    the parts, each from the last state of the one before, gives the same bits.

    Args:
        gate: a, of the shape of `inputs`, or of the shape of one state when it is the same at each step and
            for the whole batch.
        inputs: b.
        initial: h_0; zero when not given.

    Raises:
        InputError: if shapes, types or devices do not agree, or an axis is empty.
    """
    require_sequence("inputs", inputs, "batch time ...", complex_too=True)
    state_shape = (inputs.shape[0], *inputs.shape[2:])
    if gate.ndim not in (inputs.ndim, inputs.ndim - 2):
        raise InputError(
            f"`gate` has the shape {tuple(gate.shape)}; give {tuple(inputs.shape)}, "
            f"or {tuple(inputs.shape[2:])} for a constant gate"
        )
    require_like("gate", gate, inputs.shape if gate.ndim == inputs.ndim else inputs.shape[2:], inputs)
    require_like("initial", initial, state_shape, inputs)
    start = inputs.new_zeros(state_shape) if initial is None else initial
    if runs_natively(gate, inputs, start, complex_too=True):
        states: Tensor = apply(_DiagonalScan, gate, inputs, start)
    else:
        states = diagonal_scan_reference(gate, inputs, start)
    return states, states[:, -1]


class _DiagonalScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gate: Tensor, inputs: Tensor, initial: Tensor) -> Tensor:
        gate, inputs, initial = dense(gate), dense(inputs), dense(initial)
        states = torch.empty_like(inputs)
        call("diagonal_forward", gate, inputs, initial, states, *_diagonal_sizes(gate, inputs))
        ctx.save_for_backward(gate, initial, states)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dstates: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        gate, initial, states = ctx.saved_tensors
        dinputs, dinitial = torch.empty_like(states), torch.empty_like(initial)
        constant = gate.ndim < states.ndim
        dgate = torch.zeros_like(initial) if constant else torch.empty_like(gate)
        call(
            "diagonal_backward",
            *(gate, initial, states, dense(dstates)),
            *(dgate, dinputs, dinitial),
            *_diagonal_sizes(gate, states),
        )
        return dgate.sum(dim=0) if constant else dgate, dinputs, dinitial


def _diagonal_sizes(gate: Tensor, inputs: Tensor) -> tuple[int, int, int, int]:
    """Batch, time, channels, and whether the gate is constant, as the kernels take them."""
    batch, time = inputs.shape[:2]
    return batch, time, inputs[0, 0].numel(), int(gate.ndim < inputs.ndim)


def diagonal_scan_reference(gate: Tensor, inputs: Tensor, initial: Tensor) -> Tensor:
    """Returns the states h_t = a_t h_{t-1} + b_t for t = 1 … T, one after the other.

    Args:
        gate: a, (batch, time, …) or, the same at each step, (…).
        inputs: b, (batch, time, …).
        initial: h_0, (batch, …).
    """
    gates = gate.unbind(dim=1) if gate.ndim == inputs.ndim else [gate] * inputs.shape[1]
    state = initial
    states = []
    for a, b in zip(gates, inputs.unbind(dim=1), strict=True):
        state = a * state + b
        states.append(state)
    return torch.stack(states, dim=1)


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
