"""The next symbol is that of the word; a legal one is right, the loss is that of the real one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nerode.records import TaskConfig
from nerode.tasks import build_task


def task(language, **settings):
    return build_task(TaskConfig(name=f"next-{language}", settings=settings))


@pytest.mark.parametrize("name", ["tomita-3", "dyck-1", "dyck-2-3", "boolean-3", "flip-flop"])
def test_targets_are_the_word_moved_by_one_and_what_may_follow(name):
    built = task(name)
    length = 41 if name == "boolean-3" else 40
    batch = built.sample(length, 20, np.random.default_rng(0))
    prediction = build_task(TaskConfig(name=f"predict-{name}")).label(batch.inputs.numpy())
    assert torch.equal(batch.targets[..., 1:].bool(), prediction.targets)
    for word, targets in zip(batch.inputs.tolist(), batch.targets[..., 0].tolist(), strict=True):
        assert targets == [*word[1:], len(built.alphabet)]
    # The symbol that comes is one that may come.
    assert (batch.targets[..., 1:].gather(-1, batch.targets[..., :1].long()) == 1).all()


def test_a_legal_symbol_is_right_and_no_other():
    built = task("dyck-1")
    batch = built.label(np.array([[0, 1, 0, 1]]))
    scores = torch.zeros(1, 4, 3)
    scores[0, :, 1] = 1.0  # always close
    assert built.right(scores, batch).tolist() == [[True, False, True, False]]
    scores[0, :, 2] = 2.0  # always end
    assert built.right(scores, batch).tolist() == [[False, True, False, True]]


def test_the_loss_is_that_of_the_symbol_that_comes():
    built = task("dyck-1")
    batch = built.label(np.array([[0, 1, 0, 1]]))
    scores = torch.full((1, 4, 3), -50.0)
    for place, symbol in enumerate([1, 0, 1, 2]):
        scores[0, place, symbol] = 50.0
    assert built.loss(scores, batch).item() == pytest.approx(0.0, abs=1e-6)
    assert built.loss(torch.zeros(1, 4, 3), batch).item() == pytest.approx(np.log(3))
