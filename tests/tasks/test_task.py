"""Splits are disjoint by content, lengths are what they claim, losses and answers look at the mask."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nerode.core import InputError, UnknownName
from nerode.languages import resolve_language
from nerode.records import TaskConfig
from nerode.tasks import build_task, complete_task
from nerode.tasks.task import SPLITS, Batch, content_hashes, walk


def parity(**settings):
    return build_task(TaskConfig(name="parity", settings=settings))


def test_splits_are_disjoint_and_have_their_shares():
    task = parity(shortest=3, longest=12)
    rng = np.random.default_rng(0)
    drawn = {s: {tuple(r) for r in task.draw(s, 10, 3000, rng).inputs.tolist()} for s in SPLITS}
    assert not drawn["train"] & drawn["validation"]
    assert not drawn["train"] & drawn["test"]
    assert not drawn["validation"] & drawn["test"]
    counts = [task.split_of(task.sample(12, 4096, rng)).count(s) / 4096 for s in SPLITS]
    assert np.allclose(counts, [0.8, 0.1, 0.1], atol=0.03)


def test_the_split_of_a_sequence_depends_on_nothing_else():
    task = parity()
    batch = task.sample(9, 50, np.random.default_rng(1))
    again = [task.split_of(batch.rows([i]))[0] for i in reversed(range(50))]
    assert again[::-1] == task.split_of(batch)


def test_hashes_tell_near_sequences_apart():
    rows = torch.cat([torch.zeros(1, 30, dtype=torch.int64), torch.eye(30, dtype=torch.int64)])
    assert len(set(content_hashes(rows).tolist())) == 31
    assert len(set(content_hashes(rows.double()).tolist())) == 31


def test_lengths_outside_training_are_for_testing_only():
    task = parity(longest=20)
    rng = np.random.default_rng(0)
    assert task.draw("test", 21, 4, rng).inputs.shape == (4, 21)
    for split in ("train", "validation"):
        with pytest.raises(InputError, match="trains on lengths 3 to 20; length 21 is for testing only"):
            task.draw(split, 21, 4, rng)


def test_a_split_that_is_empty_is_said():
    task = parity(shortest=1, longest=20)
    empty = next(s for s in SPLITS if s not in task.split_of(task.sample(1, 50, np.random.default_rng(0))))
    with pytest.raises(InputError, match=f"hardly any sequence of length 1 in the {empty} split"):
        task.draw(empty, 1, 4, np.random.default_rng(0))


@pytest.mark.parametrize("labels", ["all", "last"])
def test_parity_by_counting(labels):
    batch = parity(labels=labels).sample(17, 40, np.random.default_rng(2))
    for word, targets, mask in zip(
        batch.inputs.tolist(), batch.targets.tolist(), batch.mask.tolist(), strict=True
    ):
        for i in range(17):
            assert targets[i] == word[: i + 1].count(1) % 2
            assert mask[i] == (labels == "all" or i == 16)


@pytest.mark.parametrize("labels", ["all", "last"])
def test_positions_that_count_are_those_of_the_mask_in_their_order(labels):
    batch = parity(labels=labels).sample(5, 3, np.random.default_rng(0))
    for values in (torch.randn(3, 5, 2), batch.targets):
        assert torch.equal(batch.counted(values), values[batch.mask])


def test_loss_and_answers_look_at_the_mask():
    task = parity(labels="last")
    batch = task.sample(5, 3, np.random.default_rng(0))
    scores = torch.zeros(3, 5, 2)
    scores[torch.arange(3), -1, batch.targets[:, -1]] = 50.0
    assert task.loss(scores, batch) < 1e-9
    assert task.correct(scores, batch).all()
    scores[0, -1] = -scores[0, -1]
    assert task.correct(scores, batch)[:, -1].tolist() == [False, True, True]


def test_bits_are_answered_by_their_signs():
    task = parity()
    task.targets_are_bits = True
    targets = torch.tensor([[[True, False]]])
    batch = Batch(inputs=torch.zeros(1, 1, dtype=torch.int64), targets=targets, mask=torch.ones(1, 1) > 0)
    assert task.correct(torch.tensor([[[0.1, -0.1]]]), batch).all()
    assert not task.correct(torch.tensor([[[0.1, 0.1]]]), batch).any()


def test_unknown_names_and_settings():
    with pytest.raises(UnknownName, match="did you mean parity"):
        build_task(TaskConfig(name="parrity"))
    with pytest.raises(UnknownName, match="did you mean longest"):
        parity(longst=3)
    with pytest.raises(InputError, match="not a range"):
        parity(shortest=5, longest=4)
    assert complete_task(TaskConfig(name="parity-last")).settings["labels"] == "last"


def test_states_are_those_of_the_automaton():
    dfa = resolve_language("tomita-3").automaton
    words = np.random.default_rng(0).integers(0, dfa.num_letters, (30, 25))
    states = walk(dfa.transitions, words, start=dfa.start)
    for word, row in zip(words.tolist(), states.tolist(), strict=True):
        state = dfa.start
        for letter, reached in zip(word, row, strict=True):
            state = int(dfa.transitions[state, letter])
            assert reached == state


def test_empty_words_have_no_states():
    assert walk(np.zeros((3, 2), dtype=np.int32), np.zeros((4, 0), dtype=np.int64)).shape == (4, 0)
