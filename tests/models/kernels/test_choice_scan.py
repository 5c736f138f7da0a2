"""The recurrence of PD-SSM against its plain loop."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nerode.core import InputError
from nerode.models.kernels.choice_scan import choice_scan, choice_scan_reference
from tests.models.kernels.agreement import (
    Kernel,
    assert_agrees,
    assert_gradients_are_derivatives,
    assert_layout_does_not_matter,
    assert_same_bits,
    assert_threads_do_not_matter,
    generator,
)

Sizes = tuple[int, int, int, int]
SHAPES = ((1, 3, 1), (2, 1, 5), (3, 8, 17), (2, 3, 33))


def tensors(sizes: Sizes, dtype: torch.dtype = torch.float64) -> tuple[Tensor, ...]:
    """Shares, matrices, diagonal, writes and the first state."""
    batch, time, choices, n = sizes
    source = generator()

    def normal(*shape: int, scale: float = 1.0) -> Tensor:
        return scale * torch.randn(shape, generator=source, dtype=dtype)

    def number(*shape: int, scale: float) -> Tensor:
        return torch.view_as_complex(normal(*shape, 2, scale=scale))

    return (
        normal(batch, time, choices).softmax(dim=-1),
        normal(choices, n, n),
        number(batch, time, n, scale=0.5),
        number(batch, time, n, scale=1.0),
        number(batch, n, scale=1.0),
    )


def one(kernel: object) -> Kernel:
    """The kernel as one that gives a tuple of outputs."""
    return lambda *given: (kernel(*given),)  # type: ignore[operator]


def unwritten(kernel: object) -> Kernel:
    return lambda s, m, d, h: (kernel(s, m, d, None, h),)  # type: ignore[operator]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("time", [1, 2, 7, 64])
def test_the_fast_scan_is_the_loop(time: int, dtype: torch.dtype) -> None:
    for batch, choices, n in SHAPES:
        given = tensors((batch, time, choices, n), dtype)
        assert_agrees(one(choice_scan), one(choice_scan_reference), given)
    without = (*given[:3], given[4])
    assert_agrees(unwritten(choice_scan), unwritten(choice_scan_reference), without)


def test_without_a_gradient_of_the_choice_the_others_are_derivatives() -> None:
    shares, matrices, *rest = tensors((2, 4, 3, 5))

    def kernel(*given: Tensor) -> tuple[Tensor, ...]:
        return (choice_scan(shares, matrices, *given, straight_through=False),)

    assert_gradients_are_derivatives(kernel, rest)
    shares.requires_grad_()
    states = choice_scan(shares, matrices, *(t.requires_grad_() for t in rest), straight_through=False)
    states.real.sum().backward()
    assert shares.grad is None or not shares.grad.any()


def test_neither_layout_nor_threads_matter() -> None:
    assert_layout_does_not_matter(one(choice_scan), tensors((2, 7, 3, 5)))
    assert_threads_do_not_matter(one(choice_scan), tensors((5, 30, 8, 20)))


def test_a_scan_in_parts_is_the_whole_scan() -> None:
    shares, matrices, diagonal, writes, state = tensors((2, 60, 3, 9), torch.float32)
    whole = choice_scan(shares, matrices, diagonal, writes, state)
    parts = []
    for cut in (slice(0, 1), slice(1, 47), slice(47, 60)):
        parts.append(choice_scan(shares[:, cut], matrices, diagonal[:, cut], writes[:, cut], state))
        state = parts[-1][:, -1]
    assert_same_bits([whole], [torch.cat(parts, dim=1)])


def test_the_first_of_equal_entries_is_chosen() -> None:
    shares, diagonal = torch.ones(1, 3, 1), torch.ones(1, 3, 20, dtype=torch.complex64)
    start = torch.arange(20).to(torch.complex64)[None]
    states = choice_scan(shares, torch.zeros(1, 20, 20), diagonal, None, start)
    assert states[0, :, 0].tolist() == [190, 190, 190]
    assert not states[0, :, 1:].any()


def test_what_is_not_a_number_stays_so() -> None:
    shares, matrices, diagonal, writes, initial = tensors((2, 5, 3, 4))
    shares[1, 2, 0] = torch.nan
    states = choice_scan(shares, matrices, diagonal, writes, initial)
    assert states[0].isfinite().all()
    assert states[1, :2].isfinite().all()
    assert states[1, 2].isnan().all()


@pytest.mark.parametrize("position", range(5))
def test_what_does_not_fit_is_refused(position: int) -> None:
    wrong = list(tensors((2, 3, 4, 5)))
    wrong[position] = wrong[position][..., :-1]
    with pytest.raises(InputError, match="has the shape"):
        choice_scan(*wrong)
