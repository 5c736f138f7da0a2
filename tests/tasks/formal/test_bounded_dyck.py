"""Bounded Dyck: the distribution of the paper by a plain simulation, tops by a stack, certain closes."""

from __future__ import annotations

import collections

import numpy as np
import pytest
import torch

from nerode.core import InputError, UnknownName
from nerode.records import TaskConfig
from nerode.tasks import build_task
from nerode.tasks.formal.bounded_dyck import random_paths


def task(**settings):
    return build_task(TaskConfig(name="bounded-dyck", settings=settings))


def simulate(length, depth, rng):
    """A fair walk, thrown away unless it is at 0 at the end."""
    while True:
        height, path = 0, []
        for _ in range(length):
            up = height == 0 or (height < depth and bool(rng.integers(2)))
            height += 1 if up else -1
            path.append(up)
        if height == 0:
            return tuple(path)


@pytest.mark.parametrize(("length", "depth"), [(8, 2), (8, 3), (10, 10), (6, 1)])
def test_paths_have_the_distribution_of_the_paper(length, depth):
    rng = np.random.default_rng(0)
    simulated = collections.Counter(simulate(length, depth, rng) for _ in range(3000))
    drawn = collections.Counter(map(tuple, random_paths(length, depth, 30000, rng).tolist()))
    assert set(simulated) <= set(drawn)
    for path, count in drawn.items():
        assert simulated[path] / 3000 == pytest.approx(count / 30000, abs=0.04)


@pytest.mark.parametrize("settings", [{}, {"kinds": 2, "depth": 3}, {"kinds": 1, "depth": 4}])
def test_targets_by_a_stack(settings):
    built = task(**settings)
    batch = built.sample(120, 10, np.random.default_rng(1))
    deepest = 0
    for word, targets, mask in zip(
        batch.inputs.tolist(), batch.targets.tolist(), batch.mask.tolist(), strict=True
    ):
        stack = []
        for place, letter in enumerate(word):
            kind, closes = divmod(letter, 2)
            if closes:
                assert stack.pop() == kind
            else:
                stack.append(kind)
            deepest = max(deepest, len(stack))
            follows, top = targets[place]
            assert follows == (word[place + 1] if place + 1 < len(word) else 2 * built.settings.kinds)
            assert top == (stack[-1] if stack else -1)
            assert mask[place] == bool(stack)
        assert not stack
    assert deepest == built.settings.depth


def test_a_model_has_to_be_certain_which_bracket_to_close():
    built = task(kinds=2, depth=3)
    batch = built.sample(20, 4, np.random.default_rng(2))
    for share, right in [(0.81, True), (0.79, False)]:
        scores = torch.zeros(4, 20, 5)
        top = batch.targets[..., 1].clamp(min=0)
        closing = torch.where(top[..., None] == torch.arange(2), share, 1 - share).log()
        scores[..., 1:-1:2] = closing
        scores[..., 0] = 7.0  # what it gives to opening brackets does not matter
        assert built.correct(scores, batch)[batch.mask].tolist() == [right] * int(batch.mask.sum())
        assert built.correct(scores, batch)[~batch.mask].all()


def test_the_loss_is_at_every_position():
    built = task(kinds=2, depth=3)
    batch = built.sample(6, 3, np.random.default_rng(3))
    scores = torch.full((3, 6, 5), -60.0)
    scores.scatter_(2, batch.targets[..., :1], 60.0)
    assert built.loss(scores, batch).item() == pytest.approx(0, abs=1e-6)
    scores[0, -1] = 0.0  # the end, where no bracket is open
    assert built.loss(scores, batch).item() == pytest.approx(np.log(5) / 18)


def test_deeper_words_and_lengths():
    built = task()
    (axis,) = built.axes
    assert (axis.name, axis.trained, axis.values) == ("depth", (10,), (10, 15))
    assert built.test_lengths == (700, 1400)
    assert not built.trains_on(13)
    batch = built.draw_at("depth", 15, 20, np.random.default_rng(0))
    assert batch.inputs.shape == (20, 1400)
    heights = torch.where(batch.inputs % 2 == 0, 1, -1).cumsum(1)
    assert heights.max() == 15
    with pytest.raises(UnknownName):
        built.draw_at("length", 15, 1, np.random.default_rng(0))
    with pytest.raises(InputError, match="no word has depth 0"):
        built.draw_at("depth", 0, 1, np.random.default_rng(0))
    with pytest.raises(InputError, match="make no brackets"):
        task(kinds=0)
    with pytest.raises(InputError, match="even length"):
        built.sample(3, 1, np.random.default_rng(0))
