"""What the outputs of a trained network mean."""

from __future__ import annotations

import numpy as np
import pytest

from nerode.analysis.proofs.goals import Goal, goal_of
from nerode.core import InputError, stream
from nerode.languages import Legal
from nerode.proofs import PREDICT, RECOGNISE
from nerode.records import TaskConfig
from nerode.tasks import build_task


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("parity", RECOGNISE),
        ("recognise-tomita-3", RECOGNISE),
        ("states-tomita-3", PREDICT),
        ("s3", PREDICT),
    ],
)
def test_classes_of_a_task_are_those_of_its_own_labels(name, shown):
    task = build_task(TaskConfig(name=name))
    goal = goal_of(task)
    assert goal.task == shown
    batch = task.sample(8, 32, stream(0, "goals"))
    states = np.full(32, goal.dfa.start)
    for t in range(8):
        states = goal.dfa.transitions[states, batch.inputs[:, t].numpy()]
        counted = batch.mask[:, t].numpy()
        assert (goal.classes[states] == batch.targets[:, t].numpy())[counted].all()


@pytest.mark.parametrize("name", ["flip-flop", "copying", "predict-dyck-1", "s5-four-tokens"])
def test_tasks_that_no_box_is_made_for_are_refused(name):
    with pytest.raises(InputError):
        goal_of(build_task(TaskConfig(name=name)))


def test_a_class_that_says_something_else_is_refused():
    goal = goal_of(build_task(TaskConfig(name="recognise-tomita-3")))
    with pytest.raises(InputError, match="does not say"):
        Goal(
            language=goal.language,
            task=goal.task,
            dfa=goal.dfa,
            legal=goal.legal,
            classes=goal.classes,
            answers=tuple(Legal(frozenset(), not a.end) for a in goal.answers),
        )
    with pytest.raises(InputError, match="classes without answers"):
        Goal(language=goal.language, task=goal.task, dfa=goal.dfa, legal=goal.legal, classes=goal.classes)
