"""Models that are right at both ends of a box and wrong inside it: no replay accepts them."""

from __future__ import annotations

import pytest
import torch

from benchmarks._forged_modules import EVERY_WORD, SIZES, certificate, squares, stream, wrong_words
from nerode.kernel import Failure
from nerode.proofs.replay import replay_fading
from nerode.proofs.replay.fading import _ScoreForm


@pytest.mark.parametrize("forge", SIZES)
def test_a_model_that_is_wrong_inside_the_box_is_refused(forge):
    made = forge(1.0)
    assert wrong_words(made)
    failure = replay_fading(made, EVERY_WORD, certificate(made))
    assert isinstance(failure, Failure)


@pytest.mark.parametrize("forge", SIZES)
def test_the_same_model_with_other_sizes_is_proved(forge):
    made = forge(SIZES[forge])
    assert not wrong_words(made)
    assert replay_fading(made, EVERY_WORD, certificate(made)) is None


@pytest.mark.parametrize("forge", [squares, stream])
def test_bounds_that_are_blind_meet_the_module_itself(forge, monkeypatch):
    """A replay that asks for no bounds at all: the corner of the box is wrong."""
    made = forge(1.0)

    def believed(self, reading, low, high):
        ones = torch.ones(3, dtype=torch.float64)
        return ones, ones

    monkeypatch.setattr(_ScoreForm, "bounds", believed)
    failure = replay_fading(made, EVERY_WORD, certificate(made))
    assert failure is not None
    assert "contradicts the bounds" in failure.what
