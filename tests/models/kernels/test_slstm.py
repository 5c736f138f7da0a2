"""The loop of the sLSTM cell against its plain form."""

from __future__ import annotations

import functools

import pytest
import torch
from torch import Tensor

from nerode.core import InputError
from nerode.models.architectures.slstm import slstm, slstm_reference
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

Four = tuple[Tensor, Tensor, Tensor, Tensor]


def fast(x: Tensor, w: Tensor, h: Tensor, c: Tensor, n: Tensor, m: Tensor, *, exponential: bool) -> Four:
    return slstm(x, w, (h, c, n, m), exponential_forget=exponential)


def plain(x: Tensor, w: Tensor, h: Tensor, c: Tensor, n: Tensor, m: Tensor, *, exponential: bool) -> Four:
    return slstm_reference(x, w, (h, c, n, m), exponential_forget=exponential)


FAST: dict[str, Kernel] = {
    "sigmoid": functools.partial(fast, exponential=False),
    "exp": functools.partial(fast, exponential=True),
}
PLAIN: dict[str, Kernel] = {
    "sigmoid": functools.partial(plain, exponential=False),
    "exp": functools.partial(plain, exponential=True),
}


def tensors(
    batch: int,
    time: int,
    heads: int,
    size: int,
    dtype: torch.dtype = torch.float64,
    *,
    spread: float = 1.0,
    written: bool = True,
) -> list[Tensor]:
    source = generator()

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=source, dtype=dtype)

    hidden = heads * size
    normaliser = normal(batch, hidden).abs() + 0.5 if written else torch.zeros(batch, hidden, dtype=dtype)
    gates = normal(batch, time, 4 * hidden) * spread
    # A little more is forgotten than kept: otherwise m, and the gradients, grow with the length.
    gates[..., hidden : 2 * hidden] -= 1
    return [
        gates,
        normal(heads, 4 * size, size) * (0.5 / size**0.5),
        normal(batch, hidden),
        normal(batch, hidden),
        normaliser,
        normal(batch, hidden),
    ]


@pytest.mark.parametrize("forget", FAST)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("time", LENGTHS)
def test_the_fast_cell_is_the_loop(time: int, dtype: torch.dtype, forget: str) -> None:
    for batch, heads, size in ((1, 1, 1), (3, 2, 5), (11, 4, 9)):
        assert_agrees(FAST[forget], PLAIN[forget], tensors(batch, time, heads, size, dtype))


@pytest.mark.parametrize("forget", FAST)
def test_it_is_the_loop_before_anything_was_written(forget: str) -> None:
    assert_agrees(FAST[forget], PLAIN[forget], tensors(3, 5, 2, 3, written=False))


@pytest.mark.parametrize("forget", FAST)
def test_gradients_are_derivatives(forget: str) -> None:
    for time in (1, 4):
        assert_gradients_are_derivatives(FAST[forget], tensors(2, time, 2, 2))


@pytest.mark.parametrize("forget", FAST)
def test_neither_layout_nor_threads_matter(forget: str) -> None:
    assert_layout_does_not_matter(FAST[forget], tensors(3, 7, 2, 3))
    fixed = tensors(29, 20, 3, 11, torch.float32)
    assert_threads_do_not_matter(lambda x, *state: FAST[forget](x, fixed[1], *state), [fixed[0], *fixed[2:]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_sequence_in_parts_is_the_whole_sequence(dtype: torch.dtype) -> None:
    x, weight, *state = (t.to(dtype) for t in tensors(3, 23, 2, 4))
    whole = FAST["sigmoid"](x, weight, *state)
    parts = []
    for first, last in ((0, 1), (1, 9), (9, 23)):
        part = FAST["sigmoid"](x[:, first:last], weight, *state)
        state = [output[:, -1] for output in part]
        parts.append(part)
    assert_same_bits(whole, [torch.cat(pieces, dim=1) for pieces in zip(*parts, strict=True)])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gates_far_out_of_range_are_as_in_the_loop(dtype: torch.dtype) -> None:
    for written in (True, False):
        given = tensors(3, 9, 2, 4, dtype, spread=400.0, written=written)
        for mine, other in zip(FAST["sigmoid"](*given), PLAIN["sigmoid"](*given), strict=True):
            assert torch.isfinite(mine).all()
            torch.testing.assert_close(mine, other)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_logarithm_of_the_forget_gate_is_accurate(dtype: torch.dtype) -> None:
    line = torch.linspace(-120, 120, 9001, dtype=dtype)
    f = torch.cat([line, line / 100, line / 1e4, line * 8])
    low = torch.full_like(f, -2000.0)
    x = torch.stack([low, f, low, low], dim=1)[:, None]
    one = torch.ones(len(f), 1, dtype=dtype)
    m = FAST["sigmoid"](x, torch.zeros(1, 4, 1, dtype=dtype), one, one, one, 0 * one)[3]
    wanted = torch.nn.functional.logsigmoid(f.double()).to(dtype)
    tiny = torch.finfo(dtype)
    torch.testing.assert_close(m.flatten(), wanted, rtol=6 * tiny.eps, atol=tiny.tiny)


def test_nan_stays_nan() -> None:
    for gate in range(4):
        x = torch.zeros(1, 2, 4)
        x[0, 0, gate] = torch.nan
        one = torch.ones(1, 1)
        h = FAST["sigmoid"](x, torch.zeros(1, 4, 1), one, one, one, one)[0]
        assert torch.isnan(h[0, 0])


def test_what_does_not_fit_is_refused() -> None:
    good = tensors(2, 3, 2, 4)
    for position in range(len(good)):
        wrong = list(good)
        wrong[position] = wrong[position][..., :-1]
        with pytest.raises(InputError, match="has the shape"):
            FAST["sigmoid"](*wrong)
        wrong[position] = good[position].float()
        with pytest.raises(InputError, match="float32"):
            FAST["sigmoid"](*wrong)
