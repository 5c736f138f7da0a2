"""The recurrence with dense matrices against its plain loop."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nerode.core import InputError
from nerode.models.kernels.scan import dense_scan, dense_scan_reference
from tests.models.kernels.agreement import (
    LENGTHS,
    Kernel,
    assert_agrees,
    assert_gradients_are_derivatives,
    assert_layout_does_not_matter,
    assert_same_bits,
    assert_threads_do_not_matter,
    generator,
)

Sizes = tuple[int, int, int, int, int]
SHAPES = ((3, 2, 2, 2), (2, 3, 3, 3), (1, 1, 4, 4), (2, 2, 5, 1), (1, 2, 5, 7))


def tensors(sizes: Sizes, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    batch, time, blocks, n, m = sizes
    source = generator()

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=source, dtype=dtype)

    return (
        # Norms below 1: otherwise rounding adds up over hundreds of positions.
        0.9 * torch.linalg.qr(normal(batch, time, blocks, n, n)).Q,
        normal(batch, time, blocks, n, m),
        normal(batch, blocks, n, m),
    )


def one(kernel: object) -> Kernel:
    """The kernel as one that gives a tuple of outputs."""
    return lambda matrices, writes, initial: (kernel(matrices, writes, initial),)  # type: ignore[operator]


def unwritten(kernel: object) -> Kernel:
    return lambda matrices, initial: (kernel(matrices, None, initial),)  # type: ignore[operator]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.complex128])
@pytest.mark.parametrize("time", LENGTHS)
def test_the_fast_scan_is_the_loop(time: int, dtype: torch.dtype) -> None:
    plain = dense_scan_reference
    for batch, blocks, n, m in SHAPES:
        matrices, writes, initial = tensors((batch, time, blocks, n, m), dtype)
        assert_agrees(one(dense_scan), one(plain), (matrices, writes, initial))
        if time <= 7:
            assert_agrees(unwritten(dense_scan), unwritten(plain), (matrices, initial))


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize(("n", "m"), [(3, 3), (3, 1), (2, 4)])
def test_gradients_are_derivatives(n: int, m: int, dtype: torch.dtype) -> None:
    for time in (1, 4):
        matrices, writes, initial = tensors((1, time, 2, n, m), dtype)
        assert_gradients_are_derivatives(one(dense_scan), (matrices, writes, initial))
        assert_gradients_are_derivatives(unwritten(dense_scan), (matrices, initial))


def test_neither_layout_nor_threads_matter() -> None:
    assert_layout_does_not_matter(one(dense_scan), tensors((2, 7, 2, 3, 5)))
    assert_threads_do_not_matter(one(dense_scan), tensors((3, 70, 3, 9, 11)))
    assert_threads_do_not_matter(one(dense_scan), tensors((5, 70, 3, 20, 1), torch.complex128))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_a_scan_in_parts_is_the_whole_scan(dtype: torch.dtype) -> None:
    matrices, writes, state = (t.to(dtype) for t in tensors((2, 60, 2, 5, 2)))
    whole = dense_scan(matrices, writes, state)
    parts = []
    for first, last in ((0, 1), (1, 47), (47, 60)):
        parts.append(dense_scan(matrices[:, first:last], writes[:, first:last], state))
        state = parts[-1][:, -1]
    assert_same_bits([whole], [torch.cat(parts, dim=1)])


def test_permutations_are_exact_for_a_million_letters() -> None:
    """A cycle of length 5, applied 10^6 + 2 times, is the cycle applied twice."""
    cycle = torch.roll(torch.eye(5), 1, dims=0)
    state = torch.arange(5.0).reshape(1, 1, 5, 1)
    matrices = cycle.expand(1, 1000, 1, 5, 5)
    for _ in range(1000):
        state = dense_scan(matrices, None, state)[:, -1]
    state = dense_scan(matrices[:, :2], None, state)[:, -1]
    assert state.flatten().tolist() == [3, 4, 0, 1, 2]


@pytest.mark.parametrize("position", range(3))
def test_what_does_not_fit_is_refused(position: int) -> None:
    wrong: list[Tensor] = list(tensors((2, 3, 2, 4, 5)))
    wrong[position] = wrong[position][..., :-1, :]
    with pytest.raises(InputError, match="has the shape"):
        dense_scan(*wrong)
    wrong = list(tensors((2, 3, 2, 4, 5)))
    wrong[position] = wrong[position].float()
    with pytest.raises(InputError, match="float32"):
        dense_scan(*wrong)
