"""The selective scan against its plain loop."""

from __future__ import annotations

import functools

import pytest
import torch
from torch import Tensor

from nerode.core import InputError
from nerode.models.kernels.scan import selective_scan, selective_scan_reference
from tests.models.kernels.agreement import (
    LENGTHS,
    assert_agrees,
    assert_gradients_are_derivatives,
    assert_layout_does_not_matter,
    assert_same_bits,
    assert_threads_do_not_matter,
    generator,
)

plain = selective_scan_reference


def tensors(
    batch: int, time: int, channels: int, states: int, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, ...]:
    source = generator()

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=source, dtype=dtype)

    return (
        normal(batch, time, channels),
        normal(batch, time, channels).sigmoid(),
        -normal(channels, states).exp(),
        normal(batch, time, states),
        normal(batch, time, states),
        normal(channels),
        normal(batch, channels, states),
    )


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("time", LENGTHS)
def test_the_fast_scan_is_the_loop(time: int, dtype: torch.dtype, signed: bool) -> None:
    fast, loop = (functools.partial(scan, signed=signed) for scan in (selective_scan, plain))
    for batch, channels, states in ((1, 1, 1), (3, 5, 3), (2, 67, 16)):
        assert_agrees(fast, loop, tensors(batch, time, channels, states, dtype))


@pytest.mark.parametrize("signed", [False, True])
def test_gradients_are_derivatives(signed: bool) -> None:
    for time in (1, 2, 19):
        fast = functools.partial(selective_scan, signed=signed)
        assert_gradients_are_derivatives(fast, tensors(2, time, 3, 2))


def test_neither_layout_nor_threads_matter() -> None:
    assert_layout_does_not_matter(selective_scan, tensors(3, 7, 5, 3))
    assert_threads_do_not_matter(selective_scan, tensors(3, 40, 131, 7))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_a_scan_in_parts_is_the_whole_scan(dtype: torch.dtype) -> None:
    x, delta, A, B, C, D, start = (t.to(dtype) for t in tensors(2, 23, 37, 5))
    outputs, final = selective_scan(x, delta, A, B, C, D, start)
    parts, state = [], start
    for a, b in ((0, 1), (1, 20), (20, 23)):
        part, state = selective_scan(x[:, a:b], delta[:, a:b], A, B[:, a:b], C[:, a:b], D, state)
        parts.append(part)
    assert_same_bits([outputs, final], [torch.cat(parts, dim=1), state])


def test_what_is_not_given_is_zero() -> None:
    x, delta, A, B, C, D, start = tensors(2, 7, 5, 3)
    zeros = torch.zeros_like(D), torch.zeros_like(start)
    assert_same_bits(selective_scan(x, delta, A, B, C), selective_scan(x, delta, A, B, C, *zeros))


def test_no_step_keeps_the_state_and_a_huge_one_forgets_it() -> None:
    x, delta, A, B, C, D, start = tensors(1, 2, 5, 3)
    _, kept = selective_scan(x, torch.zeros_like(delta), A, B, C, D, start)
    assert torch.equal(kept, start)
    _, forgotten = selective_scan(torch.zeros_like(x), delta + 1e6, A, B, C, D, start)
    assert torch.equal(forgotten, torch.zeros_like(start))
    _, turned = selective_scan(torch.zeros_like(x), delta + 1e6, A, B, C, D, start, signed=True)
    assert torch.equal(turned, start)
    _, turned_once = selective_scan(
        torch.zeros_like(x[:, :1]), delta[:, :1] + 1e6, A, B[:, :1], C[:, :1], D, start, signed=True
    )
    assert torch.equal(turned_once, -start)


@pytest.mark.parametrize("position", range(1, 7))
def test_what_does_not_fit_is_refused(position: int) -> None:
    wrong = list(tensors(2, 3, 4, 5))
    wrong[position] = wrong[position][..., :-1]
    with pytest.raises(InputError, match="has the shape"):
        selective_scan(*wrong)
    wrong = list(tensors(2, 3, 4, 5))
    wrong[position] = wrong[position].float()
    with pytest.raises(InputError, match="float32"):
        selective_scan(*wrong)


def test_complex_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="complex64"):
        selective_scan(*(t.to(torch.complex64) for t in tensors(2, 3, 4, 5)))
