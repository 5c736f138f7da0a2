from __future__ import annotations

import math

import pytest
import torch

from nerode.analysis.probes import draw_probe, margin, margins, plain, read_word, symbols_of
from nerode.core import InputError
from nerode.records import TaskConfig
from nerode.tasks import Batch, build_task
from tests.analysis.networks import flip_flop_task, model_of, subject_of
from tests.training.tiny import Signs


def test_words_of_a_task_have_the_longest_length_of_training():
    subject = subject_of(model_of("gru", letters=5), task=flip_flop_task())
    probe = draw_probe(subject, count=3)
    assert probe.inputs.shape == (3, 64)
    assert probe.symbols == ("w", "r", "i", "0", "1")
    assert probe.batch is not None
    assert probe.spell(0)[0] == "w"
    assert torch.equal(draw_probe(subject, count=3).inputs, probe.inputs)
    assert not torch.equal(draw_probe(subject, count=3, seed=1).inputs, probe.inputs)


def test_lengths_that_are_not_trained_on_are_passed_over():
    assert build_task(TaskConfig(name="ngram-text")).usual_length(64) == 20
    assert build_task(TaskConfig(name="flip-flop", settings={"longest": 63})).usual_length(64) == 62
    assert build_task(TaskConfig(name="flip-flop-512")).usual_length(64) == 512
    # No word of (abab)* has a length between 48 and 52.
    assert build_task(TaskConfig(name="predict-abab-star")).usual_length(50) == 48


def test_without_a_task_letters_are_random_and_numbered():
    subject = subject_of(model_of("gru"))
    probe = draw_probe(subject, count=50, length=7)
    assert probe.inputs.shape == (50, 7)
    assert set(probe.inputs.flatten().tolist()) == {0, 1, 2}
    assert symbols_of(subject) == ("0", "1", "2")
    with pytest.raises(InputError, match="does not read letters"):
        draw_probe(subject_of(torch.nn.Linear(1, 1)), count=1)


def test_words_are_read_with_spaces_or_without():
    subject = subject_of(model_of("gru", letters=5), task=flip_flop_task())
    for text in ("w 1 i 0", "w1i0"):
        assert read_word(subject, text).tolist() == [[0, 4, 2, 3]]
    with pytest.raises(InputError, match="'x', which is no letter; the letters are: w r i 0 1"):
        read_word(subject, "wx")
    with pytest.raises(InputError, match="is empty"):
        read_word(subject, "")


def test_numbers_for_json():
    assert plain(0.5) == 0.5
    assert plain(math.inf) is None
    assert plain(math.nan) is None


ONE = torch.ones(1, 1, dtype=torch.bool)


def test_margins_of_classes_bits_and_next_symbols():
    inputs = torch.zeros(1, 1, dtype=torch.int64)
    scores = torch.tensor([[[1.0, 4.0]]])
    classes = Batch(inputs=inputs, targets=torch.tensor([[1]]), mask=ONE)
    assert margin(flip_flop_task(), scores, classes).item() == 3
    bits = Batch(inputs=inputs, targets=torch.tensor([[[True, False]]]), mask=ONE)
    assert margin(Signs(), scores, bits).item() == -4
    text = build_task(TaskConfig(name="language-next-token", settings={"language": "parity"}))
    legal = Batch(inputs=inputs, targets=torch.tensor([[[0, 1, 0, 1]]]), mask=ONE)
    assert margin(text, torch.tensor([[[1.0, 4.0, 3.5]]]), legal).item() == -0.5
    odd = Batch(inputs=inputs, targets=torch.zeros(1, 1, 9), mask=ONE)
    with pytest.raises(InputError, match="neither bits nor classes"):
        margin(text, scores, odd)


def test_a_network_without_a_task_has_no_margin():
    with pytest.raises(InputError, match="no task"):
        margins(subject_of(model_of("gru")))
