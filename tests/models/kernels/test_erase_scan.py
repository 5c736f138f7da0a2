"""The scan with a removal key and a decay for each row, against its plain loop."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nerode.core import InputError
from nerode.models.kernels.matrix_scan import delta_scan, erase_scan, erase_scan_reference
from tests.models.kernels.agreement import (
    LENGTHS,
    assert_agrees,
    assert_gradients_are_derivatives,
    assert_layout_does_not_matter,
    assert_same_bits,
    assert_threads_do_not_matter,
    generator,
)

plain = erase_scan_reference
Sizes = tuple[int, int, int, int, int]


def tensors(sizes: Sizes, dtype: torch.dtype = torch.float64) -> tuple[Tensor, ...]:
    batch, time, heads, keys, values = sizes
    source = generator()

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=source, dtype=dtype)

    lookup = torch.nn.functional.normalize(normal(batch, time, heads, keys), dim=-1)
    return (
        normal(batch, time, heads, keys),
        normal(batch, time, heads, keys),
        normal(batch, time, heads, values),
        normal(batch, time, heads, keys).sigmoid(),
        lookup,
        normal(batch, time, heads, keys).sigmoid() * lookup,
        normal(batch, heads, keys, values),
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("time", LENGTHS)
def test_the_fast_scan_is_the_loop(time: int, dtype: torch.dtype) -> None:
    for batch, heads, keys, values in ((1, 1, 1, 1), (3, 2, 5, 7), (1, 1, 17, 9)):
        assert_agrees(erase_scan, plain, tensors((batch, time, heads, keys, values), dtype))


def test_gradients_are_derivatives() -> None:
    for time in (1, 5):
        assert_gradients_are_derivatives(erase_scan, tensors((1, time, 2, 3, 2)))


def test_neither_layout_nor_threads_matter() -> None:
    assert_layout_does_not_matter(erase_scan, tensors((2, 7, 2, 3, 5)))
    assert_threads_do_not_matter(erase_scan, tensors((3, 70, 3, 9, 11)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_a_scan_in_parts_is_the_whole_scan(dtype: torch.dtype) -> None:
    *sequences, start = (t.to(dtype) for t in tensors((2, 60, 2, 5, 9)))
    readings, final = erase_scan(*sequences, start)
    parts, state = [], start
    for first, last in ((0, 1), (1, 47), (47, 60)):
        part, state = erase_scan(*(t[:, first:last] for t in sequences), state)
        parts.append(part)
    assert_same_bits([readings, final], [torch.cat(parts, dim=1), state])


def test_without_decay_and_with_one_key_it_is_the_delta_rule() -> None:
    q, _, v, decay, key, _, start = tensors((2, 40, 2, 5, 4))
    beta = 2 * decay[..., 0]
    found = erase_scan(q, key, beta[..., None] * v, torch.ones_like(q), key, beta[..., None] * key, start)
    wanted = delta_scan(q, key[:, :, None], v[:, :, None], beta[:, :, None], None, start)
    for left, right in zip(found, wanted, strict=True):
        torch.testing.assert_close(left, right, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("position", range(1, 7))
def test_what_does_not_fit_is_refused(position: int) -> None:
    wrong = list(tensors((2, 3, 2, 4, 5)))
    wrong[position] = wrong[position][:-1]
    with pytest.raises(InputError, match="has the shape"):
        erase_scan(*wrong)
    wrong = list(tensors((2, 3, 2, 4, 5)))
    wrong[position] = wrong[position].float()
    with pytest.raises(InputError, match="float32"):
        erase_scan(*wrong)
