"""The diagonal scan against its plain loop."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nerode.core import InputError
from nerode.models.kernels.scan import diagonal_scan, diagonal_scan_reference
from tests.models.kernels.agreement import (
    LENGTHS,
    assert_agrees,
    assert_gradients_are_derivatives,
    assert_layout_does_not_matter,
    assert_same_bits,
    assert_threads_do_not_matter,
    generator,
)

DTYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)


def plain(gate: Tensor, inputs: Tensor, initial: Tensor) -> tuple[Tensor, Tensor]:
    states = diagonal_scan_reference(gate, inputs, initial)
    return states, states[:, -1]


def tensors(
    batch: int, time: int, channels: int, dtype: torch.dtype = torch.float64, *, constant: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    source = generator()
    gate_shape = (channels,) if constant else (batch, time, channels)
    gate = torch.randn(gate_shape, generator=source, dtype=dtype)
    inputs = torch.randn(batch, time, channels, generator=source, dtype=dtype)
    initial = torch.randn(batch, channels, generator=source, dtype=dtype)
    return gate / (1 + gate.abs()), inputs, initial


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("time", LENGTHS)
def test_the_fast_scan_is_the_loop(time: int, dtype: torch.dtype, constant: bool) -> None:
    for batch, channels in ((1, 1), (3, 5), (9, 67)):
        assert_agrees(diagonal_scan, plain, tensors(batch, time, channels, dtype, constant=constant))


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_gradients_are_derivatives(dtype: torch.dtype, constant: bool) -> None:
    for time in (1, 2, 7):
        assert_gradients_are_derivatives(diagonal_scan, tensors(2, time, 3, dtype, constant=constant))


@pytest.mark.parametrize("dtype", DTYPES)
def test_neither_layout_nor_threads_matter(dtype: torch.dtype) -> None:
    assert_layout_does_not_matter(diagonal_scan, tensors(3, 7, 5, dtype))
    assert_threads_do_not_matter(diagonal_scan, tensors(5, 257, 131, dtype))
    assert_threads_do_not_matter(diagonal_scan, tensors(1, 257, 515, dtype, constant=True))


@pytest.mark.parametrize("dtype", [*DTYPES, torch.bfloat16, torch.float16])
def test_a_scan_in_parts_is_the_whole_scan(dtype: torch.dtype) -> None:
    gate, inputs, initial = (x.to(dtype) for x in tensors(2, 23, 37, torch.float32))
    states, final = diagonal_scan(gate, inputs, initial)
    parts, state = [], initial
    for first, last in ((0, 1), (1, 9), (9, 23)):
        part, state = diagonal_scan(gate[:, first:last], inputs[:, first:last], state)
        parts.append(part)
    assert states.dtype == dtype
    assert_same_bits([states, final], [torch.cat(parts, dim=1), state])


def test_a_state_may_have_several_axes_and_a_conjugated_gate() -> None:
    gate, inputs, initial = (x.unflatten(-1, (2, 3)) for x in tensors(2, 7, 6, torch.complex128))
    fast, _ = diagonal_scan(gate.conj(), inputs, initial)
    torch.testing.assert_close(fast, diagonal_scan_reference(gate.conj().clone(), inputs, initial))


def test_without_an_initial_state_it_is_zero() -> None:
    gate, inputs, initial = tensors(2, 7, 3)
    assert_same_bits(diagonal_scan(gate, inputs), diagonal_scan(gate, inputs, torch.zeros_like(initial)))


def test_gates_of_zero_and_one_are_exact_for_long_words() -> None:
    inputs = torch.zeros(1, 5000, 2)
    inputs[0, 10] = 1
    gate = torch.ones_like(inputs)
    gate[0, 4000, 1] = 0
    states, final = diagonal_scan(gate, inputs)
    assert final.tolist() == [[1, 0]]
    assert states[0, 3999].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a, b, h: (a, b[:, :0], h), "every axis"),
        (lambda a, b, h: (a, b[0, 0], h), "axes"),
        (lambda a, b, h: (a[:, :-1], b, h), "`gate` has the shape"),
        (lambda a, b, h: (a[0], b, h), "constant gate"),
        (lambda a, b, h: (a, b, h[:, :-1]), "`initial` has the shape"),
        (lambda a, b, h: (a.float(), b, h), "float32"),
        (lambda a, b, h: (a, b, h + 0j), "complex128"),
        (lambda a, b, h: (a.long(), b.long(), h.long()), "int64"),
        (lambda a, b, h: (a.to("meta"), b, h), "meta"),
    ],
)
def test_what_does_not_fit_is_refused(change, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=message):
        diagonal_scan(*change(*tensors(2, 3, 4)))
