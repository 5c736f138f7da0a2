"""The delta rule against its plain loop."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nerode.core import InputError
from nerode.models.kernels.matrix_scan import delta_scan, delta_scan_reference
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

plain = delta_scan_reference
Sizes = tuple[int, int, int, int, int, int]


def tensors(sizes: Sizes, dtype: torch.dtype = torch.float64) -> tuple[Tensor, ...]:
    batch, time, writes, heads, keys, values = sizes
    source = generator()

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=source, dtype=dtype)

    return (
        normal(batch, time, heads, keys),
        torch.nn.functional.normalize(normal(batch, time, writes, heads, keys), dim=-1),
        normal(batch, time, writes, heads, values),
        2 * normal(batch, time, writes, heads).sigmoid(),
        normal(batch, time, heads).sigmoid(),
        normal(batch, heads, keys, values),
    )


def ungated(kernel: Kernel) -> Kernel:
    return lambda q, k, v, beta, start: kernel(q, k, v, beta, None, start)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("time", LENGTHS)
def test_the_fast_scan_is_the_loop(time: int, dtype: torch.dtype) -> None:
    for batch, writes, heads, keys, values in ((1, 1, 1, 1, 1), (3, 3, 2, 5, 7), (1, 2, 1, 17, 9)):
        given = tensors((batch, time, writes, heads, keys, values), dtype)
        assert_agrees(delta_scan, plain, given)
        assert_agrees(ungated(delta_scan), ungated(plain), (*given[:4], given[5]))


@pytest.mark.parametrize("writes", [1, 3])
def test_gradients_are_derivatives(writes: int) -> None:
    for time in (1, 5):
        given = tensors((1, time, writes, 2, 3, 2))
        assert_gradients_are_derivatives(delta_scan, given)
        assert_gradients_are_derivatives(ungated(delta_scan), (*given[:4], given[5]))


def test_neither_layout_nor_threads_matter() -> None:
    assert_layout_does_not_matter(delta_scan, tensors((2, 7, 2, 2, 3, 5)))
    assert_threads_do_not_matter(delta_scan, tensors((3, 70, 2, 3, 9, 11)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_a_scan_in_parts_is_the_whole_scan(dtype: torch.dtype) -> None:
    *sequences, start = (t.to(dtype) for t in tensors((2, 60, 2, 2, 5, 9)))
    readings, final = delta_scan(*sequences, start)
    parts, state = [], start
    for first, last in ((0, 1), (1, 47), (47, 60)):
        part, state = delta_scan(*(t[:, first:last] for t in sequences), state)
        parts.append(part)
    assert_same_bits([readings, final], [torch.cat(parts, dim=1), state])


def test_a_reflection_swaps_two_states_exactly() -> None:
    """β = 1 with the key (1, -1) is β = 2 with the unit key (1, -1)/√2, without the root."""
    key = torch.tensor([1.0, -1.0]).expand(1, 1001, 1, 1, 2)
    start = torch.tensor([[[[3.0], [5.0]]]])
    _, final = delta_scan(
        torch.zeros(1, 1001, 1, 2), key, torch.zeros(1, 1001, 1, 1, 1), torch.ones(1, 1001, 1, 1), None, start
    )
    assert final.flatten().tolist() == [5, 3]


@pytest.mark.parametrize("position", range(1, 6))
def test_what_does_not_fit_is_refused(position: int) -> None:
    wrong = list(tensors((2, 3, 2, 2, 4, 5)))
    wrong[position] = wrong[position][:-1]
    with pytest.raises(InputError, match="has the shape"):
        delta_scan(*wrong)
    wrong = list(tensors((2, 3, 2, 2, 4, 5)))
    wrong[position] = wrong[position].float()
    with pytest.raises(InputError, match="float32"):
        delta_scan(*wrong)
