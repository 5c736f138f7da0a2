"""Exact numbers become the nearest floats."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from hypothesis import given, strategies as st

from nerode.core import InputError
from nerode.models import TORCH_DTYPES
from nerode.models.compiled.numbers import Converter


def converted(value: Fraction, dtype: torch.dtype) -> float:
    return float(Converter(dtype).vector([value], "here")[0])


def grid(dtype: torch.dtype, number: float) -> list[Fraction]:
    """The number of a type and its neighbours, found by their bits."""
    whole = {8: torch.int64, 4: torch.int32, 2: torch.int16}[dtype.itemsize]
    bits = torch.tensor([abs(number)], dtype=dtype).view(whole)
    sizes = (bits + torch.tensor([-1, 0, 1], dtype=whole))[int(number == 0) :].view(dtype)
    sign = -1 if number < 0 else 1
    return [sign * Fraction(size) for size in sizes.double().tolist() if size < float("inf")]


fractions = st.fractions(min_value=-60_000, max_value=60_000)


@pytest.mark.parametrize("dtype", TORCH_DTYPES.values())
@given(value=fractions, scale=st.integers(-20, 0))
def test_no_neighbour_is_nearer(dtype: torch.dtype, value: Fraction, scale: int) -> None:
    value *= Fraction(2) ** scale
    number = converted(value, dtype)
    assert abs(Fraction(number) - value) == min(abs(near - value) for near in grid(dtype, number))


@pytest.mark.parametrize("dtype", TORCH_DTYPES.values())
def test_just_above_the_middle_of_two_numbers_is_the_upper_one(dtype: torch.dtype) -> None:
    """In float64 this is the middle itself, from where the even number below would be taken."""
    step = Fraction(torch.finfo(dtype).eps)
    middle = 1 + step / 2
    assert converted(middle, dtype) == 1
    assert converted(middle + Fraction(1, 2**80), dtype) == 1 + step
    assert converted(-middle - Fraction(1, 2**80), dtype) == -1 - step


@pytest.mark.parametrize("dtype", TORCH_DTYPES.values())
def test_the_smallest_and_the_largest(dtype: torch.dtype) -> None:
    form = torch.finfo(dtype)
    smallest = Fraction(form.smallest_normal) * Fraction(form.eps)
    assert converted(smallest, dtype) == float(smallest)
    assert converted(smallest / 2, dtype) == 0
    assert converted(smallest * Fraction(3, 4), dtype) == float(smallest)
    assert converted(Fraction(form.max), dtype) == form.max
    assert converted(Fraction(0), dtype) == 0
    with pytest.raises(InputError, match="beyond the largest"):
        converted(2 * Fraction(form.max), dtype)
