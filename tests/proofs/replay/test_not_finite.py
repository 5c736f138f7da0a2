"""A score that is NaN or infinite is no answer: search, replay and evaluation agree about it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from nerode.kernel import Certificate, Failure
from nerode.proofs.floats import certify_module
from nerode.proofs.replay import recheck_module
from nerode.proofs.replay.bits import METHOD
from nerode.proofs.replay.listing import fingerprint
from nerode.records import TaskConfig
from nerode.tasks import build_task
from nerode.training.evaluation import Tally

TASK = build_task(TaskConfig(name="language-prediction", settings={"language": "tomita-4"}))
LANGUAGE = TASK.language
DFA = LANGUAGE.dfa()
TARGETS = torch.from_numpy(DFA.transitions.astype(np.int64))
FOLLOWS = torch.tensor(
    [
        [*(a in legal.symbols for a in range(len(LANGUAGE.alphabet))), legal.end]
        for legal in map(LANGUAGE.legal, range(DFA.num_states))
    ]
)


class Automaton(nn.Module):
    """The automaton of the language, with one score for what may follow and one for what may not."""

    def __init__(self, may: float, may_not: float) -> None:
        super().__init__()
        self.scores = nn.Parameter(torch.tensor([may_not, may]))

    def initial_state(self, batch: int) -> dict[str, torch.Tensor]:
        return {"q": torch.full((batch, 1), DFA.start)}

    def step(self, x, state):
        q = TARGETS[state["q"][:, 0], x]
        return self.scores[FOLLOWS[q].long()], {"q": q[:, None]}


def above(scores: torch.Tensor) -> torch.Tensor:
    return scores > 0


GOOD = Automaton(1.0, -1.0)
PROOF = certify_module(GOOD, LANGUAGE, decode=above).certificate

WRONG = [
    (1.0, math.nan),
    (1.0, -math.inf),
    (math.inf, -1.0),
    (math.inf, -math.inf),
    (math.nan, -1.0),
    (math.nan, math.nan),
]


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


@pytest.mark.parametrize(("may", "may_not"), WRONG)
def test_scores_that_are_not_finite_are_wrong_everywhere(may, may_not):
    module = Automaton(may, may_not)
    found = certify_module(module, LANGUAGE, decode=above)
    assert found.length != "all"
    assert found.refutation is not None
    # The same list of states, made to be about this module.
    sha = fingerprint(module)
    evidence = {METHOD: {**PROOF.evidence[METHOD], "module": sha}}
    refused = recheck_module(module, LANGUAGE, replace(PROOF, network=sha, evidence=evidence), decode=above)
    assert isinstance(refused, Failure)
    assert refused.refutation is not None
    assert refused.refutation.word == found.refutation.word
    right, counted = right_positions(module)
    assert right < counted
