"""The step loop of the sLSTM cell, fast on the CPU."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from nerode.models.kernels.arguments import (
    dense_or_none,
    empty_gates,
    keep_tensors,
    or_none,
    require_like,
    require_sequence,
    run_cell,
    shifted,
)
from nerode.models.native.calls import call, dense

Cell = tuple[Tensor, Tensor, Tensor, Tensor]
"""h, c, n and m, each (batch, hidden)."""


def slstm(
    inputs: Float[Tensor, "batch time gates"],
    weight: Float[Tensor, "heads gates_of_head size"],
    initial: Cell,
    *,
    exponential_forget: bool = False,
) -> Cell:
    """Returns h, c, n and m after each position, (batch, time, hidden) each.

    c = f c + i tanh(z), n = f n + i, h = sigmoid(o) c / n, with i = exp(x_i), f = sigmoid(x_f) or exp(x_f);
    c and n are stored divided by exp(m), m the maximum of x_i and log f + m.

    Args:
        inputs: x for the gates i, f, z, o, each over all heads, without what they read from h.
        weight: for each head, what its gates i, f, z, o read from its part of h.
        initial: h, c, n and m before the first position.
        exponential_forget: whether f is exp(x_f).

    Raises:
        InputError: if shapes, types or devices do not agree, or an axis is empty.

    Implements: [Beck2024]
    """
    _check(inputs, weight, initial)
    plain = partial(_plain, exponential_forget=exponential_forget)
    tensors = (inputs, weight, *initial)
    h, c, n, m, *_ = run_cell(_Slstm, plain, tensors, exponential_forget, torch.is_grad_enabled())
    return h, c, n, m


def _plain(inputs: Tensor, weight: Tensor, *initial: Tensor, exponential_forget: bool) -> Cell:
    h, c, n, m = initial
    return slstm_reference(inputs, weight, (h, c, n, m), exponential_forget=exponential_forget)


def _check(inputs: Tensor, weight: Tensor, initial: Cell) -> None:
    require_sequence("inputs", inputs, "batch time 4*heads*size")
    require_sequence("weight", weight, "heads 4*size size")
    (batch, time, _), (heads, _, size) = inputs.shape, weight.shape
    require_like("weight", weight, (heads, 4 * size, size), inputs)
    require_like("inputs", inputs, (batch, time, 4 * heads * size), inputs)
    for name, part in zip("hcnm", initial, strict=True):
        require_like(f"initial {name}", part, (batch, heads * size), inputs)


class _Slstm(torch.autograd.Function):
    @staticmethod
    def forward(*arguments: Any) -> tuple[Tensor, ...]:
        *given, exponential_forget, keep = arguments
        inputs, weight, *initial = (dense(tensor) for tensor in given)
        heads, _, size = weight.shape
        outputs = [inputs.new_empty(*inputs.shape[:2], heads * size) for _ in range(4)]
        saved = empty_gates(outputs[0], 5, keep=keep)
        call(
            "slstm_forward",
            *(inputs, weight, *initial),
            *(*outputs, or_none(saved)),
            *(1, *inputs.shape[:2], heads, size, int(exponential_forget)),
        )
        return (*outputs, saved)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _, weight, h0, c0, n0, *_ = inputs
        h, c, n, _, saved = output
        keep_tensors(ctx, saved, weight, h0, c0, n0, h, c, n, saved)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        weight, h0, c0, n0, h, c, n, saved = (dense(tensor) for tensor in ctx.saved_tensors)
        batch, time, hidden = h.shape
        heads, _, size = weight.shape
        dinputs = h.new_empty(batch, time, 4 * hidden)
        dinitial = [torch.empty_like(h0) for _ in range(4)]
        call(
            "slstm_backward",
            *(weight, c0, n0, c, n, saved),
            *(dense_or_none(gradient) for gradient in gradients[:4]),
            *(dinputs, *dinitial),
            *(1, batch, time, heads, size),
        )
        dsums = dinputs.view(1, batch * time, 4, heads, size)
        before = shifted(h0, h).view(1, batch * time, heads, size)
        # Head by head: one product for all of them would first copy everything into another order, slowly. A
        # product of stacks, although there is one matrix: torch rounds others otherwise, and kept runs hold.
        dweight = torch.stack(
            [dsums[..., head, :].flatten(2).transpose(1, 2) @ before[..., head, :] for head in range(heads)],
            dim=1,
        )[0]
        return dinputs, dweight, *dinitial, None, None


def slstm_step(inputs: Tensor, weight: Tensor, state: Cell, *, exponential_forget: bool) -> Cell:
    """Returns the state after one position.

    Args:
        inputs: what the gates i, f, z, o read, without the state: (batch, 4 * hidden).
        weight: what each head adds, (heads, 4 * hidden / heads, hidden / heads), gates in the same order.
        state: the state before it.
        exponential_forget: whether the forget gate is exp(f) instead of sigmoid(f).
    """
    h, c, n, m = state
    heads, _, size = weight.shape
    own = torch.einsum("bhd,hod->bho", h.reshape(-1, heads, size), weight)
    # From (head, gate, place) to (gate, head, place).
    own = own.reshape(-1, heads, 4, size).transpose(1, 2).flatten(1)
    i, f, z, o = (inputs + own).chunk(4, dim=-1)
    kept = m + (f if exponential_forget else torch.nn.functional.logsigmoid(f))
    # Nothing is kept where nothing has been written: then m is free, and i keeps n away from 0.
    after = torch.where(n == 0, i, torch.maximum(i, kept))
    write, keep = torch.exp(i - after), torch.exp((kept - after).clamp(max=0))
    c = keep * c + write * torch.tanh(z)
    n = keep * n + write
    return torch.sigmoid(o) * c / n, c, n, after


def slstm_reference(inputs: Tensor, weight: Tensor, initial: Cell, *, exponential_forget: bool) -> Cell:
    """Returns h, c, n and m after each position, (batch, time, hidden) each."""
    state = initial
    states = []
    for x in inputs.unbind(dim=1):
        state = slstm_step(x, weight, state, exponential_forget=exponential_forget)
        states.append(state)
    h, c, n, m = (torch.stack(values, dim=1) for values in zip(*states, strict=True))
    return h, c, n, m
