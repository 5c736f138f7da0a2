"""Decaying matrix states against their plain loops."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nerode.core import InputError
from nerode.models.kernels import matrix_scan
from nerode.models.kernels.matrix_scan import (
    choose_kernel,
    decay_scan,
    decay_scan_reference,
    steps_between_borders,
)
from tests.models.kernels.agreement import (
    LENGTHS,
    TOLERANCE,
    assert_agrees,
    assert_gradients_are_derivatives,
    assert_layout_does_not_matter,
    assert_same_bits,
    assert_threads_do_not_matter,
    generator,
)

plain = decay_scan_reference


@pytest.fixture(params=["steps", "chunks"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to compute, whatever the size of the state."""
    chosen: str = request.param

    def choose(time: int, keys: int, values: int, *, vector: bool, itemsize: int) -> tuple[str, int]:
        kind = "vector" if vector else "scalar"
        if chosen == "chunks":
            return f"{kind}_chunks", 16 if vector else 32
        return f"{kind}_decay", steps_between_borders(time, keys * values * itemsize)

    monkeypatch.setattr(matrix_scan, "choose_kernel", choose)
    return chosen


def whole_and_parts(given: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Readings and final state of a sequence of length 90, at once and in three parts."""
    *sequences, state = given
    whole = list(decay_scan(*given))
    parts = []
    for first, last in ((0, 1), (1, 71), (71, 90)):
        part, state = decay_scan(*(t[:, first:last] for t in sequences), state)
        parts.append(part)
    return whole, [torch.cat(parts, dim=1), state]


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


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("time", LENGTHS)
def test_the_fast_scan_is_the_loop(time: int, dtype: torch.dtype, vector: bool) -> None:
    for batch, heads, keys, values in (
        (1, 1, 1, 1),
        (3, 2, 5, 7),
        (2, 3, 8, 9),
        (1, 2, 33, 17),
        (1, 1, 16, 64),
    ):
        assert_agrees(decay_scan, plain, tensors((batch, time, heads, keys, values), dtype, vector=vector))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("vector", [False, True])
def test_gradients_are_derivatives(vector: bool) -> None:
    for time in (1, 2, 7):
        assert_gradients_are_derivatives(decay_scan, tensors((2, time, 1, 3, 2), vector=vector))
    assert_gradients_are_derivatives(decay_scan, tensors((1, 19, 1, 8, 16), vector=vector))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("vector", [False, True])
def test_neither_layout_nor_threads_matter(vector: bool) -> None:
    assert_layout_does_not_matter(decay_scan, tensors((2, 7, 2, 3, 5), vector=vector))
    assert_layout_does_not_matter(decay_scan, tensors((2, 9, 2, 10, 13), vector=vector))
    assert_threads_do_not_matter(decay_scan, tensors((3, 70, 3, 17, 19), vector=vector))


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_a_scan_in_parts_is_the_whole_scan(dtype: torch.dtype, vector: bool, way: str) -> None:
    whole, parts = whole_and_parts([t.to(dtype) for t in tensors((2, 90, 2, 5, 9), vector=vector)])
    if way == "steps" or dtype not in TOLERANCE:
        assert_same_bits(whole, parts)
    for mine, other in zip(whole, parts, strict=True):
        tolerance = TOLERANCE.get(dtype, 0)
        torch.testing.assert_close(mine, other, rtol=tolerance, atol=tolerance)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_integers_are_exact(dtype: torch.dtype, vector: bool) -> None:
    """Signs, resets and counts: no order of additions can make a difference."""
    source = generator()
    shapes = [t.shape for t in tensors((2, 90, 2, 20, 33), vector=vector)]
    given = [torch.randint(-3, 4, shape, generator=source).to(dtype) for shape in shapes]
    given[3] = given[3].sign()
    whole, parts = whole_and_parts(given)
    assert_same_bits(whole, parts)
    assert_same_bits(whole, plain(*given))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("which", range(4))
def test_what_is_not_a_number_stays_in_the_future(which: int, vector: bool) -> None:
    given = list(tensors((1, 70, 1, 9, 17), vector=vector))
    before, _ = decay_scan(*given)
    for place in (3, 37, 64):
        spoilt = [t.clone() for t in given]
        spoilt[which][:, place] = torch.nan
        after, _ = decay_scan(*spoilt)
        assert_same_bits([before[:, :place]], [after[:, :place]])
        assert bool(after[:, place].isnan().any())


def test_without_an_initial_state_it_is_zero() -> None:
    *sequences, start = tensors((2, 7, 2, 3, 5))
    assert_same_bits(decay_scan(*sequences), decay_scan(*sequences, torch.zeros_like(start)))


@pytest.mark.usefixtures("way")
def test_a_decay_of_zero_forgets_and_is_no_trouble_to_gradients() -> None:
    for keys, values in ((3, 5), (9, 15)):
        for vector in (False, True):
            q, k, v, decay, start = tensors((1, 40, 1, keys, values), vector=vector)
            decay[:, 20] = 0
            assert_agrees(decay_scan, plain, (q, k, v, decay, start))
            _, final = decay_scan(q, k, v, decay, start)
            _, other = decay_scan(q, k, v, decay, start + 1)
            assert torch.equal(final, other)


@pytest.mark.parametrize("vector", [False, True])
def test_large_states_go_in_chunks(vector: bool) -> None:
    kind = "vector" if vector else "scalar"
    for time, keys, values, way in (
        (512, 64, 64, "chunks"),
        (16, 128, 32, "chunks"),
        (15, 64, 64, "decay"),
        (512, 16, 16, "decay"),
        (512, 8, 512, "decay"),
    ):
        kernel, chunk = choose_kernel(time, keys, values, vector=vector, itemsize=4)
        assert kernel == f"{kind}_{way}"
        assert 1 <= chunk <= 64
    assert_agrees(decay_scan, plain, tensors((1, 50, 1, 64, 64), torch.float64, vector=vector))


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
