"""The machine of each task gives the targets that the task itself gives."""

from __future__ import annotations

import numpy as np
import pytest

from nerode.core import InputError
from nerode.languages import OUTSIDE, UNASKED
from nerode.records import TaskConfig
from nerode.tasks import build_task

TASKS = {
    "parity": 9,
    "even-pairs": 9,
    "cycle-navigation": 9,
    "s3": 8,
    "a4-generators": 12,
    "t3": 8,
    "flip-flop": 12,
    "states-tomita-3": 9,
    "predict-tomita-7": 9,
    "predict-dyck-1": 8,
    "recognise-tomita-4": 9,
    "recognise-anbn": 8,
}


@pytest.mark.parametrize("name", TASKS)
def test_answers_are_the_targets_of_the_task(name: str) -> None:
    task = build_task(TaskConfig(name=name))
    question, reading = task.question(), task.reading()
    batch = task.sample(TASKS[name], 40, np.random.default_rng(0))
    checked = 0
    for word, targets, mask in zip(batch.inputs.tolist(), batch.targets, batch.mask.tolist(), strict=True):
        configuration = question.initial()
        for letter, target, counts in zip(word, targets, mask, strict=True):
            configuration = question.advance(configuration, letter)
            answer = question.answer(configuration)
            bits = target.tolist() if task.targets_are_bits else reading.table[int(target)]
            expected = question.text(tuple(bits))
            assert answer != OUTSIDE
            if counts:
                assert answer == expected
                checked += 1
            elif name == "flip-flop":
                assert answer == UNASKED
    assert checked >= 40


def test_other_tasks_are_refused() -> None:
    with pytest.raises(InputError, match="does not ask for the answers of an automaton"):
        build_task(TaskConfig(name="copying")).question()
    with pytest.raises(InputError, match="blanks"):
        build_task(TaskConfig(name="s5-four-tokens")).question()
