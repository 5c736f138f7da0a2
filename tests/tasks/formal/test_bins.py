"""Bins have the lengths that they claim."""

from __future__ import annotations

import numpy as np
import pytest

from nerode.core import InputError
from nerode.records import TaskConfig
from nerode.tasks import build_task
from nerode.tasks.formal.bins import LengthBin, draw_bin, length_bins


def test_the_bins_of_the_papers():
    names = [b.name for b in length_bins(1, 50)]
    assert names == ["1-50", "51-100", "101-150", "451-500"]
    assert [b.name for b in build_task(TaskConfig(name="predict-tomita-3")).bins] == names
    assert [b.name for b in length_bins(3, 40, longer=(1,))] == ["3-40", "41-80"]
    with pytest.raises(InputError, match="not a range"):
        LengthBin(low=3, high=2)


def test_lengths_are_spread_over_those_that_have_words():
    task = build_task(TaskConfig(name="predict-dyck-1"))
    lengths = LengthBin(low=51, high=60)
    batches = draw_bin(task, "test", lengths, 400, np.random.default_rng(0))
    counts = {b.inputs.shape[1]: len(b) for b in batches}
    assert sorted(counts) == [52, 54, 56, 58, 60]
    assert sum(counts.values()) == 400
    assert min(counts.values()) > 50


def test_an_empty_bin_is_said():
    task = build_task(TaskConfig(name="predict-ngram-seed"))
    with pytest.raises(InputError, match="no sequence of length 51-100 in the test split"):
        draw_bin(task, "test", LengthBin(low=51, high=100), 5, np.random.default_rng(0))
