"""The step loop of the non-saturating recurrent unit, fast on the CPU.

All tensors may have one more axis in front: that of the members of an ensemble.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from nerode.models.kernels import nru_reference
from nerode.models.kernels.cell_functions import dense_or_none, or_none
from nerode.models.kernels.members import (
    MemberFunction,
    as_members,
    one_by_one,
    shifted,
    weight_gradient,
)
from nerode.models.kernels.nru_reference import Heads
from nerode.models.kernels.tensor_checks import require_like, require_sequence
from nerode.models.native.calls import apply, call, dense, runs_natively


def nru(
    inputs: Float[Tensor, "*members batch time hidden"],
    weight: Float[Tensor, "*members hidden state"],
    head_weight: Float[Tensor, "*members heads state"],
    head_bias: Float[Tensor, "*members heads"],
    initial: tuple[Float[Tensor, "*members batch hidden"], Float[Tensor, "*members batch memory"]],
    heads: Heads,
) -> tuple[Float[Tensor, "*members batch time hidden"], Float[Tensor, "*members batch time memory"]]:
    """Returns the states h_t = relu(x_t + W [h_{t-1}, m_{t-1}]) and the memories m_t.

    Args:
        inputs: x.
        weight: W; it reads h and the memory.
        head_weight: what makes the heads' numbers from h_t and m_{t-1}: strengths to write and to erase, then
            directions to write and to erase.
        head_bias: what is added to them.
        initial: h and the memory before the first position.
        heads: how the heads are laid out.

    Raises:
        InputError: if shapes, types or devices do not agree, or an axis is empty.

    Implements: [Chandar2019]
    """
    _check(inputs, weight, head_weight, head_bias, initial, heads)
    tensors = (inputs, weight, head_weight, head_bias, *initial)
    single = inputs.ndim == 3
    if not runs_natively(*tensors):
        plain = partial(_plain, heads=heads)
        h, memory = plain(*tensors) if single else one_by_one(plain, *tensors)
        return h, memory
    given = as_members(tensors, single=single)
    h, memory, _ = apply(_Nru, *given, heads, torch.is_grad_enabled())
    return (h[0], memory[0]) if single else (h, memory)


def _plain(
    inputs: Tensor,
    weight: Tensor,
    head_weight: Tensor,
    head_bias: Tensor,
    state: Tensor,
    memory: Tensor,
    *,
    heads: Heads,
) -> tuple[Tensor, Tensor]:
    return nru_reference.nru(inputs, weight, head_weight, head_bias, (state, memory), heads)


def _check(
    inputs: Tensor,
    weight: Tensor,
    head_weight: Tensor,
    head_bias: Tensor,
    initial: tuple[Tensor, Tensor],
    heads: Heads,
) -> None:
    require_sequence(
        "inputs", inputs, "members batch time hidden" if inputs.ndim == 4 else "batch time hidden"
    )
    axes, batch, hidden = inputs.shape[:-3], inputs.shape[-3], inputs.shape[-1]
    state = hidden + heads.memory
    require_like("weight", weight, (*axes, hidden, state), inputs)
    require_like("head_weight", head_weight, (*axes, heads.width, state), inputs)
    require_like("head_bias", head_bias, (*axes, heads.width), inputs)
    require_like("initial", initial[0], (*axes, batch, hidden), inputs)
    require_like("initial memory", initial[1], (*axes, batch, heads.memory), inputs)


def _sizes(heads: Heads) -> tuple[int, int, int, int]:
    return heads.memory, heads.count, int(heads.factored), int(heads.rectified)


class _Nru(MemberFunction):
    @staticmethod
    def forward(*arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
        *given, heads, keep = arguments
        inputs, weight, head_weight, head_bias, *initial = (dense(tensor) for tensor in given)
        axes = inputs.shape[:3]
        states, memories = torch.empty_like(inputs), inputs.new_empty(*axes, heads.memory)
        saved = inputs.new_empty(*axes, heads.width) if keep else inputs.new_empty(axes[0], 0)
        call(
            "nru_forward",
            *(inputs, weight, head_weight, head_bias, *initial),
            *(states, memories, or_none(saved)),
            *(*inputs.shape, *_sizes(heads)),
        )
        return states, memories, saved

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _, weight, head_weight, _, h0, m0, ctx.heads, _ = inputs
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(output[2])
        ctx.save_for_backward(weight, head_weight, h0, m0, *output)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dstates: Any, dmemories: Any, _: Any) -> tuple[Tensor | None, ...]:
        weight, head_weight, h0, m0, states, memories, saved = (dense(t) for t in ctx.saved_tensors)
        dinputs, dheads = torch.empty_like(states), torch.empty_like(saved)
        dh0, dm0 = torch.empty_like(h0), torch.empty_like(m0)
        call(
            "nru_backward",
            *(weight, head_weight, states, saved, dense_or_none(dstates), dense_or_none(dmemories)),
            *(dinputs, dheads, dh0, dm0),
            *(*states.shape, *_sizes(ctx.heads)),
        )
        before, kept = shifted(h0, states), shifted(m0, memories)
        dweight = weight_gradient(dinputs, torch.cat([before, kept], dim=-1))
        dhead_weight = weight_gradient(dheads, torch.cat([states, kept], dim=-1))
        return dinputs, dweight, dhead_weight, dheads.sum(dim=(1, 2)), dh0, dm0, None, None
