"""Sparse maps: one position and a sequence give the same, dense or not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch

from nerode.core import root_of_unity, to_complex
from nerode.models.compiled.affine_map import AffineMap
from nerode.models.compiled.numbers import Converter
from nerode.network import Affine


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
