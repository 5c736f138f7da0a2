"""Linear maps of whole sequences, fast on the CPU, with the same bits for any number of threads."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from nerode.models.kernels.arguments import dense_or_none, weight_gradients
from nerode.models.native.calls import apply, call, dense, multiplies_coarsely, runs_natively

WORTH_A_CALL = 1 << 17
"""The number of products below which torch's own operation is quicker to call than a kernel."""


class Linear(nn.Linear):
    """torch's linear layer, with native products where the input is a whole sequence."""

    def forward(self, input: Tensor) -> Tensor:
        """Returns W x + b at every position."""
        return linear(input, self.weight, self.bias)


def linear(
    x: Float[Tensor, "*places inputs"],
    weight: Float[Tensor, "outputs inputs"],
    bias: Float[Tensor, " outputs"] | None = None,
) -> Float[Tensor, "*places outputs"]:
    """Returns W x + b at every position; other shapes than (batch, time, inputs) are left to torch."""
    if multiplies_coarsely(x, weight, bias) and x.numel() * len(weight) >= WORTH_A_CALL:
        coarse = (None if part is None else part.bfloat16() for part in (x, weight, bias))
        return nn.functional.linear(*coarse).float()  # type: ignore[arg-type]
    if x.ndim != 3 or x.numel() * len(weight) < WORTH_A_CALL or not runs_natively(x, weight, bias):
        return nn.functional.linear(x, weight, bias)
    y: Tensor = apply(_Linear, x, weight, bias)
    return y


class _Linear(torch.autograd.Function):
    """W x + b from x (batch, time, inputs), weight and bias; the bias may be None."""

    @staticmethod
    def forward(*arguments: Any) -> Tensor:
        """Returns the images."""
        x, weight = (dense(tensor) for tensor in arguments[:2])
        bias = dense_or_none(arguments[2])
        outputs, inputs = weight.shape
        y = x.new_empty(*x.shape[:-1], outputs)
        call("product_rows", x, weight, bias, y, *(1, y.numel() // outputs, inputs, outputs, 0))
        return y

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keeps what the backward pass needs."""
        x, weight, _ = inputs
        ctx.save_for_backward(x, weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the tensors that were given."""
        x, weight = (dense(tensor) for tensor in ctx.saved_tensors)
        dy = dense(dy)
        dx = dweight = dbias = None
        if ctx.needs_input_grad[0]:
            outputs, inputs = weight.shape
            dx = torch.empty_like(x)
            call("product_rows", dy, weight, None, dx, *(1, x.numel() // inputs, inputs, outputs, 1))
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            dweight, dbias = weight_gradients(dy, x)
        return dx, dweight, dbias if ctx.needs_input_grad[2] else None
