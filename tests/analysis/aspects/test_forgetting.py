from __future__ import annotations

import pytest
import torch

from nerode.analysis.aspects.forgetting import fixed_points, forgetting
from nerode.analysis.subject import load_subject
from nerode.core import Budget, InputError
from nerode.records import run_name
from nerode.tasks import IGNORE, READ, WRITE, ZERO
from nerode.training import make_specs, run_key
from nerode.training.runs import run_in
from tests.analysis.networks import flip_flop_task, leaky_flip_flop, model_of, subject_of


def whole_word(model, bit: int, ignored: list[int]) -> bool:
    """Reads a word at once and says whether the bit comes out."""
    word = [WRITE, ZERO + bit, *(letter for b in ignored for letter in (IGNORE, ZERO + b)), READ]
    scores = model(torch.tensor([word]))[0][0, -1]
    return int(scores.argmax()) == bit


@pytest.mark.parametrize("seed", [0, 1])
def test_streams_agree_with_whole_words(seed):
    model = model_of("mamba", letters=5, states=2, seed=seed)
    found = forgetting(subject_of(model, task=flip_flop_task()), longest=40, repetitions=50)
    for row in found.streams:
        if row.stream == "random":
            continue
        bits = row.bit if row.stream == "same" else 1 - row.bit
        right = [whole_word(model, row.bit, [bits] * n) for n in range(1, 41)]
        assert row.fails_at == (right.index(False) + 1 if False in right else None)
        if row.fails_at is None or row.fails_at > 8:
            assert row.predicted is None or row.predicted == row.fails_at or row.predicted > 40


def test_a_network_that_forgets_answers_the_same_for_both_bits():
    model = model_of("gru", letters=5, hidden=3)
    points = {(p.written, p.ignored): p for p in fixed_points(model)}
    for ignored in (0, 1):
        zero, one = points[0, ignored], points[1, ignored]
        assert zero.steps is not None
        assert zero.period == 1
        assert zero.margin == pytest.approx(-one.margin, abs=1e-5)
        assert zero.right != one.right
    found = forgetting(subject_of(model, task=flip_flop_task()), longest=20)
    assert found.latch is False


def test_a_fixed_point_is_one():
    model = model_of("gru", letters=5, hidden=3)
    point = next(p for p in fixed_points(model) if (p.written, p.ignored) == (0, 1))
    assert point.steps is not None
    state = None
    word = [WRITE, ZERO, *[IGNORE, ZERO + 1] * point.steps]
    with torch.no_grad():
        state = model.initial_state(4)
        for letter in word:
            _, state = model.step(torch.full((4,), letter), state)
        after = state
        for letter in (IGNORE, ZERO + 1):
            _, after = model.step(torch.full((4,), letter), after)
    torch.testing.assert_close(after["0.h"], state["0.h"], rtol=1e-6, atol=1e-7)


def test_a_state_that_turns_never_stands_still():
    """An SSM that counts: each pair adds to the state, so that no state comes back."""
    model = leaky_flip_flop(1.0, 0.5)
    with torch.no_grad():
        model.layers[0].candidate.weight.fill_(0.0)
        model.layers[0].gate.weight.fill_(0.0)
        model.layers[0].gate.bias.fill_(-2.0)
        model.layers[0].candidate.bias.fill_(1.0)
    few = fixed_points(model, repetitions=3)
    assert {p.steps for p in few} == {None}
    assert {p.always for p in few} == {None}


def test_time_that_is_up_leaves_points_unknown():
    points = fixed_points(model_of("gru", letters=5), budget=Budget(seconds=1e-9))
    assert {p.right for p in points} == {None}


def test_other_tasks_and_growing_states_are_refused():
    with pytest.raises(InputError, match="not about flip-flops"):
        forgetting(subject_of(model_of("gru", letters=5)))
    with pytest.raises(InputError, match="no horizon"):
        forgetting(subject_of(model_of("transformer", letters=5, heads=1), task=flip_flop_task()))


@pytest.mark.slow
def test_the_horizon_of_a_trained_mamba_is_predicted_to_the_bit(tmp_path):
    (spec,) = make_specs("flip-flop", ["mamba"], seeds=[0])
    record = run_in(tmp_path, spec)
    assert record.history[-1].validation.accuracy("sequence") == 1
    found = forgetting(load_subject(tmp_path / run_name(run_key(spec))), longest=2_000)
    lost = {(s.stream, s.bit): s for s in found.streams}
    assert found.latch is False
    assert any(s.fails_at is not None for s in found.streams)
    # The time that is up leaves fixed points unknown, and the failures that were seen still say no.
    for stream in ("opposite", "same"):
        for bit in (0, 1):
            seen = lost[stream, bit]
            assert seen.predicted == seen.fails_at or (seen.fails_at is None and seen.predicted > 2_000)


@pytest.mark.slow
def test_a_trained_lstm_is_a_latch(tmp_path):
    (spec,) = make_specs("flip-flop", ["lstm"], seeds=[0])
    run_in(tmp_path, spec)
    found = forgetting(load_subject(tmp_path / run_name(run_key(spec))), longest=2_000)
    assert found.latch is True
    assert {row.predicted for row in found.streams} == {None}
