"""Step loops of the nonlinear cells (Elman, GRU, LSTM), fast on the CPU.

The inputs come already projected, x_t = W_x u_t + b, which is one product for the whole sequence; what is
left is the part that must go step by step. Gates are stacked in torch's order. All tensors may have one more
axis in front: that of the members of an ensemble, each with weights of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from nerode.core import UnknownName
from nerode.models.kernels import cells_reference
from nerode.models.kernels.cell_functions import Elman, Gru, GruResetFirst, Lstm
from nerode.models.kernels.members import as_members, one_by_one
from nerode.models.kernels.tensor_checks import require_like, require_sequence
from nerode.models.native.calls import apply, runs_natively


def elman(
    inputs: Float[Tensor, "*members batch time hidden"],
    weight: Float[Tensor, "*members hidden hidden"],
    initial: Float[Tensor, "*members batch hidden"] | None = None,
    activation: Literal["tanh", "relu"] = "tanh",
) -> Float[Tensor, "*members batch time hidden"]:
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
    tensors = (inputs, weight, start)
    if not runs_natively(*tensors):
        return _plainly(partial(cells_reference.elman, activation=activation), *tensors)[0]
    return _natively(Elman, tensors, activation == "relu")[0]


def gru(
    inputs: Float[Tensor, "*members batch time gates"],
    weight: Float[Tensor, "*members gates hidden"],
    bias: Float[Tensor, "*members hidden"] | None = None,
    initial: Float[Tensor, "*members batch hidden"] | None = None,
) -> Float[Tensor, "*members batch time hidden"]:
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
    shape = (*inputs.shape[:-3], start.shape[-1])
    require_like("bias", bias, shape, inputs)
    inner = inputs.new_zeros(shape) if bias is None else bias
    tensors = (inputs, weight, inner, start)
    if not runs_natively(*tensors):
        return _plainly(cells_reference.gru, *tensors)[0]
    return _natively(Gru, tensors, torch.is_grad_enabled())[0]


def gru_reset_first(
    inputs: Float[Tensor, "*members batch time gates"],
    weight: Float[Tensor, "*members gates hidden"],
    initial: Float[Tensor, "*members batch hidden"] | None = None,
) -> Float[Tensor, "*members batch time hidden"]:
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
    if not runs_natively(*tensors):
        return _plainly(cells_reference.gru_reset_first, *tensors)[0]
    return _natively(GruResetFirst, tensors, torch.is_grad_enabled())[0]


def lstm(
    inputs: Float[Tensor, "*members batch time gates"],
    weight: Float[Tensor, "*members gates hidden"],
    initial: tuple[Float[Tensor, "*members batch hidden"], Float[Tensor, "*members batch hidden"]]
    | None = None,
) -> tuple[Float[Tensor, "*members batch time hidden"], Float[Tensor, "*members batch time hidden"]]:
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
    tensors = (inputs, weight, start, start_cell)
    if not runs_natively(*tensors):
        states, cells = _plainly(cells_reference.lstm, *tensors)
    else:
        states, cells, _ = _natively(Lstm, tensors, torch.is_grad_enabled())
    return states, cells


def _checked_start(inputs: Tensor, weight: Tensor, initial: Tensor | None, *, gates: int) -> Tensor:
    """The initial state, after a look at everything that is given."""
    members = "members " if inputs.ndim == 4 else ""
    require_sequence("inputs", inputs, f"{members}batch time gates*hidden")
    require_sequence("weight", weight, f"{members}gates*hidden hidden")
    axes, hidden = inputs.shape[:-3], weight.shape[-1]
    require_like("weight", weight, (*axes, gates * hidden, hidden), inputs)
    require_like("inputs", inputs, (*inputs.shape[:-1], gates * hidden), inputs)
    shape = (*axes, inputs.shape[-3], hidden)
    require_like("initial", initial, shape, inputs)
    return inputs.new_zeros(shape) if initial is None else initial


def _plainly(function: Callable[..., Any], *tensors: Tensor) -> tuple[Tensor, ...]:
    if tensors[0].ndim == 4:
        return one_by_one(function, *tensors)
    result = function(*tensors)
    return result if isinstance(result, tuple) else (result,)


def _natively(
    function: type[torch.autograd.Function], tensors: tuple[Tensor, ...], option: bool
) -> tuple[Tensor, ...]:
    single = tensors[0].ndim == 3
    result = apply(function, *as_members(tensors, single=single), option)
    outputs = result if isinstance(result, tuple) else (result,)
    return tuple(output[0] for output in outputs) if single else outputs
