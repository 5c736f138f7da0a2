"""Signals by their runs, the next step by looking, and what counts; counters that pass and fail the tests."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from nerode.core import InputError, UnknownName
from nerode.records import TaskConfig
from nerode.tasks import build_task
from nerode.tasks.synthetic.counting import (
    answered,
    count_offsets,
    grade_double,
    phase_alignment,
    right_answers,
)
from nerode.tasks.task import SPLITS


def counting(name="counting", **settings):
    return build_task(TaskConfig(name=name, settings=settings))


def rows(batch):
    """Each signal with its last target at the end, its targets, its mask."""
    inputs, targets = batch.inputs[..., 0].int().tolist(), batch.targets[..., 0].int().tolist()
    for word, wanted, mask in zip(inputs, targets, batch.mask.tolist(), strict=True):
        yield [*word, wanted[-1]], wanted, mask


@pytest.mark.parametrize(
    ("name", "on", "off", "length"),
    [
        ("counting", 10, (20, 40), 200),
        ("counting-medium", 30, (60, 120), 600),
        ("counting-long", 50, (100, 200), 1000),
    ],
)
def test_runs_have_the_times_of_the_paper(name, on, off, length):
    task = counting(name)
    assert task.training_lengths == (length, length)
    batch = task.sample(length, 40, np.random.default_rng(0))
    assert batch.inputs.shape == (40, length, 1)
    assert batch.inputs.dtype == torch.float32
    waits = set()
    for signal, wanted, _ in rows(batch):
        assert wanted == signal[1:]
        runs = [(bit, len(list(group))) for bit, group in itertools.groupby(signal)]
        assert runs[0][0] == 0
        for bit, steps in runs[:-1]:
            assert steps == on if bit else off[0] <= steps <= off[1]
            waits |= set() if bit else {steps}
        assert runs[-1][1] <= (on if runs[-1][0] else off[1])
    assert len(waits) > (off[1] - off[0]) * 0.8


def test_what_counts_is_what_the_past_determines():
    """By brute force: the signals with the same past all go on in the same way, or not."""
    task = counting(on=2, off=(2, 4), length=12)
    batch = task.sample(12, 6000, np.random.default_rng(1))
    after = {}
    for signal, _, _ in rows(batch):
        for t in range(12):
            after.setdefault(tuple(signal[: t + 1]), set()).add(signal[t + 1])
    for signal, _, mask in rows(batch):
        for t in range(12):
            past = signal[: t + 1]
            longest_wait = past[-4:] == [0] * 4
            assert mask[t] == (len(after[tuple(past)]) == 1 and not longest_wait)


def test_the_loss_looks_at_all_steps_or_at_those_that_count():
    batch = counting().sample(200, 8, np.random.default_rng(2))
    right = torch.where(batch.targets, 50.0, -50.0)
    scores = right.where(batch.mask[..., None], -right)
    assert counting(learn="determined").loss(scores, batch) < 1e-9
    assert counting().loss(scores, batch) > 1
    assert counting().correct(scores, batch).all()


def test_longer_times_off():
    task = counting()
    assert task.axes[0].values == (20, 60, 100)
    batch = task.draw_at("time-off", 60, 20, np.random.default_rng(3))
    assert batch.inputs.shape == (20, 600, 1)
    for signal, _, _ in rows(batch):
        runs = [(bit, len(list(group))) for bit, group in itertools.groupby(signal)]
        assert all(steps == 10 if bit else 60 <= steps <= 120 for bit, steps in runs[:-1])
    assert set(task.split_of(task.draw_at("time-off", 20, 20, np.random.default_rng(4)))) == {"test"}
    with pytest.raises(InputError, match="sequences that training may have"):
        task.draw_at("time-off", 30, 1, np.random.default_rng(0))
    with pytest.raises(UnknownName, match="axis of counting"):
        task.draw_at("time-of", 30, 1, np.random.default_rng(0))


def test_splits_are_disjoint():
    task = counting(on=3, off=(2, 5), length=40)
    rng = np.random.default_rng(5)
    drawn = [{tuple(w) for w in task.draw(s, 40, 300, rng).inputs[..., 0].int().tolist()} for s in SPLITS]
    assert len(set.union(*drawn)) == sum(map(len, drawn))


def scripted(rule):
    """A model that answers by a rule on the steps read so far."""

    def answer(inputs, state):
        signals = inputs[..., 0].int().tolist()
        bits = [[rule(signal[: t + 1]) for t in range(len(signal))] for signal in signals]
        return torch.tensor(bits)[..., None] * 2.0 - 1, state

    return answer


def run_of_ones(past):
    return len(past) - len("".join(map(str, past)).rstrip("1"))


def test_a_counter_modulo_the_time_on_passes_all_tests():
    tests = phase_alignment(scripted(lambda past: run_of_ones(past) % 10 > 0), on=10, off=(20, 40))
    assert [(test.name, test.gap, test.passed) for test in tests] == [
        ("two-isi", 80, True),
        ("two-isi", 300, True),
        ("double-isi", 0, True),
    ]
    double = tests[-1]
    assert double.signal == "0" * 30 + "1" * 20 + "0" * 20
    assert double.answers == "0" * 30 + "1" * 9 + "0" + "1" * 9 + "0" + "0" * 20


def test_a_counter_that_stops_at_the_time_on_fails_double_isi():
    tests = phase_alignment(scripted(lambda past: 0 < run_of_ones(past) < 10), on=10, off=(20, 40))
    assert [test.passed for test in tests] == [True, True, False]


def test_a_counter_that_forgets_after_long_gaps_fails_two_isi():
    """It counts only the first time on: the second one is late by a step after a gap above 100."""

    def rule(past):
        text = "".join(map(str, past))
        slow = "0" * 101 in text
        return 0 < run_of_ones(past) < 10 + slow

    tests = phase_alignment(scripted(rule), on=10, off=(20, 40))
    assert [test.passed for test in tests] == [True, False, False]


@pytest.mark.parametrize("always", [False, True])
def test_a_constant_passes_nothing(always):
    assert not any(test.passed for test in phase_alignment(scripted(lambda _: always), on=10, off=(20, 40)))


@pytest.mark.parametrize(
    ("answers", "grade"),
    [
        ("1111111110" + "1111111110", 3),
        ("1111111110" + "0000111110", 3),  # five zeros
        ("1111111110" + "0000011110", 2),  # six
        ("1111111110" + "0000111111", 2),  # not off at the end
        ("1111111110" + "0000101110", 2),  # not on throughout
        ("1111111110" + "0001111111", 2),  # an RNN after the paper's 1,000 epochs
        ("1111111110" + "0000000000", 1),  # not on again
        ("1111111100" + "1111111110", 0),  # off too early
        ("1111111111" + "1111111110", 0),  # never off in between
    ],
)
def test_the_grades_of_double_isi(answers, grade):
    assert grade_double(answers, 10) == grade


def test_offsets_are_counted_alone():
    """A model that never predicts the offset answers 97 of 100 determined steps correctly, and no offset."""
    task = counting(length=400)
    batch = task.sample(400, 50, np.random.default_rng(6))

    def at_most(ones):
        def answer(inputs, state):
            on = inputs[..., 0]
            run = torch.zeros_like(on)
            for t in range(on.shape[1]):
                run[:, t] = on[:, t] * (1 + (run[:, t - 1] if t else 0))
            return torch.where((run > 0) & (run < ones), 1.0, -1.0)[..., None], state

        return answer

    shown = sum(signal.count("10") for signal in ("".join(map(str, s)) for s, _, _ in rows(batch)))
    assert count_offsets(at_most(10), batch, 10) == {"shown": shown, "predicted": shown}
    for wrong in (9, 11, 0):
        assert count_offsets(at_most(wrong), batch, 10) == {"shown": shown, "predicted": 0}
    never, _ = at_most(1000)(batch.inputs, None)
    right = task.correct(never, batch) & batch.mask
    assert 0.96 < right.sum() / batch.mask.sum() < 0.98


def test_what_a_model_is_examined_by():
    record = counting().examine(scripted(lambda past: run_of_ones(past) % 10 > 0), np.random.default_rng(0))
    assert record["offsets"]["shown"] == record["offsets"]["predicted"] > 64
    assert [test["passed"] for test in record["phase_alignment"]] == [True, True, True]
    assert all(len(test["signal"]) == len(test["answers"]) for test in record["phase_alignment"])
    assert [test["grade"] for test in record["phase_alignment"]] == [0, 0, 3]
    assert right_answers(4) == "1110"
    assert answered(scripted(lambda past: past[-1]), "0110") == "0110"


def test_settings_that_make_no_task():
    with pytest.raises(InputError, match="from 2 steps on"):
        counting(on=1)
    with pytest.raises(InputError, match="range from 1 on"):
        counting(off=(0, 3))
    with pytest.raises(InputError, match="50 steps"):
        counting(length=49)
    with pytest.raises(InputError, match="no sequence of length 0"):
        counting().sample(0, 1, np.random.default_rng(0))
