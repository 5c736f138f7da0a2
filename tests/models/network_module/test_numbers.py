"""Exact numbers become the nearest floats."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from nerode.core import InputError, root_of_unity, to_complex
from nerode.models import TORCH_DTYPES
from nerode.models.network_module.numbers import AffineMap, Converter
from nerode.network import Affine


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


def random_map(rows: int, columns: int, entries: int, seed: int = 0) -> Affine:
    """A sparse map with small dyadic coefficients, so that every order of summation gives the same bits."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(rows):
        places = np.sort(random.choice(columns, size=min(entries, columns), replace=False))
        made.append(tuple((int(j), Fraction(int(random.integers(1, 9)), 8)) for j in places))
    return Affine(num_inputs=columns, bias=tuple(range(rows)), rows=tuple(made))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (5, 3), (40, 60), (700, 900)])
def test_equals_the_exact_map(rows: int, columns: int, dtype: torch.dtype) -> None:
    affine = random_map(rows, columns, 3)
    module = AffineMap.of(affine, Converter(dtype), place="test")
    x = torch.from_numpy(np.random.default_rng(1).integers(-4, 5, (2, 3, columns))).to(dtype)
    expected = torch.tensor([[[float(v) for v in affine(word)] for word in row] for row in x.long().tolist()])
    assert torch.equal(module(x), expected.to(dtype))
    assert torch.equal(module(x[:, 0]), expected[:, 0].to(dtype))


def test_a_map_of_ten_thousand_stays_sparse() -> None:
    affine = random_map(10_000, 10_000, 3)
    module = AffineMap.of(affine, Converter(torch.float32), place="test")
    assert not module.is_dense
    assert sum(p.numel() for p in module.parameters()) == 40_000
    x = torch.from_numpy(np.random.default_rng(1).integers(-4, 5, (2, 5, 10_000))).float()
    by_position = torch.stack([module(position) for position in x.unbind(1)], dim=1)
    assert torch.equal(module(x), by_position)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype: torch.dtype) -> None:
    module = AffineMap.of(random_map(6, 8, 2), Converter(dtype), place="test")
    x = torch.ones(2, 3, 8, dtype=dtype)
    assert module(x).dtype == dtype
    assert torch.equal(module(x)[:, 1], module(x[:, 1]))


def test_complex_coefficients() -> None:
    turn = root_of_unity(1, 5)
    affine = Affine(num_inputs=2, bias=(turn, 0), rows=(((0, 1), (1, turn)), ((1, root_of_unity(1, 4)),)))
    module = AffineMap.of(affine, Converter(torch.float64), place="test", is_complex=True)
    expected = torch.tensor([2 + 4 * to_complex(turn), 3j])
    torch.testing.assert_close(module(torch.tensor([[2.0, 3.0]]).double())[0], expected.to(torch.complex128))


def test_no_rows_give_nothing() -> None:
    module = AffineMap.of(Affine(num_inputs=3, bias=(), rows=()), Converter(torch.float32), place="test")
    assert module(torch.ones(2, 3)).shape == (2, 0)
