"""The native cells as differentiable functions of (members, batch, time, ...)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from nerode.models.kernels.members import MemberFunction, shifted, weight_gradient
from nerode.models.native.calls import call, dense


class Elman(MemberFunction):
    """The states from inputs, weight, initial state, and whether the activation is relu."""

    @staticmethod
    def forward(*arguments: Any) -> Tensor:
        """Returns the states."""
        *given, relu = arguments
        inputs, weight, initial = (dense(tensor) for tensor in given)
        states = torch.empty_like(inputs)
        call("elman_forward", inputs, weight, initial, states, *states.shape, int(relu))
        return states

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keeps what the backward pass needs."""
        _, weight, initial, ctx.relu = inputs
        ctx.save_for_backward(weight, initial, output)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dstates: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the tensors that were given."""
        weight, initial, states = (dense(tensor) for tensor in ctx.saved_tensors)
        dinputs, dinitial = torch.empty_like(states), torch.empty_like(initial)
        call(
            "elman_backward",
            *(weight, states, dense(dstates), dinputs, dinitial),
            *(*states.shape, int(ctx.relu)),
        )
        return dinputs, weight_gradient(dinputs, shifted(initial, states)), dinitial, None


class Gru(MemberFunction):
    """States and saved gates from inputs, weight, bias, initial state, and whether gates are to be saved."""

    @staticmethod
    def forward(*arguments: Any) -> tuple[Tensor, Tensor]:
        """Returns the states, and the gates, which have no gradient."""
        *given, keep = arguments
        inputs, weight, bias, initial = (dense(tensor) for tensor in given)
        states = empty_states(inputs, weight)
        saved = empty_gates(states, 4, keep=keep)
        call("gru_forward", inputs, weight, bias, initial, states, or_none(saved), *states.shape)
        return states, saved

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keeps what the backward pass needs."""
        _, weight, _, initial, _ = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(weight, initial, *output)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dstates: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the tensors that were given."""
        weight, initial, states, saved = (dense(tensor) for tensor in ctx.saved_tensors)
        hidden = states.shape[-1]
        dinputs = states.new_empty(*states.shape[:3], 3 * hidden)
        dsums, dinitial = torch.empty_like(dinputs), torch.empty_like(initial)
        call(
            "gru_backward",
            *(weight, initial, states, saved, dense(dstates)),
            *(dinputs, dsums, dinitial),
            *states.shape,
        )
        dbias = dsums[..., 2 * hidden :].sum(dim=(1, 2))
        return dinputs, weight_gradient(dsums, shifted(initial, states)), dbias, dinitial, None


class GruResetFirst(MemberFunction):
    """States and saved gates from inputs, weight, initial state, and whether gates are to be saved."""

    @staticmethod
    def forward(*arguments: Any) -> tuple[Tensor, Tensor]:
        """Returns the states, and the gates, which have no gradient."""
        *given, keep = arguments
        inputs, weight, initial = (dense(tensor) for tensor in given)
        states = empty_states(inputs, weight)
        saved = empty_gates(states, 3, keep=keep)
        call("gru_reset_first_forward", inputs, weight, initial, states, or_none(saved), *states.shape)
        return states, saved

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keeps what the backward pass needs."""
        _, weight, initial, _ = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(weight, initial, *output)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dstates: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the tensors that were given."""
        weight, initial, states, saved = (dense(tensor) for tensor in ctx.saved_tensors)
        hidden = states.shape[-1]
        dinputs = states.new_empty(*states.shape[:3], 3 * hidden)
        dinitial = torch.empty_like(initial)
        call(
            "gru_reset_first_backward",
            *(weight, initial, states, saved, dense(dstates)),
            *(dinputs, dinitial),
            *states.shape,
        )
        before = shifted(initial, states)
        of_gates = weight_gradient(dinputs[..., : 2 * hidden], before)
        of_candidate = weight_gradient(dinputs[..., 2 * hidden :], saved[..., :hidden] * before)
        return dinputs, torch.cat([of_gates, of_candidate], dim=1), dinitial, None


class Lstm(MemberFunction):
    """States, cells, saved gates from inputs, weight, initial state and cell, and whether to save gates."""

    @staticmethod
    def forward(*arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Returns the states, the cells, and the gates, which have no gradient."""
        *given, keep = arguments
        inputs, weight, initial, initial_cell = (dense(tensor) for tensor in given)
        states = empty_states(inputs, weight)
        cells = torch.empty_like(states)
        saved = empty_gates(states, 4, keep=keep)
        call(
            "lstm_forward",
            *(inputs, weight, initial, initial_cell),
            *(states, cells, or_none(saved)),
            *states.shape,
        )
        return states, cells, saved

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keeps what the backward pass needs."""
        _, weight, initial, initial_cell, _ = inputs
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(output[2])
        ctx.save_for_backward(weight, initial, initial_cell, *output)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dstates: Any, dcells: Any, _: Any) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the tensors that were given."""
        weight, initial, initial_cell, states, cells, saved = (dense(t) for t in ctx.saved_tensors)
        dinputs = states.new_empty(*states.shape[:3], 4 * states.shape[-1])
        dinitial, dinitial_cell = torch.empty_like(initial), torch.empty_like(initial_cell)
        call(
            "lstm_backward",
            *(weight, initial_cell, cells, saved, dense_or_none(dstates), dense_or_none(dcells)),
            *(dinputs, dinitial, dinitial_cell),
            *states.shape,
        )
        dweight = weight_gradient(dinputs, shifted(initial, states))
        return dinputs, dweight, dinitial, dinitial_cell, None


def empty_states(inputs: Tensor, weight: Tensor) -> Tensor:
    """Returns room for the states of a cell."""
    return inputs.new_empty(*inputs.shape[:3], weight.shape[-1])


def empty_gates(states: Tensor, count: int, *, keep: bool) -> Tensor:
    """Returns room for so many numbers a unit; an empty tensor where nothing is to be kept."""
    members, batch, time, hidden = states.shape
    return states.new_empty(members, batch, time, count * hidden) if keep else states.new_empty(members, 0)


def or_none(tensor: Tensor) -> Tensor | None:
    """Returns the tensor, or None for a null pointer if it is empty."""
    return tensor if tensor.numel() else None


def dense_or_none(gradient: Tensor | None) -> Tensor | None:
    """Returns the gradient laid out row by row, or None for an output that was not used."""
    return None if gradient is None else dense(gradient)
