"""What every kernel must do, checked on one kernel and its plain reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from nerode.models.native.library import library

LENGTHS = (1, 2, 3, 7, 64, 257)
TOLERANCE = {
    torch.float64: 1e-10,
    torch.complex128: 1e-10,
    torch.float32: 2e-4,
    torch.complex64: 2e-4,
}
Kernel = Callable[..., tuple[Tensor, ...]]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def outputs_and_gradients(kernel: Kernel, tensors: Sequence[Tensor]) -> list[Tensor]:
    """The outputs of a kernel, then the gradients of a fixed random functional of all of them."""
    leaves = [tensor.detach().requires_grad_() for tensor in tensors]
    outputs = kernel(*leaves)
    source = generator(7)
    loss = torch.zeros((), dtype=torch.float64)
    for output in outputs:
        weight = torch.randn(output.shape, generator=source, dtype=output.dtype)
        product = (output * weight).sum()
        loss = loss + (product.real if product.is_complex() else product).double()
    gradients = torch.autograd.grad(loss, leaves)
    return [output.detach() for output in outputs] + list(gradients)


def assert_agrees(fast: Kernel, plain: Kernel, tensors: Sequence[Tensor]) -> None:
    """Outputs and gradients of both are the same up to rounding."""
    tolerance = TOLERANCE[tensors[0].dtype]
    ours, theirs = outputs_and_gradients(fast, tensors), outputs_and_gradients(plain, tensors)
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.dtype == other.dtype
        assert torch.isfinite(torch.view_as_real(mine) if mine.is_complex() else mine).all()
        torch.testing.assert_close(mine, other, rtol=tolerance, atol=tolerance)


def assert_gradients_are_derivatives(kernel: Kernel, tensors: Sequence[Tensor]) -> None:
    """The backward pass is the derivative of the forward pass, by finite differences."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    assert torch.autograd.gradcheck(kernel, leaves, eps=1e-6, atol=1e-7, rtol=1e-5)


def assert_layout_does_not_matter(kernel: Kernel, tensors: Sequence[Tensor]) -> None:
    """Tensors that are spread out in memory give the same bits."""
    spread = []
    for tensor in tensors:
        wide = torch.full((*tensor.shape, 3), torch.nan, dtype=tensor.dtype)
        wide[..., 1] = tensor
        spread.append(wide[..., 1])
        assert tensor.numel() < 2 or not spread[-1].is_contiguous()
    assert_same_in_kernels(outputs_and_gradients(kernel, tensors), outputs_and_gradients(kernel, spread))


def assert_threads_do_not_matter(kernel: Kernel, tensors: Sequence[Tensor]) -> None:
    """One, two, three and seven threads give the same bits."""
    before = torch.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3, 7):
            torch.set_num_threads(threads)
            results.append(outputs_and_gradients(kernel, tensors))
    finally:
        torch.set_num_threads(before)
    for result in results[1:]:
        assert_same_in_kernels(results[0], result)


def assert_same_in_kernels(ours: Sequence[Tensor], theirs: Sequence[Tensor]) -> None:
    """The same bits from the kernels; torch's own operations promise that only up to rounding."""
    if library() is not None:
        assert_same_bits(ours, theirs)
    for mine, other in zip(ours, theirs, strict=True):
        tolerance = TOLERANCE[mine.dtype]
        torch.testing.assert_close(mine, other, rtol=tolerance, atol=tolerance)


def assert_same_bits(ours: Sequence[Tensor], theirs: Sequence[Tensor]) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        assert torch.equal(mine, other)
