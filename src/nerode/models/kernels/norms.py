"""Norms over the features of whole sequences, fast on the CPU, the same bits for any number of threads."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from nerode.models.kernels.arguments import keep_tensors
from nerode.models.native.calls import apply, call, dense, runs_natively
from nerode.records import Norm

NORM_EPSILON = 1e-5
"""What the norms of the zoo add to a variance, unless a model says otherwise."""

WORTH_A_CALL = 1 << 14
"""The number of entries below which torch's own operation is quicker to call than a kernel."""

_BLOCK = 256
"""The rows that the kernel sums before it adds sums: NORM_ROWS of norms.hpp."""


class CentredNorm(nn.LayerNorm):
    """torch's layer norm, with a native kernel where the input is a whole sequence."""

    def forward(self, input: Tensor) -> Tensor:
        """Returns the features of every position, centred, scaled, weighted and shifted."""
        if len(self.normalized_shape) > 1 or self.weight is None or _is_small(input, self.weight):
            return super().forward(input)
        return norm(input, self.weight, self.bias, self.eps, centred=True)


class ScaledNorm(nn.RMSNorm):
    """torch's norm by the root mean square, with a native kernel where the input is a whole sequence."""

    def forward(self, x: Tensor) -> Tensor:
        """Returns the features of every position, scaled and weighted."""
        if len(self.normalized_shape) > 1 or self.weight is None or _is_small(x, self.weight):
            return super().forward(x)
        eps = torch.finfo(x.dtype).eps if self.eps is None else self.eps
        return norm(x, self.weight, None, eps, centred=False)


def make_norm(norm: Norm, width: int, epsilon: float = NORM_EPSILON) -> nn.Module:
    """Returns the module of a norm; the identity for none."""
    match norm:
        case "layer":
            return CentredNorm(width, eps=epsilon)
        case "rms":
            return ScaledNorm(width, eps=epsilon)
        case _:
            return nn.Identity()


def _is_small(x: Tensor, weight: Tensor) -> bool:
    return x.ndim < 3 or x.numel() < WORTH_A_CALL or not runs_natively(x, weight)


def norm(
    x: Float[Tensor, "*positions width"],
    weight: Float[Tensor, " width"],
    bias: Float[Tensor, " width"] | None,
    epsilon: float,
    *,
    centred: bool,
) -> Float[Tensor, "*positions width"]:
    """Returns x over its root mean square, its mean taken away first if `centred`, weighted and shifted."""
    if not runs_natively(x, weight, bias):
        if centred:
            return nn.functional.layer_norm(x, weight.shape, weight, bias, epsilon)
        return nn.functional.rms_norm(x, weight.shape, weight, epsilon)
    y: Tensor = apply(_Norm, x, weight, bias, epsilon, centred)[0]
    return y


class _Norm(torch.autograd.Function):
    """The norms of x (…, width), and mean and scale of each, from weight, bias, ε and `centred`."""

    @staticmethod
    def forward(*arguments: Any) -> tuple[Tensor, Tensor]:
        """Returns the norms, and the mean and scale of each row, which have no gradient."""
        x, weight, bias, epsilon, centred = arguments
        x, weight, bias = dense(x), dense(weight), None if bias is None else dense(bias)
        y, kept = torch.empty_like(x), x.new_empty(*x.shape[:-1], 2)
        least = x.new_tensor(epsilon)
        call("norm_forward", x, weight, bias, y, kept, least, *(1, *_sizes(x), int(centred)))
        return y, kept

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keeps what the backward pass needs."""
        x, weight, bias, _, ctx.centred = inputs
        ctx.shifted = bias is not None
        keep_tensors(ctx, output[1], x, weight, output[1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor | None, _: Any) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the tensors that were given."""
        if dy is None:
            return (None,) * 5
        x, weight, kept = (dense(tensor) for tensor in ctx.saved_tensors)
        dx, dweight, dbias = torch.empty_like(x), torch.empty_like(weight), torch.empty_like(weight)
        rows, width = _sizes(x)
        parts = x.new_empty(-(-rows // _BLOCK), 2, width)
        call(
            "norm_backward",
            *(x, weight, kept, dense(dy), dx, dweight, dbias, parts),
            *(1, rows, width, int(ctx.centred)),
        )
        return dx, dweight, dbias if ctx.shifted else None, None, None


def _sizes(x: Tensor) -> tuple[int, int]:
    """The rows, and the width."""
    width = x.shape[-1]
    return x.numel() // width, width
