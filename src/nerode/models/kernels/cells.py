"""Step loops of the nonlinear cells (Elman, GRU, LSTM), fast on the CPU.

The inputs come already projected, x_t = W_x u_t + b, which is one product for the whole sequence; what is
left is the part that must go step by step. Gates are stacked in torch's order.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from nerode.core import UnknownName
from nerode.models.kernels.arguments import (
    dense_or_none,
    empty_gates,
    empty_states,
    keep_tensors,
    or_none,
    require_like,
    require_sequence,
    run_cell,
    shifted,
    weight_gradients,
)
from nerode.models.native.calls import call, dense, multiplies_coarsely

ACTIVATIONS = ("tanh", "relu", "none")
"""The functions of an Elman cell, in the order of the kernel."""


def elman(
    inputs: Float[Tensor, "batch time hidden"],
    weight: Float[Tensor, "hidden hidden"],
    initial: Float[Tensor, "batch hidden"] | None = None,
    activation: Literal["tanh", "relu", "none"] = "tanh",
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
    if activation not in ACTIVATIONS:
        raise UnknownName("activation", activation, list(ACTIVATIONS))
    start = _checked_start(inputs, weight, initial, gates=1)
    plain = partial(elman_reference, activation=activation)
    return run_cell(_Elman, plain, (inputs, weight, start), ACTIVATIONS.index(activation))[0]


def gru(
    inputs: Float[Tensor, "batch time features"],
    weight: Float[Tensor, "gates hidden"],
    bias: Float[Tensor, " units"] | None = None,
    initial: Float[Tensor, "batch hidden"] | None = None,
    read: tuple[Float[Tensor, "gates features"], Float[Tensor, " gates"]] | None = None,
) -> Float[Tensor, "batch time hidden"]:
    """Returns the states h_t = (1 − z) n + z h_{t-1}, n = tanh(x_n + r (W_n h_{t-1} + b)).

    Args:
        inputs: x for the gates r, z, n; with `read`, the u that are to be projected.
        weight: W for the gates r, z, n.
        bias: b, inside the product with r; zero when not given. The other biases belong to `inputs`, or, with
            `read`, may stand before it, so that there is one for each gate.
        initial: h_0; zero when not given.
        read: the weight and the bias of the projection, x = W_x u + b: it is faster step by step, where the
            gates are needed, than for the whole sequence before.

    Raises:
        InputError: if shapes, types or devices do not agree, or an axis is empty.

    Implements: [Cho2014]
    """
    start = _checked_start(inputs, weight, initial, gates=3, read=read)
    hidden = start.shape[-1]
    if bias is not None:
        whole = read is not None and bias.shape == weight.shape[:1]
        require_like("bias", bias, (3 * hidden,) if whole else (hidden,), inputs)
    inner = inputs.new_zeros(hidden) if bias is None else bias
    tensors = (inputs, weight, inner, start, *(read or ()))
    return run_cell(_Gru, _gru_of_features, tensors, torch.is_grad_enabled())[0]


def _gru_of_features(inputs: Tensor, weight: Tensor, bias: Tensor, initial: Tensor, *read: Tensor) -> Tensor:
    """The plain loop; `read` may be the weight and bias that project the inputs."""
    if not read:
        return gru_reference(inputs, weight, bias, initial)
    outer, inner = bias[: -initial.shape[-1]], bias[-initial.shape[-1] :]
    projected = nn.functional.linear(inputs, *read) + nn.functional.pad(outer, (0, len(weight) - len(outer)))
    return gru_reference(projected, weight, inner, initial)


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
    tensors = (inputs, weight, start)
    return run_cell(_GruResetFirst, gru_reset_first_reference, tensors, torch.is_grad_enabled())[0]


def lstm(
    inputs: Float[Tensor, "batch time features"],
    weight: Float[Tensor, "gates hidden"],
    initial: tuple[Float[Tensor, "batch hidden"], Float[Tensor, "batch hidden"]] | None = None,
    read: tuple[Float[Tensor, "gates features"], Float[Tensor, " gates"]] | None = None,
) -> tuple[Float[Tensor, "batch time hidden"], Float[Tensor, "batch time hidden"]]:
    """Returns the states h_t = o tanh(c_t) and the cells c_t = f c_{t-1} + i g.

    With coarse products of a projection that is given here, the last cell alone.

    Args:
        inputs: x for the gates i, f, g, o; with `read`, the u that are to be projected.
        weight: W for the gates i, f, g, o.
        initial: h_0 and c_0; zero when not given.
        read: the weight and the bias of the projection, x = W_x u + b: it is faster step by step, where the
            gates are needed, than for the whole sequence before.

    Raises:
        InputError: if shapes, types or devices do not agree, or an axis is empty.

    Implements: [HochreiterSchmidhuber1997]
    """
    given, given_cell = (None, None) if initial is None else initial
    start = _checked_start(inputs, weight, given, gates=4, read=read)
    require_like("initial cell", given_cell, start.shape, inputs)
    start_cell = torch.zeros_like(start) if given_cell is None else given_cell
    if read is not None and multiplies_coarsely(inputs, weight, start, start_cell, *read):
        return _coarse_lstm(inputs, weight, start, start_cell, read)
    tensors = (inputs, weight, start, start_cell, *(read or ()))
    states, cells, *_ = run_cell(_Lstm, lstm_reference, tensors, torch.is_grad_enabled())
    return states, cells


def _coarse_lstm(
    inputs: Tensor, weight: Tensor, start: Tensor, start_cell: Tensor, read: tuple[Tensor, Tensor]
) -> tuple[Tensor, Tensor]:
    """Torch's LSTM in bfloat16; of the cells it gives the last alone."""
    parts = (read[0], weight, read[1], torch.zeros_like(read[1]))
    states, _, last = torch.lstm(
        inputs.bfloat16(),
        (start[None].bfloat16(), start_cell[None].bfloat16()),
        [part.bfloat16() for part in parts],
        *(True, 1, 0.0, True, False, True),
    )
    return states.float(), last.float().transpose(0, 1)


def _checked_start(
    inputs: Tensor,
    weight: Tensor,
    initial: Tensor | None,
    *,
    gates: int,
    read: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """The initial state; raises InputError if shapes, types or devices do not agree."""
    require_sequence("inputs", inputs, "batch time gates*hidden")
    require_sequence("weight", weight, "gates*hidden hidden")
    (batch, _, features), hidden = inputs.shape, weight.shape[-1]
    require_like("weight", weight, (gates * hidden, hidden), inputs)
    if read is None:
        require_like("inputs", inputs, (*inputs.shape[:-1], gates * hidden), inputs)
    else:
        require_like("weight of the projection", read[0], (gates * hidden, features), inputs)
        require_like("bias of the projection", read[1], (gates * hidden,), inputs)
    require_like("initial", initial, (batch, hidden), inputs)
    return inputs.new_zeros(batch, hidden) if initial is None else initial


class _Elman(torch.autograd.Function):
    """The states from inputs, weight, initial state, and the number of the activation."""

    @staticmethod
    def forward(*arguments: Any) -> Tensor:
        """Returns the states."""
        *given, activation = arguments
        inputs, weight, initial = (dense(tensor) for tensor in given)
        states = torch.empty_like(inputs)
        call("elman_forward", inputs, weight, initial, states, 1, *states.shape, activation)
        return states

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keeps what the backward pass needs."""
        _, weight, initial, ctx.activation = inputs
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
            *(1, *states.shape, ctx.activation),
        )
        return dinputs, weight_gradients(dinputs, states, initial)[0], dinitial, None


class _Gru(torch.autograd.Function):
    """States and saved gates from inputs, weight, bias, initial state, and whether gates are to be saved.

    Before the last argument there may be the weight and the bias that the inputs are to be projected by.
    """

    @staticmethod
    def forward(*arguments: Any) -> tuple[Tensor, Tensor]:
        """Returns the states, and the gates, which have no gradient."""
        *given, keep = arguments
        inputs, weight, bias, initial, *read = (dense(tensor) for tensor in given)
        states = empty_states(inputs, weight)
        saved = empty_gates(states, 4, keep=keep)
        if (outer := bias.shape[-1] - states.shape[-1]) > 0:
            read[1] = torch.cat([read[1][:outer] + bias[:outer], read[1][outer:]])
            bias = dense(bias[outer:])
        call(
            "gru_forward",
            *(inputs, *(read or (None, None)), weight, bias, initial),
            *(states, or_none(saved)),
            *(1, *states.shape, inputs.shape[-1]),
        )
        return states, saved

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keeps what the backward pass needs."""
        x, weight, bias, initial, *read, _ = inputs
        ctx.units = bias.shape[-1]
        features = (x, read[0]) if read else ()
        keep_tensors(ctx, output[1], weight, initial, *output, *features)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dstates: Tensor | None, _: Any) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the tensors that were given."""
        if dstates is None:
            return (None,) * len(ctx.needs_input_grad)
        weight, initial, states, saved, *features = (dense(tensor) for tensor in ctx.saved_tensors)
        hidden = states.shape[-1]
        dread = states.new_empty(*states.shape[:2], 3 * hidden)
        dsums, dinitial = torch.empty_like(dread), torch.empty_like(initial)
        x, read = features or (dread, None)
        dinputs = torch.empty_like(x) if read is not None and ctx.needs_input_grad[0] else None
        call(
            "gru_backward",
            *(weight, read, initial, states, saved, dense(dstates)),
            *(dread, dsums, dinputs, dinitial),
            *(1, *states.shape, x.shape[-1]),
        )
        dweight, dbias = weight_gradients(dsums, states, initial)
        dbias = dbias[-ctx.units :]
        if read is None:
            return dread, dweight, dbias, dinitial, None
        return dinputs, dweight, dbias, dinitial, *weight_gradients(dread, x), None


class _GruResetFirst(torch.autograd.Function):
    """States and saved gates from inputs, weight, initial state, and whether gates are to be saved."""

    @staticmethod
    def forward(*arguments: Any) -> tuple[Tensor, Tensor]:
        """Returns the states, and the gates, which have no gradient."""
        *given, keep = arguments
        inputs, weight, initial = (dense(tensor) for tensor in given)
        states = empty_states(inputs, weight)
        saved = empty_gates(states, 3, keep=keep)
        call("gru_reset_first_forward", inputs, weight, initial, states, or_none(saved), 1, *states.shape)
        return states, saved

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keeps what the backward pass needs."""
        _, weight, initial, _ = inputs
        keep_tensors(ctx, output[1], weight, initial, *output)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dstates: Tensor | None, _: Any) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the tensors that were given."""
        if dstates is None:
            return (None,) * len(ctx.needs_input_grad)
        weight, initial, states, saved = (dense(tensor) for tensor in ctx.saved_tensors)
        hidden = states.shape[-1]
        dinputs = states.new_empty(*states.shape[:2], 3 * hidden)
        dinitial = torch.empty_like(initial)
        call(
            "gru_reset_first_backward",
            *(weight, initial, states, saved, dense(dstates)),
            *(dinputs, dinitial),
            *(1, *states.shape),
        )
        before = shifted(initial, states)
        of_gates, _ = weight_gradients(dinputs[..., : 2 * hidden], before)
        of_candidate, _ = weight_gradients(dinputs[..., 2 * hidden :], saved[..., :hidden] * before)
        return dinputs, torch.cat([of_gates, of_candidate]), dinitial, None


class _Lstm(torch.autograd.Function):
    """States, cells, saved gates from inputs, weight, initial state and cell, and whether to save gates.

    Before the last argument there may be the weight and the bias that the inputs are to be projected by.
    """

    @staticmethod
    def forward(*arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Returns the states, the cells, and the gates, which have no gradient."""
        *given, keep = arguments
        inputs, weight, initial, initial_cell, *read = (dense(tensor) for tensor in given)
        states = empty_states(inputs, weight)
        cells = torch.empty_like(states)
        saved = empty_gates(states, 4, keep=keep)
        call(
            "lstm_forward",
            *(inputs, *(read or (None, None)), weight, initial, initial_cell),
            *(states, cells, or_none(saved)),
            *(1, *states.shape, inputs.shape[-1]),
        )
        return states, cells, saved

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keeps what the backward pass needs."""
        x, weight, initial, initial_cell, *read, _ = inputs
        features = (x, read[0]) if read else ()
        keep_tensors(ctx, output[2], weight, initial, initial_cell, *output, *features)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dstates: Any, dcells: Any, _: Any) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the tensors that were given."""
        weight, initial, initial_cell, states, cells, saved, *features = (dense(t) for t in ctx.saved_tensors)
        dsums = states.new_empty(*states.shape[:2], 4 * states.shape[-1])
        x, read = features or (dsums, None)
        dinputs = torch.empty_like(x) if read is not None and ctx.needs_input_grad[0] else None
        dinitial, dinitial_cell = torch.empty_like(initial), torch.empty_like(initial_cell)
        call(
            "lstm_backward",
            *(weight, read, initial_cell, cells, saved, dense_or_none(dstates), dense_or_none(dcells)),
            *(dsums, dinputs, dinitial, dinitial_cell),
            *(1, *states.shape, x.shape[-1]),
        )
        dweight, _ = weight_gradients(dsums, states, initial)
        if read is None:
            return dsums, dweight, dinitial, dinitial_cell, None
        return dinputs, dweight, dinitial, dinitial_cell, *weight_gradients(dsums, x), None


def elman_reference(inputs: Tensor, weight: Tensor, initial: Tensor, activation: str) -> Tensor:
    """Returns the states h_t = f(x_t + W h_{t-1}), f = tanh, relu or none."""
    functions = {"tanh": torch.tanh, "relu": torch.relu}
    state = initial
    states = []
    for x in inputs.unbind(dim=1):
        total = x + state @ weight.T
        state = functions[activation](total) if activation in functions else total
        states.append(state)
    return torch.stack(states, dim=1)


def gru_step(inputs: Tensor, weight: Tensor, bias: Tensor, state: Tensor, cap: float = 1.0) -> Tensor:
    """Returns h = (1 − z) n + z h, n = tanh(x_n + r (W_n h + b)), with r and z/cap sigmoids of x + W h."""
    x_reset, x_update, x_new = inputs.chunk(3, dim=-1)
    h_reset, h_update, h_new = (state @ weight.T).chunk(3, dim=-1)
    reset, update = torch.sigmoid(x_reset + h_reset), torch.sigmoid(x_update + h_update)
    new = torch.tanh(x_new + reset * (h_new + bias))
    return new + (update if cap == 1 else cap * update) * (state - new)


def gru_reference(inputs: Tensor, weight: Tensor, bias: Tensor, initial: Tensor, cap: float = 1.0) -> Tensor:
    """Returns the states of a GRU whose reset gate acts after the product."""
    state = initial
    states = []
    for x in inputs.unbind(dim=1):
        state = gru_step(x, weight, bias, state, cap)
        states.append(state)
    return torch.stack(states, dim=1)


def reset_first_step(inputs: Tensor, weight: Tensor, state: Tensor, cap: float = 1.0) -> Tensor:
    """Returns h = (1 − z) n + z h, n = tanh(x_n + W_n (r h)), with r and z/cap sigmoids of x + W h."""
    x_reset, x_update, x_new = inputs.chunk(3, dim=-1)
    w_reset, w_update, w_new = weight.chunk(3)
    reset, update = torch.sigmoid(x_reset + state @ w_reset.T), torch.sigmoid(x_update + state @ w_update.T)
    new = torch.tanh(x_new + (reset * state) @ w_new.T)
    return new + (update if cap == 1 else cap * update) * (state - new)


def gru_reset_first_reference(inputs: Tensor, weight: Tensor, initial: Tensor, cap: float = 1.0) -> Tensor:
    """Returns the states of a GRU whose reset gate acts before the product."""
    state = initial
    states = []
    for x in inputs.unbind(dim=1):
        state = reset_first_step(x, weight, state, cap)
        states.append(state)
    return torch.stack(states, dim=1)


def lstm_step(inputs: Tensor, weight: Tensor, state: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """Returns h = o tanh(c) and c = f c + i g."""
    i, f, g, o = (inputs + state @ weight.T).chunk(4, dim=-1)
    cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(cell), cell


def lstm_reference(
    inputs: Tensor, weight: Tensor, initial: Tensor, initial_cell: Tensor, *read: Tensor
) -> tuple[Tensor, Tensor]:
    """Returns the states h_t and the cells c_t; `read` may be the weight and bias that project the inputs."""
    inputs = nn.functional.linear(inputs, *read) if read else inputs
    state, cell = initial, initial_cell
    states, cells = [], []
    for x in inputs.unbind(dim=1):
        state, cell = lstm_step(x, weight, state, cell)
        states.append(state)
        cells.append(cell)
    return torch.stack(states, dim=1), torch.stack(cells, dim=1)
