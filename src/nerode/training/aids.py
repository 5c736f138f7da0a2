"""Aids to length generalisation: other states to begin with, and words that hold for long.

A network that has only met the states of short words from one start may fail on those of long words. So some
sequences begin with the state after another sequence, or with a noisy one; and some words stay for long where
a network has to hold. All of it depends on the seed and the number of the step alone.

References: [BuitragoRuiz2025] for states that are passed on and for noise.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from nerode.core import InputError, stream
from nerode.models import Model
from nerode.records import TrainingAids
from nerode.tasks import Batch, FormalLanguageTask, Task
from nerode.training.evaluation import run


def require_aids(aids: TrainingAids, task: Task, model: nn.Module) -> None:
    """Raises InputError if a run cannot have its aids."""
    if aids.passed or aids.noise:
        if not isinstance(model, Model):
            raise InputError(
                "run.aids.passed and run.aids.noise set the state of a model of the zoo; this is one of yours"
            )
        if model.grows:
            raise InputError(
                "run.aids.passed and run.aids.noise are for states of one size; that of attention grows"
            )
    if aids.passed or aids.holds:
        if not isinstance(task, FormalLanguageTask):
            raise InputError(
                f"run.aids.passed and run.aids.holds follow the automaton of a language; {task.name} is not "
                "about one (predict-…, recognise-… and states-… are)"
            )
        length = task.training_lengths[1]
        if aids.holds:
            task.draw_held(length, 1, stream(0, "aids"))
        if aids.passed and not _returns(task):
            raise InputError(
                f"run.aids.passed needs words that lead back to the start; {task.language.name} has none"
            )


def _returns(task: FormalLanguageTask) -> bool:
    """Whether a word that is not empty leads the automaton back to its start."""
    dfa = task.automaton()
    reached = {int(after) for after in dfa.transitions[dfa.start]}
    todo = list(reached)
    for state in todo:
        more = {int(after) for after in dfa.transitions[state]} - reached
        reached |= more
        todo += more
    return dfa.start in reached


def add_holds(batch: Batch, task: Task, aids: TrainingAids, *, seed: int, step: int) -> Batch:
    """Returns a batch whose first sequences are words with long holds, as many as asked for if there are."""
    count = round(aids.holds * len(batch))
    if not count:
        return batch
    assert isinstance(task, FormalLanguageTask)
    held = task.draw_held(batch.inputs.shape[1], count, stream(seed, "holds", step))
    rest = batch.rows(range(len(held), len(batch)))
    return Batch(
        inputs=torch.cat([held.inputs, rest.inputs]),
        targets=torch.cat([held.targets, rest.targets]),
        mask=torch.cat([held.mask, rest.mask]),
    )


def first_state(
    model: nn.Module, batch: Batch, task: Task, aids: TrainingAids, *, seed: int, step: int
) -> dict[str, Tensor] | None:
    """Returns the state that the sequences of an update begin with; None for that of the model."""
    count = round(aids.passed * len(batch))
    if not count and not aids.noise:
        return None
    assert isinstance(model, Model)
    state = dict(model.initial_state(len(batch)))
    if count:
        assert isinstance(task, FormalLanguageTask)
        rng = stream(seed, "passed", step)
        others = task.draw("train", batch.inputs.shape[1], len(batch), rng)
        back = task.leads_back(others).nonzero()[0]
        if len(back):
            with torch.no_grad():
                after = run(model, others.inputs)[1]
            # The last sequences, so that words with holds begin at the start.
            rows = torch.as_tensor(rng.choice(back, count))
            state = {k: torch.cat([v[:-count], after[k][rows].to(v.dtype)]) for k, v in state.items()}
    if aids.noise:
        drawn = torch.Generator().manual_seed(int(stream(seed, "noise", step).integers(2**63)))
        for name, value in state.items():
            if value.is_floating_point() or value.is_complex():
                noise = torch.randn(value.shape, generator=drawn, dtype=value.dtype)
                state[name] = value + aids.noise * noise
    return state
