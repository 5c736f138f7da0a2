"""Step loops of the nonlinear cells (Elman, GRU, LSTM), fast on the CPU.

The inputs come already projected, x_t = W_x u_t + b, which is one product for the whole sequence; what is
left is the part that must go step by step. Gates are stacked in torch's order.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from nerode.core.errors import UnknownName
from nerode.models.kernels import cells_reference
from nerode.models.kernels.tensor_checks import require_like, require_sequence
from nerode.models.native.calls import apply, call, dense, runs_natively


def elman(
    inputs: Float[Tensor, "batch time hidden"],
    weight: Float[Tensor, "hidden hidden"],
    initial: Float[Tensor, "batch hidden"] | None = None,
    activation: Literal["tanh", "relu"] = "tanh",
) -> Float[Tensor, "batch time hidden"]:
    """Returns the states h_t = f(x_t + W h_{t-1}); the last one is where to go on.

    Args:
        inputs: x.
        weight: W.
        initial: h_0; zero when not given.
        activation: f.

    Raises:
        InputError: if shapes, types or devices do not agree, or an axis is empty.

    Implements: [Elman1990]
    """
    if activation not in ("tanh", "relu"):
        raise UnknownName("activation", activation, ["tanh", "relu"])
    start = _checked_start(inputs, weight, initial, gates=1)
    if not runs_natively(inputs, weight, start):
        return cells_reference.elman(inputs, weight, start, activation)
    states: Tensor = apply(_Elman, inputs, weight, start, activation == "relu")
    return states


def gru(
    inputs: Float[Tensor, "batch time gates"],
    weight: Float[Tensor, "gates hidden"],
    bias: Float[Tensor, " hidden"] | None = None,
    initial: Float[Tensor, "batch hidden"] | None = None,
) -> Float[Tensor, "batch time hidden"]:
    """Returns the states h_t = (1 − z) n + z h_{t-1}, n = tanh(x_n + r (W_n h_{t-1} + b)).

    Args:
        inputs: x for the gates r, z, n.
        weight: W for the gates r, z, n.
        bias: b, inside the product with r; zero when not given. The other biases belong to `inputs`.
        initial: h_0; zero when not given.

    Raises:
        InputError: if shapes, types or devices do not agree, or an axis is empty.

    Implements: [Cho2014]
    """
    start = _checked_start(inputs, weight, initial, gates=3)
    require_like("bias", bias, (start.shape[1],), inputs)
    inner = inputs.new_zeros(start.shape[1]) if bias is None else bias
    if not runs_natively(inputs, weight, inner, start):
        return cells_reference.gru(inputs, weight, inner, start)
    states: Tensor = apply(_Gru, inputs, weight, inner, start, torch.is_grad_enabled())
    return states


def gru_reset_first(
    inputs: Float[Tensor, "batch time gates"],
    weight: Float[Tensor, "gates hidden"],
    initial: Float[Tensor, "batch hidden"] | None = None,
) -> Float[Tensor, "batch time hidden"]:
    """Returns the states h_t = (1 − z) n + z h_{t-1}, n = tanh(x_n + W_n (r h_{t-1})).

    Args:
        inputs: x for the gates r, z, n.
        weight: W for the gates r, z, n.
        initial: h_0; zero when not given.

    Raises:
        InputError: if shapes, types or devices do not agree, or an axis is empty.

    Implements: [Cho2014]
    """
    start = _checked_start(inputs, weight, initial, gates=3)
    return cells_reference.gru_reset_first(inputs, weight, start)


def lstm(
    inputs: Float[Tensor, "batch time gates"],
    weight: Float[Tensor, "gates hidden"],
    initial: tuple[Float[Tensor, "batch hidden"], Float[Tensor, "batch hidden"]] | None = None,
) -> tuple[Float[Tensor, "batch time hidden"], Float[Tensor, "batch time hidden"]]:
    """Returns the states h_t = o tanh(c_t) and the cells c_t = f c_{t-1} + i g.

    Args:
        inputs: x for the gates i, f, g, o.
        weight: W for the gates i, f, g, o.
        initial: h_0 and c_0; zero when not given.

    Raises:
        InputError: if shapes, types or devices do not agree, or an axis is empty.

    Implements: [HochreiterSchmidhuber1997]
    """
    given, given_cell = (None, None) if initial is None else initial
    start = _checked_start(inputs, weight, given, gates=4)
    require_like("initial cell", given_cell, start.shape, inputs)
    start_cell = torch.zeros_like(start) if given_cell is None else given_cell
    if not runs_natively(inputs, weight, start, start_cell):
        return cells_reference.lstm(inputs, weight, start, start_cell)
    result: tuple[Tensor, Tensor] = apply(_Lstm, inputs, weight, start, start_cell, torch.is_grad_enabled())
    return result


def _checked_start(inputs: Tensor, weight: Tensor, initial: Tensor | None, *, gates: int) -> Tensor:
    """The initial state, after a look at everything that is given."""
    require_sequence("inputs", inputs, "batch time gates*hidden")
    require_sequence("weight", weight, "gates*hidden hidden")
    hidden = weight.shape[1]
    require_like("weight", weight, (gates * hidden, hidden), inputs)
    require_like("inputs", inputs, (*inputs.shape[:2], gates * hidden), inputs)
    require_like("initial", initial, (inputs.shape[0], hidden), inputs)
    return inputs.new_zeros(inputs.shape[0], hidden) if initial is None else initial


def _weight_gradient(dsums: Tensor, initial: Tensor, states: Tensor) -> Tensor:
    """The gradient of W where the sums x_t + W h_{t-1} have the gradients `dsums`."""
    before = torch.cat([initial[:, None], states[:, :-1]], dim=1)
    return dsums.flatten(0, 1).T @ before.flatten(0, 1)


class _Elman(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        *given, relu = arguments
        inputs, weight, initial = (dense(tensor) for tensor in given)
        states = torch.empty_like(inputs)
        ctx.sizes = (*inputs.shape, int(relu))
        call("elman_forward", inputs, weight, initial, states, *ctx.sizes)
        ctx.save_for_backward(weight, initial, states)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dstates: Tensor) -> tuple[Tensor | None, ...]:
        weight, initial, states = ctx.saved_tensors
        dinputs, dinitial = torch.empty_like(states), torch.empty_like(initial)
        call("elman_backward", weight, states, dense(dstates), dinputs, dinitial, *ctx.sizes)
        return dinputs, _weight_gradient(dinputs, initial, states), dinitial, None


class _Gru(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        *given, keep = arguments
        inputs, weight, bias, initial = (dense(tensor) for tensor in given)
        batch, time, hidden = *inputs.shape[:2], weight.shape[1]
        states = inputs.new_empty(batch, time, hidden)
        saved = inputs.new_empty(batch, time, 4 * hidden) if keep else None
        call("gru_forward", inputs, weight, bias, initial, states, saved, batch, time, hidden)
        ctx.save_for_backward(weight, initial, states, saved)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dstates: Tensor) -> tuple[Tensor | None, ...]:
        weight, initial, states, saved = ctx.saved_tensors
        batch, time, hidden = states.shape
        dinputs = states.new_empty(batch, time, 3 * hidden)
        dsums, dinitial = torch.empty_like(dinputs), torch.empty_like(initial)
        call(
            "gru_backward",
            *(weight, initial, states, saved, dense(dstates)),
            *(dinputs, dsums, dinitial),
            *states.shape,
        )
        dbias = dsums[..., 2 * hidden :].sum(dim=(0, 1))
        return dinputs, _weight_gradient(dsums, initial, states), dbias, dinitial, None


class _Lstm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, Tensor]:
        *given, keep = arguments
        inputs, weight, initial, initial_cell = (dense(tensor) for tensor in given)
        batch, time, hidden = *inputs.shape[:2], weight.shape[1]
        states = inputs.new_empty(batch, time, hidden)
        cells = torch.empty_like(states)
        saved = inputs.new_empty(batch, time, 4 * hidden) if keep else None
        call(
            "lstm_forward",
            *(inputs, weight, initial, initial_cell),
            *(states, cells, saved),
            *states.shape,
        )
        ctx.save_for_backward(weight, initial, initial_cell, states, cells, saved)
        return states, cells

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dstates: Tensor, dcells: Tensor) -> tuple[Tensor | None, ...]:
        weight, initial, initial_cell, states, cells, saved = ctx.saved_tensors
        batch, time, hidden = states.shape
        dinputs = states.new_empty(batch, time, 4 * hidden)
        dinitial, dinitial_cell = torch.empty_like(initial), torch.empty_like(initial_cell)
        call(
            "lstm_backward",
            *(weight, initial_cell, cells, saved, dense(dstates), dense(dcells)),
            *(dinputs, dinitial, dinitial_cell),
            *states.shape,
        )
        return dinputs, _weight_gradient(dinputs, initial, states), dinitial, dinitial_cell, None
