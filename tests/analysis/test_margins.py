from __future__ import annotations

import pytest
import torch

from nerode.analysis.margins import margin, margins
from nerode.core import InputError
from nerode.records import TaskConfig
from nerode.tasks import Batch, build_task
from tests.analysis.networks import flip_flop_task, model_of, subject_of
from tests.training.tiny import Signs

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
