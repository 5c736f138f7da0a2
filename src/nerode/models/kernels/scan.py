"""The diagonal recurrence h_t = a_t h_{t-1} + b_t, fast on the CPU."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Inexact
from torch import Tensor
from torch.autograd.function import once_differentiable

from nerode.core import InputError
from nerode.models.kernels.tensor_checks import require_like, require_sequence
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
        call("diagonal_forward", gate, inputs, initial, states, *_sizes(gate, inputs))
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
            *_sizes(gate, states),
        )
        return dgate.sum(dim=0) if constant else dgate, dinputs, dinitial


def _sizes(gate: Tensor, inputs: Tensor) -> tuple[int, int, int, int]:
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
