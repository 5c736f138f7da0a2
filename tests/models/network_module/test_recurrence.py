"""Recurrences of compiled layers: windows settle, and chosen matrices scan, as one step after the other."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from nerode.core import InputError
from nerode.models.network_module.model import CompiledRecurrence, longest_path
from nerode.models.network_module.numbers import Converter
from nerode.network import Affine, ByChoice, Factor, Fixed, Squashed


@pytest.mark.parametrize(
    ("successors", "length"),
    [
        ([[]], 1),
        ([[1], []], 2),
        ([[1], [2], []], 3),
        ([[1, 2], [2], []], 3),
        ([[0]], None),
        ([[1], [0]], None),
        ([[1], [2], [1]], None),
    ],
)
def test_longest_path(successors: list[list[int]], length: int | None) -> None:
    assert longest_path(successors, limit=10) == length


def test_a_path_beyond_the_limit() -> None:
    chain = [[i + 1] for i in range(20)] + [[]]
    assert longest_path(chain, limit=20) is None
    assert longest_path(chain, limit=21) == 21


def looped(
    recurrence: CompiledRecurrence, seen: torch.Tensor, letters: torch.Tensor, start: torch.Tensor
) -> torch.Tensor:
    """The states by single steps."""
    states = []
    for time in range(seen.shape[1]):
        start = recurrence.advance(recurrence.drive(seen[:, time], letters[:, time]), start)
        states.append(start)
    return torch.stack(states, dim=1)


def assert_scan_is_loop(recurrence: CompiledRecurrence, inputs: int, width: int, letters: int = 1) -> None:
    """Asserts it for several lengths, from a start that is not zero."""
    torch.manual_seed(0)
    for length in (1, 2, 3, 7, 64, 257):
        seen, start = torch.randn(2, length, inputs).double(), torch.randn(2, width).double()
        words = torch.randint(0, letters, (2, length))
        found = recurrence.scan(recurrence.drive(seen, words), start)
        torch.testing.assert_close(found, looped(recurrence, seen, words, start), rtol=0, atol=1e-10)


WRITE = Affine(num_inputs=2, bias=(0, 1, 0), rows=(((0, 1),), ((1, 1),), ()))


def test_a_shift_settles() -> None:
    record = Fixed(matrix=((), ((0, 1),), ((0, 2), (1, -1))), write=WRITE)
    recurrence = CompiledRecurrence(record, Converter(torch.float64), place="test", is_complex=False)
    assert recurrence.window == 3
    assert_scan_is_loop(recurrence, 2, 3)


def test_a_matrix_with_a_cycle() -> None:
    record = Fixed(matrix=(((2, 1),), ((0, 1),), ((1, -1),)), write=WRITE)
    recurrence = CompiledRecurrence(record, Converter(torch.float64), place="test", is_complex=False)
    assert recurrence.window is None
    assert_scan_is_loop(recurrence, 2, 3)


@pytest.mark.parametrize("activation", ["relu", "clip", "tanh"])
@pytest.mark.parametrize("cyclic", [False, True])
def test_elman_networks(activation: str, cyclic: bool) -> None:
    back = ((4, 1),) if cyclic else ()
    update = Affine(num_inputs=5, bias=(0, 1, 0), rows=(((0, 1), *back), ((2, 1),), ((1, 2), (3, -1))))
    record = Squashed(activation=activation, update=update)
    recurrence = CompiledRecurrence(record, Converter(torch.float64), place="test", is_complex=False)
    assert (recurrence.window is None) == cyclic
    assert_scan_is_loop(recurrence, 2, 3)


def test_matrices_permutations_and_reflections_by_letter() -> None:
    swap, turn = (((1, 1),), ((0, 1),), ((2, 1),)), (((1, 1),), ((2, 1),), ((0, -1),))
    writes = ((0, 0, 0), (1, 0, 2))
    numbers = Converter(torch.float64)
    dense = ByChoice.from_rows(matrices=(swap, turn), writes=writes)
    assert_scan_is_loop(CompiledRecurrence(dense, numbers, place="test", is_complex=False), 1, 3, 2)
    moving = ByChoice.from_images(
        images=((1, 0, 2), (0, 0, 1)), diagonals=((1, 1, 1), (1, -1, 0)), writes=writes
    )
    assert_scan_is_loop(CompiledRecurrence(moving, numbers, place="test", is_complex=False), 1, 3, 2)
    mirrors = ((Factor(beta=2, vector=(1, -1, 0)), Factor(beta=1, vector=(0, 0, 3))), ())
    reflected = ByChoice.from_factors(factors=mirrors, writes=writes)
    assert_scan_is_loop(CompiledRecurrence(reflected, numbers, place="test", is_complex=False), 1, 3, 2)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_a_step_has_the_same_bits_alone_and_in_a_batch(dtype: torch.dtype) -> None:
    width, generator = 24, torch.Generator().manual_seed(0)
    rows = torch.randint(-99, 100, (2, width, width), generator=generator).tolist()
    matrices = tuple(
        tuple(tuple((j, Fraction(v, 97)) for j, v in enumerate(row)) for row in matrix) for matrix in rows
    )
    record = ByChoice.from_rows(matrices=matrices, writes=((Fraction(1, 3),) * width,) * 2)
    recurrence = CompiledRecurrence(record, Converter(dtype), place="here", is_complex=False)
    letters = torch.randint(0, 2, (64,), generator=generator)
    states = torch.randn(64, width, generator=generator).to(dtype)
    together = recurrence.advance(recurrence.drive(states, letters), states)
    for row in range(64):
        one = slice(row, row + 1)
        alone = recurrence.advance(recurrence.drive(states[one], letters[one]), states[one])
        assert torch.equal(alone, together[one])


def test_a_complex_cell_is_refused() -> None:
    record = Squashed(activation="relu", update=Affine(num_inputs=1, bias=(0,), rows=((),)))
    with pytest.raises(InputError, match="test: a nonlinear recurrence has no complex form"):
        CompiledRecurrence(record, Converter(torch.float64), place="test", is_complex=True)
