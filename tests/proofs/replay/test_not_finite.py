"""A score that is NaN or infinite is no answer: search, replay and evaluation agree about it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks._forged_modules import GOOD, LANGUAGE, NOT_FINITE, TASK, Automaton, above, rebound
from nerode.kernel import Certificate, Failure
from nerode.proofs.floats import certify_module
from nerode.proofs.replay import recheck_module
from nerode.training.evaluation import Tally

PROOF = certify_module(GOOD, LANGUAGE, decode=above).certificate


def right_positions(module: Automaton) -> tuple[int, int]:
    """Positions that an evaluation counts as right, and all of them."""
    batch = TASK.sample(12, 16, np.random.default_rng(0))
    state, rows = module.initial_state(16), []
    for column in batch.inputs.T:
        scores, state = module.step(column, state)
        rows.append(scores)
    tally = Tally(TASK, 12)
    tally.begin(16)
    tally.add(torch.stack(rows, 1).detach(), batch)
    return tally.right_positions, tally.positions


def test_the_module_with_finite_scores_is_proved_and_passes():
    assert isinstance(PROOF, Certificate)
    assert recheck_module(GOOD, LANGUAGE, PROOF, decode=above) is None
    right, counted = right_positions(GOOD)
    assert right == counted > 0


@pytest.mark.parametrize(("may", "may_not"), NOT_FINITE)
def test_scores_that_are_not_finite_are_wrong_everywhere(may, may_not):
    module = Automaton(may, may_not)
    found = certify_module(module, LANGUAGE, decode=above)
    assert found.length != "all"
    assert found.refutation is not None
    refused = recheck_module(module, LANGUAGE, rebound(module), decode=above)
    assert isinstance(refused, Failure)
    assert refused.refutation is not None
    assert refused.refutation.word == found.refutation.word
    right, counted = right_positions(module)
    assert right < counted
