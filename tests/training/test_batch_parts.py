"""A batch in parts gives the gradients of the whole batch, and the same bits for any number of threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import torch
from torch import nn

from nerode.core import InputError
from nerode.models.native.calls import fixed_bits, num_threads, share_threads
from nerode.models.zoo import all_kinds
from nerode.records import TrainSpec
from nerode.training import batch_parts
from nerode.training.batch_parts import BatchPass, cut_rows, read_parts, run_works
from nerode.training.loop import Trainer


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def trainer(layers: str, *, width: int, batch: int, length: int, dtype: str = "float32", **model) -> Trainer:
    tables = {
        "task": {"name": "parity", "settings": {"shortest": length, "longest": length}},
        "model": {"layers": layers, "width": width, **model},
        "run": {"batch": batch, "dtype": dtype, "test_lengths": [length], "steps": 10, "validation": 1},
    }
    return Trainer(TrainSpec.from_mapping(tables))


def gradients(layers: str, threads: int, steps: int = 1, **sizes) -> list[bytes]:
    """The weights after some steps and the gradients of the last one, bit by bit."""
    torch.set_num_threads(threads)
    made = trainer(layers, **sizes)
    for _ in range(steps):
        made.step()
    found = [*made.model.state_dict().values(), *(w.grad for w in made.weights if w.grad is not None)]
    return [tensor.detach().resolve_conj().numpy().tobytes() for tensor in found]


@pytest.mark.parametrize("layers", sorted(all_kinds()))
def test_threads_change_no_bit_of_a_step(layers, monkeypatch):
    monkeypatch.setattr(batch_parts, "_NUMBERS", 1 << 11)
    alone = gradients(layers, 1, steps=2, width=16, batch=7, length=37)
    for threads in (2, 3):
        assert gradients(layers, threads, steps=2, width=16, batch=7, length=37) == alone


@pytest.mark.parametrize("layers", ["mamba", "rwkv-6"])
def test_threads_change_no_bit_at_the_size_of_the_table(layers):
    alone = gradients(layers, 1, width=64, batch=64, length=128)
    for threads in (2, 3):
        assert gradients(layers, threads, width=64, batch=64, length=128) == alone


@pytest.mark.slow
@pytest.mark.parametrize("layers", sorted(all_kinds()))
def test_no_number_of_threads_changes_a_bit(layers):
    for sizes in ({"width": 64, "batch": 64, "length": 128}, {"width": 32, "batch": 37, "length": 131}):
        alone = gradients(layers, 1, **sizes)
        assert all(gradients(layers, threads, **sizes) == alone for threads in (2, 3, 4, 7))


@pytest.mark.parametrize("layers", sorted(all_kinds()))
def test_parts_have_the_gradients_of_the_whole(layers, monkeypatch):
    """All in float64, so that only what is left out or counted twice can differ."""
    monkeypatch.setattr(batch_parts, "_NUMBERS", 1 << 10)
    made = trainer(layers, width=16, batch=5, length=40, dtype="float64")
    batch = made.data.batch(0, 40)
    scores = made.model(batch.inputs)[0]
    made.task.loss(scores, batch).backward()
    wanted = [None if weight.grad is None else weight.grad.clone() for weight in made.weights]
    made.optimiser.zero_grad(set_to_none=True)
    with fixed_bits(2):
        whole = BatchPass(made.model, batch.inputs)
        whole.backward(made.task.loss(whole.scores, batch), made.weights)
    assert len(cut_rows(made.model, batch.inputs)) == 3
    torch.testing.assert_close(whole.scores, scores, rtol=1e-9, atol=1e-9)
    for weight, gradient in zip(made.weights, wanted, strict=True):
        assert (weight.grad is None) == (gradient is None)
        if gradient is not None:
            torch.testing.assert_close(weight.grad, gradient, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("layers", ["gru", "mamba", "transformer-nope", "s4d", "gru,gla"])
def test_sequences_read_in_parts_have_the_scores_of_the_whole(layers, monkeypatch):
    model = trainer(
        layers, width=16, batch=2, length=40, dtype="float64", surroundings={"dropout": 0.5}
    ).model
    model.eval()
    inputs = torch.randint(0, 2, (5, 60))
    with torch.no_grad():
        wanted = model(inputs)[0]
        monkeypatch.setattr(batch_parts, "_NUMBERS", 1 << 8)
        found = []
        for threads in (1, 2, 3):
            with fixed_bits(threads):
                scores = list(read_parts(model, [inputs[:, :25], inputs[:, 25:50], inputs[:, 50:]]))
            found.append(torch.cat(scores, dim=1))
    torch.testing.assert_close(found[0], wanted, rtol=1e-9, atol=1e-9)
    assert all(torch.equal(other, found[0]) for other in found)
    assert not found[-1].requires_grad


def test_parts_are_rows_in_their_order_and_depend_on_the_size_alone():
    model = trainer("gru", width=64, batch=2, length=40).model
    for rows, length, count in ((64, 128, 2), (64, 40, 1), (3, 100_000, 3), (500, 1000, 8), (65, 128, 2)):
        inputs = torch.zeros(rows, length, dtype=torch.int64)
        parts = [cut_rows(model, inputs)]
        for threads in (1, 2, 5):
            with fixed_bits(threads):
                parts.append(cut_rows(model, inputs))
        assert all(part == parts[0] for part in parts)
        assert len(parts[0]) == count
        assert [i for part in parts[0] for i in range(part.start, part.stop)] == list(range(rows))


def test_what_draws_or_is_not_of_the_zoo_is_not_cut():
    inputs = torch.zeros(500, 1000, dtype=torch.int64)
    drawing = trainer("gru", width=64, batch=2, length=40, surroundings={"dropout": 0.1}).model
    assert cut_rows(drawing, inputs) == [slice(0, 500)]
    assert cut_rows(nn.Linear(2, 2), inputs) == [slice(0, 500)]


def test_works_are_shared_out_with_all_threads():
    before = torch.get_num_threads()
    with fixed_bits(5):
        found = run_works([lambda: (threading.get_ident(), num_threads(), torch.get_num_threads())] * 4)
        assert sorted(own for _, own, _ in found) == [1, 1, 1, 2]
        assert {of_torch for _, _, of_torch in found} == {1}
        assert num_threads() == 5
        with share_threads(2):
            assert len({who for who, _, _ in run_works([lambda: (threading.get_ident(), 0, 0)] * 4)}) == 2
    assert torch.get_num_threads() == num_threads() == before


def test_a_problem_in_a_part_reaches_whoever_asked():
    def fail() -> int:
        raise InputError("a part fails")

    with fixed_bits(2):
        for works in ([int, fail], [fail, int], [fail, fail]):
            with pytest.raises(InputError, match="a part fails"):
                run_works(works)
        assert run_works([int, int]) == [0, 0]
