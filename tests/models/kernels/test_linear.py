"""Linear maps of whole sequences against torch's own."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from nerode.models.kernels import linear as kernel
from nerode.models.kernels.linear import Linear, linear
from tests.models.kernels.agreement import (
    assert_agrees,
    assert_gradients_are_derivatives,
    assert_layout_does_not_matter,
    assert_same_in_kernels,
    assert_threads_do_not_matter,
    generator,
)

SHAPES = ((1, 1, 1, 1), (3, 7, 5, 2), (2, 65, 17, 33), (5, 51, 70, 40), (3, 43, 8, 100))


@pytest.fixture(autouse=True)
def every_size_by_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "WORTH_A_CALL", 0)


def tensors(shape: tuple[int, ...], dtype: torch.dtype) -> list[Tensor]:
    batch, time, inputs, outputs = shape
    source = generator()
    sizes = (batch, time, inputs), (outputs, inputs), (outputs,)
    return [torch.randn(size, generator=source, dtype=dtype) for size in sizes]


def ours(*given: Tensor) -> tuple[Tensor]:
    return (linear(*given),)


def theirs(*given: Tensor) -> tuple[Tensor]:
    return (nn.functional.linear(*given),)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_kernel_is_the_map(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    given = tensors(shape, dtype)
    assert_agrees(ours, theirs, given)
    assert_agrees(ours, theirs, given[:2])


def test_gradients_are_derivatives() -> None:
    assert_gradients_are_derivatives(ours, tensors((2, 3, 4, 5), torch.float64))


@pytest.mark.parametrize("shape", SHAPES)
def test_neither_layout_nor_threads_matter(shape: tuple[int, ...]) -> None:
    given = tensors(shape, torch.float32)
    assert_layout_does_not_matter(ours, given)
    assert_threads_do_not_matter(ours, given)
    _, time, inputs, outputs = shape
    assert_threads_do_not_matter(ours, tensors((64, 9 * time, inputs, outputs), torch.float32))


def test_a_part_of_the_rows_is_a_part_of_the_whole() -> None:
    x, weight, bias = tensors((5, 51, 70, 40), torch.float32)
    whole = linear(x, weight, bias)
    parts = linear(x[1:3], weight, bias), linear(x[:, 7:9], weight, bias)
    assert_same_in_kernels(parts, (whole[1:3], whole[:, 7:9]))


def test_other_types_and_shapes_are_left_to_torch() -> None:
    layer = Linear(3, 2)
    x = torch.randn(4, 3)
    torch.testing.assert_close(layer(x), nn.functional.linear(x, layer.weight, layer.bias))
    low = Linear(3, 2).bfloat16()
    assert low(torch.ones(1, 2, 3, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert layer(torch.zeros(0, 5, 3)).shape == (0, 5, 2)
