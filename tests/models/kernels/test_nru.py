"""The loop of the non-saturating recurrent unit against its plain form."""

from __future__ import annotations

import functools

import pytest
import torch
from torch import Tensor

from nerode.core import InputError
from nerode.models.architectures.nru import Heads, nru, nru_reference
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

HEADS = {
    f"{count}{'-factored' * factored}{'-rectified' * rectified}": Heads(
        count=count, memory=9 * count, factored=factored, rectified=rectified
    )
    for count in (1, 3)
    for factored in (True, False)
    for rectified in (True, False)
}


def fast(
    heads: Heads, x: Tensor, w: Tensor, g: Tensor, b: Tensor, h: Tensor, m: Tensor
) -> tuple[Tensor, Tensor]:
    return nru(x, w, g, b, (h, m), heads)


def plain(
    heads: Heads, x: Tensor, w: Tensor, g: Tensor, b: Tensor, h: Tensor, m: Tensor
) -> tuple[Tensor, Tensor]:
    return nru_reference(x, w, g, b, (h, m), heads)


def kernel(name: str) -> Kernel:
    return functools.partial(fast, HEADS[name])


def tensors(
    heads: Heads, batch: int, time: int, hidden: int, dtype: torch.dtype = torch.float64
) -> list[Tensor]:
    source = generator()

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=source, dtype=dtype)

    state = hidden + heads.memory
    return [
        normal(batch, time, hidden),
        normal(hidden, state) * (0.1 / state**0.5),
        normal(heads.width, state) * (0.1 / state**0.5),
        normal(heads.width),
        normal(batch, hidden),
        normal(batch, heads.memory),
    ]


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("time", [1, 2, 7])
def test_the_fast_unit_is_the_loop(time: int, name: str) -> None:
    for batch, hidden in ((1, 1), (3, 5), (11, 19)):
        given = tensors(HEADS[name], batch, time, hidden)
        assert_agrees(kernel(name), functools.partial(plain, HEADS[name]), given)


@pytest.mark.parametrize("time", LENGTHS)
def test_it_is_the_loop_at_any_length(time: int) -> None:
    name = "3-factored-rectified"
    assert_agrees(kernel(name), functools.partial(plain, HEADS[name]), tensors(HEADS[name], 3, time, 5))


@pytest.mark.parametrize("name", HEADS)
def test_float32_is_the_loop_too(name: str) -> None:
    given = tensors(HEADS[name], 5, 20, 6, torch.float32)
    assert_agrees(kernel(name), functools.partial(plain, HEADS[name]), given)


@pytest.mark.parametrize("factored", [True, False])
@pytest.mark.parametrize("rectified", [True, False])
def test_gradients_are_derivatives(factored: bool, rectified: bool) -> None:
    heads = Heads(count=2, memory=2, factored=factored, rectified=rectified)
    given = tensors(heads, 1, 3, 2)
    # Away from the corners of relu, where there is no derivative.
    given[0] = given[0].abs() + 1
    assert_gradients_are_derivatives(functools.partial(fast, heads), given)


@pytest.mark.parametrize("name", HEADS)
def test_neither_layout_nor_threads_matter(name: str) -> None:
    assert_layout_does_not_matter(kernel(name), tensors(HEADS[name], 3, 7, 5))
    fixed = tensors(HEADS[name], 29, 12, 17, torch.float32)
    assert_threads_do_not_matter(lambda x, h, m: kernel(name)(x, *fixed[1:4], h, m), [fixed[0], *fixed[4:]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_sequence_in_parts_is_the_whole_sequence(dtype: torch.dtype) -> None:
    x, *weights, h, m = (t.to(dtype) for t in tensors(HEADS["3-factored"], 3, 23, 7))
    run = kernel("3-factored")
    whole = run(x, *weights, h, m)
    parts = []
    for first, last in ((0, 1), (1, 9), (9, 23)):
        part = run(x[:, first:last], *weights, h, m)
        h, m = (output[:, -1] for output in part)
        parts.append(part)
    assert_same_bits(whole, [torch.cat(pieces, dim=1) for pieces in zip(*parts, strict=True)])


def test_a_direction_of_zero_writes_nothing_and_has_finite_gradients_when_rectified() -> None:
    heads = HEADS["1-factored-rectified"]
    given = tensors(heads, 1, 2, 2)
    given[2].zero_()
    given[3].fill_(-1.0)
    given[3][:2] = 1.0
    # The outer product of -1 and 1 is nowhere positive.
    for first in (2, 2 + heads.span):
        given[3][first : first + heads.side] = 1.0
    leaves = [t.requires_grad_() for t in given]
    _, memory = kernel("1-factored-rectified")(*leaves)
    assert torch.equal(memory, given[5][:, None].expand_as(memory))
    gradients = torch.autograd.grad(memory.sum(), leaves, allow_unused=True)
    assert all(torch.isfinite(g).all() for g in gradients if g is not None)


def test_what_does_not_fit_is_refused() -> None:
    heads = HEADS["3-factored"]
    good = tensors(heads, 2, 3, 4)
    for position in range(len(good)):
        wrong = list(good)
        wrong[position] = wrong[position][..., :-1]
        with pytest.raises(InputError, match="has the shape"):
            fast(heads, *wrong)
        wrong[position] = good[position].float()
        with pytest.raises(InputError, match="float32"):
            fast(heads, *wrong)
    with pytest.raises(InputError, match="not a square"):
        Heads(count=3, memory=5, factored=True, rectified=False)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_a_direction_of_zero_writes_nothing_in_any_type(dtype: torch.dtype) -> None:
    heads = Heads(count=2, memory=3, factored=False, rectified=True)
    x, w, g, b, h, m = tensors(heads, 2, 4, 2, dtype)
    g.zero_()
    # Both heads are strong, and no entry of their directions is positive.
    b.fill_(-1.0)
    b[: 2 * heads.count] = 1.0
    _, memory = fast(heads, x, w, g, b, h, m)
    assert torch.equal(memory, m[:, None].expand_as(memory))
