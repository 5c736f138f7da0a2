"""Scores by counting again, parts against whole sequences, and the rules about lengths."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from nerode.core import InputError
from nerode.models import build_model, model_config
from nerode.records import (
    LengthScore,
    RunSpec,
    TaskConfig,
    extrapolates_to,
    first_failing_length,
    join_scores,
)
from nerode.tasks import Batch, Parity, build_task
from nerode.tasks.synthetic.regular import RegularSettings
from nerode.training.data import (
    FixedData,
    FreshData,
    curriculum_batches,
    lengths_of,
    training_data,
    validation_batches,
)
from nerode.training.evaluation import (
    Tally,
    draw_tests,
    evaluate,
    evaluate_axes,
    examine,
    require_tests,
    score,
)

from .tiny import Signs


class Answers(nn.Module):
    """Gives the parity so far but errs at each position at which the last `period` letters are all 1."""

    def __init__(self, period: int) -> None:
        super().__init__()
        self.period = period
        self.weight = nn.Parameter(torch.ones(()))

    def forward(self, x, state=None):
        past = torch.zeros(len(x), 0, dtype=torch.int64) if state is None else state
        seen = torch.cat([past, x], 1)
        parity = seen.cumsum(1) % 2
        recent = nn.functional.pad(seen, (self.period - 1, 0)).unfold(1, self.period, 1).all(-1).long()
        answer = (parity + recent)[:, -x.shape[1] :] % 2
        return nn.functional.one_hot(answer, 2).float() * self.weight, seen


def by_hand(words: list[list[int]], period: int) -> tuple[float, float, float]:
    right = [
        [not (i + 1 >= period and all(word[i + 1 - period : i + 1])) for i in range(len(word))]
        for word in words
    ]
    token = sum(map(sum, right)) / sum(map(len, right))
    return token, sum(map(all, right)) / len(right), sum(r[-1] for r in right) / len(right)


@pytest.mark.parametrize("part", [1, 3, 7, 50])
def test_scores_by_counting_again(part):
    task = build_task(TaskConfig(name="parity"))
    (found,) = evaluate(Answers(3), task, [50], sequences=40, part=part)
    words = [w for batch in draw_tests(task, 50, 40) for w in batch.inputs.tolist()]
    token, sequence, final = by_hand(words, 3)
    assert (found.token, found.sequence, found.final) == pytest.approx((token, sequence, final))
    assert found.scaled == pytest.approx(2 * token - 1)
    assert (found.length, found.sequences, found.positions) == (50, 40, 2000)


def test_only_the_positions_that_count_count():
    task = build_task(TaskConfig(name="parity-last"))
    (found,) = evaluate(Answers(1), task, [60], sequences=64, part=7)
    ends = [w[-1] for batch in draw_tests(task, 60, 64) for w in batch.inputs.tolist()]
    assert found.positions == 64
    assert found.token == found.sequence == found.final == 1 - sum(ends) / 64


@pytest.mark.parametrize("name", ["mamba", "lstm", "transformer", "gated-deltanet"])
def test_parts_and_wholes_agree(name):
    model = build_model(model_config(name, letters=2, outputs=2, width=16), seed=0)
    task = build_task(TaskConfig(name="parity"))
    whole = evaluate(model, task, [45, 70], sequences=6)
    parts = evaluate(model, task, [70, 45], sequences=6, part=16)
    for one, two in zip(whole, parts, strict=True):
        assert one.length == two.length
        assert one.token == two.token
        assert one.loss == pytest.approx(two.loss, rel=1e-4)


def test_test_sequences_are_few_at_a_time_and_always_the_same():
    task = build_task(TaskConfig(name="parity"))
    batches = list(draw_tests(task, 300_000, 7))
    assert [len(b) for b in batches] == [3, 3, 1]
    again = list(draw_tests(task, 300_000, 7))
    assert all(torch.equal(a.inputs, b.inputs) for a, b in zip(batches, again, strict=True))


class Copy(nn.Module):
    """Gives back what it reads, as long as that is small."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones((), dtype=torch.float64))

    def forward(self, x, state=None):
        assert x.dtype == torch.float64
        return torch.where(x.abs() < 5, x, -x) * self.weight, None


def test_bits_and_features():
    (found,) = evaluate(Copy(), Signs(), [11], sequences=12, part=4)
    assert (found.token, found.sequence, found.final, found.scaled) == (1, 1, 1, 1)
    assert found.positions == 12 * 5
    model = Copy()
    model.weight.data.neg_()
    (found,) = evaluate(model, Signs(), [11], sequences=12)
    assert (found.token, found.sequence, found.final) == (0, 0, 0)
    assert found.scaled == pytest.approx(-1 / 3)


def test_axes_and_examinations():
    model = Copy()
    one, three = evaluate_axes(model, Signs(), sequences=40)
    assert (one.axis, one.value, one.trained, one.score.token) == ("scale", 1, True, 1.0)
    assert (three.axis, three.value, three.trained) == ("scale", 3, False)
    assert 0.5 < three.score.token < 1
    assert examine(model, Signs()) == {"signs": [[[True, True]] * 3], "gradient": False}


def test_lengths_that_cannot_be_tested_are_said_before_training():
    assert require_tests(Signs(), [2, 100]) == (2, 100)
    task = build_task(TaskConfig(name="parity", settings={"shortest": 1}))
    with pytest.raises(InputError, match="in the test split"):
        require_tests(task, [1, 20])
    assert require_tests(task, [1, 20], all_of_them=False) == (20,)
    with pytest.raises(InputError, match="in the test split"):
        require_tests(task, [1], all_of_them=False)


def test_a_score_that_is_no_number_is_wrong():
    task = Signs()
    batch = task.sample(4, 5, np.random.default_rng(0))
    batch = Batch(inputs=batch.inputs, targets=torch.zeros_like(batch.targets), mask=batch.mask)
    tally = Tally(task, 4)
    tally.begin(5)
    tally.add(torch.full((5, 4, 2), float("nan")), batch)
    tally.end()
    found = tally.score()
    assert (found.token, found.sequence, found.final, found.loss) == (0, 0, 0, None)


def test_a_length_at_which_nothing_counts_is_said():
    with pytest.raises(InputError, match="no position that counts at length 1"):
        evaluate(nn.LSTM(2, 2, batch_first=True).double(), Signs(), [1], sequences=3)


def test_the_mode_of_the_model_is_restored():
    model = build_model(model_config("gru", letters=2, outputs=2, width=4), seed=0)
    task = build_task(TaskConfig(name="parity"))
    for mode in (True, False):
        model.train(mode)
        score(model, task, draw_tests(task, 41, 2))
        assert model.training is mode


def scores(*accuracies: tuple[int, float]) -> list[LengthScore]:
    return [
        LengthScore(length=n, sequences=2, positions=n, token=a, sequence=a, final=a, scaled=a, loss=1.0)
        for n, a in accuracies
    ]


def test_extrapolation_needs_every_shorter_length():
    found = scores((8, 1.0), (64, 0.95), (16, 0.92), (32, 0.5))
    assert first_failing_length(found, measure="sequence", threshold=0.9) == 32
    assert extrapolates_to(found, measure="sequence", threshold=0.9) == 16
    assert first_failing_length(found, measure="token", threshold=0.4) is None
    assert extrapolates_to(found, measure="final", threshold=0.4) == 64
    assert extrapolates_to(found, measure="scaled", threshold=1.01) is None
    assert first_failing_length([], measure="token", threshold=0.5) is None


def test_scores_of_several_lengths_join_by_weight():
    both = join_scores(scores((10, 1.0), (30, 0.0)))
    assert (both.length, both.sequences, both.positions) == (30, 4, 40)
    assert (both.token, both.sequence, both.loss) == (0.25, 0.5, 1.0)


class EvenOnly(Parity):
    """Words of even length only."""

    def sample(self, length, count, rng):
        if length % 2:
            raise InputError("odd")
        return super().sample(length, count, rng)


def even(shortest=5, longest=14):
    return EvenOnly(RegularSettings(shortest=shortest, longest=longest))


def test_lengths_without_sequences_are_not_trained_on():
    assert lengths_of(even(), "train") == (6, 8, 10, 12, 14)
    with pytest.raises(InputError, match="no sequence in the train split from length 5 to 5"):
        lengths_of(even(5, 5), "train")
    data = FreshData(even(), RunSpec(batch=4))
    seen = {data.batch(step, 14).inputs.shape[1] for step in range(60)}
    assert seen == {6, 8, 10, 12, 14}
    assert {data.batch(step, 9).inputs.shape[1] for step in range(30)} == {6, 8}
    assert data.batch(0, 1).inputs.shape[1] == 6


def test_a_step_has_its_sequences_in_any_order_of_asking():
    task = build_task(TaskConfig(name="parity"))
    for run in (RunSpec(batch=4), RunSpec(batch=4, epochs=3, sample=20)):
        one, two = training_data(task, run), training_data(task, run)
        steps = list(range(10))
        forward = [one.batch(s, 40).inputs for s in steps]
        backward = [two.batch(s, 40).inputs for s in reversed(steps)][::-1]
        assert all(torch.equal(a, b) for a, b in zip(forward, backward, strict=True))


def test_seeds_have_sequences_of_their_own():
    task = build_task(TaskConfig(name="parity"))
    first, second = (FreshData(task, RunSpec(seed=s)).batch(0, 40).inputs for s in (0, 1))
    assert first.shape == second.shape
    assert not torch.equal(first, second)


def test_training_and_validation_are_apart():
    task = build_task(TaskConfig(name="parity", settings={"shortest": 8, "longest": 12}))
    data = FreshData(task, RunSpec())
    trained = {tuple(w) for step in range(200) for w in data.batch(step, 12).inputs.tolist()}
    validated = {
        tuple(w) for batch in validation_batches(task, data.lengths, 256) for w in batch.inputs.tolist()
    }
    assert len(trained) > 3000
    assert not trained & validated


def test_a_fixed_sample_has_as_many_sequences_as_asked_for():
    data = FixedData(build_task(TaskConfig(name="parity")), RunSpec(batch=3, epochs=2, sample=50))
    epoch = [data.batch(step, 40) for step in range(data.batches)]
    assert sum(map(len, epoch)) == 50
    assert data.steps == 2 * data.batches
    assert max(map(len, epoch)) <= 3


def test_validation_is_spread_over_the_lengths():
    task = build_task(TaskConfig(name="parity", settings={"shortest": 10, "longest": 40}))
    batches = validation_batches(task, range(10, 41), 256)
    lengths = [b.inputs.shape[1] for b in batches]
    assert (len(lengths), lengths[0], lengths[-1]) == (8, 10, 40)
    assert sum(map(len, batches)) == 256


def test_short_lengths_are_judged_by_what_there_is():
    task = build_task(TaskConfig(name="parity", settings={"shortest": 1, "longest": 10}))
    with pytest.raises(InputError, match="no validation sequence from length 1 to 1"):
        validation_batches(task, [1], 8)
    (batch,) = curriculum_batches(task, [1], 8)
    assert set(task.split_of(batch)) == {"train"}
    (batch,) = curriculum_batches(task, [10], 8)
    assert set(task.split_of(batch)) == {"validation"}


def test_a_language_with_one_word_a_length_is_validated_at_other_lengths():
    task = build_task(TaskConfig(name="predict-tomita-1"))
    lengths = lengths_of(task, "train")
    batches = validation_batches(task, lengths, 40)
    found = {batch.inputs.shape[1] for batch in batches}
    assert found
    assert not found & set(lengths)
    assert all(set(task.split_of(batch)) == {"validation"} for batch in batches)
