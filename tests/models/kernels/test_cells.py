"""The nonlinear cells against their plain loops and against torch's own layers."""

from __future__ import annotations

import functools

import pytest
import torch
from torch import Tensor, nn

from nerode.core import InputError, UnknownName
from nerode.models.kernels import cells
from nerode.models.kernels.cells import (
    elman_reference,
    gru_reference,
    gru_reset_first_reference,
    lstm_reference,
)
from nerode.models.native import library as native
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


def single(cell, *arguments: Tensor, **options: str) -> tuple[Tensor]:  # type: ignore[no-untyped-def]
    return (cell(*arguments, **options),)


def paired(x: Tensor, weight: Tensor, state: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    return cells.lstm(x, weight, (state, cell))


def reading(x: Tensor, weight: Tensor, read: Tensor, bias: Tensor, *start: Tensor) -> tuple[Tensor, Tensor]:
    """An LSTM that projects its inputs itself."""
    return cells.lstm(x, weight, (start[0], start[1]), (read, bias))


def reading_plainly(
    x: Tensor, weight: Tensor, read: Tensor, bias: Tensor, *start: Tensor
) -> tuple[Tensor, Tensor]:
    return lstm_reference(x, weight, *start, read, bias)


def gru_reading(
    x: Tensor, weight: Tensor, bias: Tensor, read: Tensor, read_bias: Tensor, start: Tensor
) -> tuple[Tensor]:
    """A GRU that projects its inputs itself."""
    return (cells.gru(x, weight, bias, start, (read, read_bias)),)


def gru_reading_plainly(
    x: Tensor, weight: Tensor, bias: Tensor, read: Tensor, read_bias: Tensor, start: Tensor
) -> tuple[Tensor]:
    outer, inner = bias[: -len(start[0])], bias[-len(start[0]) :]
    shift = torch.cat([read_bias[: len(outer)] + outer, read_bias[len(outer) :]])
    return (gru_reference(nn.functional.linear(x, read, shift), weight, inner, start),)


FAST: dict[str, Kernel] = {
    "elman-tanh": functools.partial(single, cells.elman, activation="tanh"),
    "elman-relu": functools.partial(single, cells.elman, activation="relu"),
    "elman-none": functools.partial(single, cells.elman, activation="none"),
    "gru": functools.partial(single, cells.gru),
    "gru-reset-first": functools.partial(single, cells.gru_reset_first),
    "lstm": paired,
    "lstm-reading": reading,
    "gru-reading": gru_reading,
}
PLAIN: dict[str, Kernel] = {
    "elman-tanh": functools.partial(single, elman_reference, activation="tanh"),
    "elman-relu": functools.partial(single, elman_reference, activation="relu"),
    "elman-none": functools.partial(single, elman_reference, activation="none"),
    "gru": functools.partial(single, gru_reference),
    "gru-reset-first": functools.partial(single, gru_reset_first_reference),
    "lstm": lstm_reference,
    "lstm-reading": reading_plainly,
    "gru-reading": gru_reading_plainly,
}
GATES = {
    "elman-tanh": 1,
    "elman-relu": 1,
    "elman-none": 1,
    "gru": 3,
    "gru-reset-first": 3,
    "lstm": 4,
    "lstm-reading": 4,
    "gru-reading": 3,
}


def tensors(
    name: str, batch: int, time: int, hidden: int, dtype: torch.dtype = torch.float64
) -> list[Tensor]:
    source = generator()

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=source, dtype=dtype)

    width = GATES[name] * hidden
    features = hidden + 2
    read = [normal(width, features) * 0.3, normal(width)]
    sides = {
        "gru": [normal(hidden)],
        "gru-reading": [normal(width if hidden > 1 else hidden), *read],
        "lstm": [normal(batch, hidden)],
        "lstm-reading": [*read, normal(batch, hidden)],
    }.get(name, [])
    return [
        normal(batch, time, features if name.endswith("reading") else width),
        normal(width, hidden) * (0.5 / hidden**0.5),
        *sides,
        normal(batch, hidden),
    ]


@pytest.mark.parametrize("name", FAST)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("time", LENGTHS)
def test_the_fast_cell_is_the_loop(time: int, dtype: torch.dtype, name: str) -> None:
    for batch, hidden in ((1, 1), (3, 5), (11, 35)):
        assert_agrees(FAST[name], PLAIN[name], tensors(name, batch, time, hidden, dtype))


@pytest.mark.parametrize("name", FAST)
def test_gradients_are_derivatives(name: str) -> None:
    for time in (1, 4):
        assert_gradients_are_derivatives(FAST[name], tensors(name, 2, time, 3))


@pytest.mark.parametrize("name", FAST)
def test_neither_layout_nor_threads_matter(name: str) -> None:
    assert_layout_does_not_matter(FAST[name], tensors(name, 3, 7, 5))
    fixed = tensors(name, 29, 20, 37, torch.float32)
    assert_threads_do_not_matter(lambda x, state: FAST[name](x, *fixed[1:-1], state), [fixed[0], fixed[-1]])


@pytest.mark.parametrize("name", FAST)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_sequence_in_parts_is_the_whole_sequence(name: str, dtype: torch.dtype) -> None:
    x, weight, *sides = (t.to(dtype) for t in tensors(name, 3, 23, 7))
    whole = FAST[name](x, weight, *sides)
    fixed = {"gru": 1, "gru-reading": 3, "lstm-reading": 2}.get(name, 0)
    constants, states = sides[:fixed], sides[fixed:]
    parts = []
    for first, last in ((0, 1), (1, 9), (9, 23)):
        part = FAST[name](x[:, first:last], weight, *constants, *states)
        states = [output[:, -1] for output in part]
        parts.append(part)
    joined = [torch.cat(pieces, dim=1) for pieces in zip(*parts, strict=True)]
    if native.library() is None or (name.endswith("reading") and dtype == torch.bfloat16):
        # Torch rounds a slice otherwise than the whole; the bits are a promise of the native kernels.
        loose = {"rtol": 0.05, "atol": 0.05} if dtype == torch.bfloat16 else {}
        torch.testing.assert_close(whole, tuple(joined), **loose)
    else:
        assert_same_bits(whole, joined)


@pytest.mark.parametrize("kind", ["elman", "gru", "lstm"])
def test_torch_layers_give_the_same(kind: str) -> None:
    torch.manual_seed(0)
    layer = {"elman": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}[kind](4, 6, batch_first=True).double()
    w_in, w_rec, b_in, b_rec = (parameter.detach() for parameter in layer.parameters())
    u = torch.randn(3, 9, 4, dtype=torch.float64)
    if kind == "gru":
        x = nn.functional.linear(u, w_in, b_in + torch.cat([b_rec[:12], torch.zeros(6)]))
        ours = cells.gru(x, w_rec, b_rec[12:])
        torch.testing.assert_close(cells.gru(u, w_rec, b_rec, read=(w_in, b_in)), ours)
    else:
        x = nn.functional.linear(u, w_in, b_in + b_rec)
        ours = cells.elman(x, w_rec) if kind == "elman" else cells.lstm(x, w_rec)[0]
    torch.testing.assert_close(ours, layer(u)[0], rtol=1e-12, atol=1e-12)


def test_saturated_gates_are_exact_and_nan_stays_nan() -> None:
    x = torch.tensor([[[500.0, -500.0, 0.0, 1e-30, torch.nan]]])
    assert torch.equal(cells.elman(x, torch.zeros(5, 5))[0, 0, :3], torch.tensor([1.0, -1.0, 0.0]))
    torch.testing.assert_close(cells.elman(x, torch.zeros(5, 5))[0, 0, 3], torch.tensor(1e-30))
    for activation in ("tanh", "relu", "none"):
        assert torch.isnan(cells.elman(x, torch.zeros(5, 5), None, activation)[0, 0, 4])
    shut = torch.full((1, 1, 4), -500.0)
    states, memory = cells.lstm(shut, torch.zeros(4, 1), (torch.ones(1, 1), torch.ones(1, 1)))
    assert (states.item(), memory.item()) == (0, 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tanh_and_sigmoid_are_within_a_few_units_in_the_last_place(dtype: torch.dtype) -> None:
    line = torch.linspace(-120, 120, 9001, dtype=dtype)
    x = torch.cat([line, line / 100, line / 1e4, line * 8])
    tiny = torch.finfo(dtype)
    tanh = cells.elman(x[None, :, None], torch.zeros(1, 1, dtype=dtype)).flatten()
    torch.testing.assert_close(tanh, x.double().tanh().to(dtype), rtol=6 * tiny.eps, atol=tiny.tiny)
    # With g = 0 the new cell is sigmoid(f) times the old one, here 1.
    gates = torch.stack([x, x, torch.zeros_like(x), x], dim=1)[:, None]
    start = torch.zeros(len(x), 1, dtype=dtype)
    _, memory = cells.lstm(gates, torch.zeros(4, 1, dtype=dtype), (start, start + 1))
    expected = x.double().sigmoid().to(dtype)
    torch.testing.assert_close(memory.flatten(), expected, rtol=8 * tiny.eps, atol=tiny.tiny)


@pytest.mark.parametrize("name", FAST)
def test_what_does_not_fit_is_refused(name: str) -> None:
    good = tensors(name, 2, 3, 4)
    for position in range(len(good)):
        wrong = list(good)
        wrong[position] = wrong[position][..., :-1]
        with pytest.raises(InputError, match="has the shape"):
            FAST[name](*wrong)
        wrong[position] = good[position].float()
        with pytest.raises(InputError, match="float32"):
            FAST[name](*wrong)


def test_an_unknown_activation_is_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean tanh"):
        cells.elman(torch.zeros(1, 1, 1), torch.zeros(1, 1), None, "tan")  # type: ignore[arg-type]
