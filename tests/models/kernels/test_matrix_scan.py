"""Decaying matrix states against their plain loops."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nerode.core.errors import InputError
from nerode.models.kernels import matrix_scan_reference
from nerode.models.kernels.matrix_scan import decay_scan, steps_between_borders
from tests.models.kernels.agreement import (
    LENGTHS,
    assert_agrees,
    assert_gradients_are_derivatives,
    assert_layout_does_not_matter,
    assert_same_bits,
    assert_threads_do_not_matter,
    generator,
)

plain = matrix_scan_reference.decay_scan


def tensors(
    sizes: tuple[int, int, int, int, int], dtype: torch.dtype = torch.float64, *, vector: bool = False
) -> tuple[Tensor, ...]:
    batch, time, heads, keys, values = sizes
    source = generator()

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=source, dtype=dtype)

    decay = normal(batch, time, heads, keys) if vector else normal(batch, time, heads)
    return (
        normal(batch, time, heads, keys),
        normal(batch, time, heads, keys),
        normal(batch, time, heads, values),
        decay.tanh(),
        normal(batch, heads, keys, values),
    )


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("time", LENGTHS)
def test_the_fast_scan_is_the_loop(time: int, dtype: torch.dtype, vector: bool) -> None:
    for batch, heads, keys, values in ((1, 1, 1, 1), (3, 2, 5, 7), (1, 1, 33, 17)):
        assert_agrees(decay_scan, plain, tensors((batch, time, heads, keys, values), dtype, vector=vector))


@pytest.mark.parametrize("vector", [False, True])
def test_gradients_are_derivatives(vector: bool) -> None:
    for time in (1, 2, 7):
        assert_gradients_are_derivatives(decay_scan, tensors((2, time, 1, 3, 2), vector=vector))


@pytest.mark.parametrize("vector", [False, True])
def test_neither_layout_nor_threads_matter(vector: bool) -> None:
    assert_layout_does_not_matter(decay_scan, tensors((2, 7, 2, 3, 5), vector=vector))
    assert_threads_do_not_matter(decay_scan, tensors((3, 70, 3, 17, 19), vector=vector))


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_a_scan_in_parts_is_the_whole_scan(dtype: torch.dtype, vector: bool) -> None:
    *sequences, start = (t.to(dtype) for t in tensors((2, 90, 2, 5, 9), vector=vector))
    readings, final = decay_scan(*sequences, start)
    parts, state = [], start
    for first, last in ((0, 1), (1, 71), (71, 90)):
        part, state = decay_scan(*(t[:, first:last] for t in sequences), state)
        parts.append(part)
    assert_same_bits([readings, final], [torch.cat(parts, dim=1), state])


def test_without_an_initial_state_it_is_zero() -> None:
    *sequences, start = tensors((2, 7, 2, 3, 5))
    assert_same_bits(decay_scan(*sequences), decay_scan(*sequences, torch.zeros_like(start)))


def test_a_decay_of_zero_forgets_and_is_no_trouble_to_gradients() -> None:
    q, k, v, decay, start = tensors((1, 40, 1, 3, 5), vector=True)
    decay[:, 20] = 0
    assert_agrees(decay_scan, plain, (q, k, v, decay, start))
    _, final = decay_scan(q, k, v, decay, start)
    _, later = decay_scan(q[:, 20:], k[:, 20:], v[:, 20:], decay[:, 20:], start + 1)
    assert torch.equal(final, later)


def test_borders_are_few_for_large_states_and_long_sequences() -> None:
    assert steps_between_borders(1, 4) == 64
    assert steps_between_borders(512, 64 * 64 * 4) == 12
    assert steps_between_borders(10_000, 1 << 22) == 50


@pytest.mark.parametrize("position", range(1, 5))
def test_what_does_not_fit_is_refused(position: int) -> None:
    wrong = list(tensors((2, 3, 2, 4, 5), vector=True))
    wrong[position] = wrong[position][:, :-1]
    with pytest.raises(InputError, match="has the shape"):
        decay_scan(*wrong)
    wrong = list(tensors((2, 3, 2, 4, 5), vector=True))
    wrong[position] = wrong[position].half()
    with pytest.raises(InputError, match="float16"):
        decay_scan(*wrong)


def test_a_decay_with_too_few_axes_is_refused() -> None:
    q, k, v, decay, start = tensors((2, 3, 2, 4, 5))
    with pytest.raises(InputError, match="`decay` has the shape"):
        decay_scan(q, k, v, decay[..., 0], start)
