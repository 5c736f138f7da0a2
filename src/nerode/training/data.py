"""The sequences of a run: for training and for validation, and the aids to length generalisation.

A network that has only met the states of short words from one start may fail on those of long words. So some
sequences may begin with the state after another sequence, or with a noisy one; and some words stay for long
where a network has to hold. All of it depends on the seed and the number of the step alone.

References: [BuitragoRuiz2025] for states that are passed on and for noise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from nerode.core import InputError, stream
from nerode.models import Model
from nerode.records import RunSpec, TrainingAids
from nerode.tasks import Batch, FormalLanguageTask, Split, Task
from nerode.training.batch_parts import run

_VALIDATION_LENGTHS = 8
"""Most lengths that validation sequences have."""


def lengths_of(task: Task, split: Split) -> tuple[int, ...]:
    """Returns the lengths of training at which a split has sequences.

    Raises:
        InputError: if there is none.
    """
    low, high = task.training_lengths
    found = tuple(n for n in range(low, high + 1) if _has(task, split, n))
    if not found:
        raise InputError(f"{task.name} has no sequence in the {split} split from length {low} to {high}")
    return found


def _has(task: Task, split: Split, length: int) -> bool:
    try:
        task.draw(split, length, 1, stream(0, "lengths", split, length))
    except InputError:
        return False
    return True


class FreshData:
    """New sequences at each step, of a random length that is long enough to exist.

    Args:
        task: what draws them.
        run: how many, and by which seed.
    """

    def __init__(self, task: Task, run: RunSpec) -> None:
        self.task = task
        self.run = run
        self.lengths = lengths_of(task, "train")
        self.steps = run.steps

    def batch(self, step: int, longest: int) -> Batch:
        """Returns the sequences of a step; none is longer than `longest`, if there are shorter ones."""
        allowed = sum(1 for length in self.lengths if length <= longest) or 1
        # The same for all seeds, so that their batches can be stacked.
        length = self.task.choose_length(self.lengths[:allowed], stream(0, "length", step))
        return self.task.draw("train", length, self.run.batch, stream(self.run.seed, "data", step))


class FixedData:
    """The same sequences in each epoch, in another order: those of a batch have one length.

    Args:
        task: what draws them.
        run: how many, and by which seed.
    """

    def __init__(self, task: Task, run: RunSpec) -> None:
        self.run = run
        self.lengths = lengths_of(task, "train")
        rng = stream(run.seed, "sample")
        chosen = task.choose_lengths(self.lengths, run.sample, rng)
        lengths, counts = np.unique(chosen, return_counts=True)
        self.groups = [
            task.draw("train", int(length), int(count), rng)
            for length, count in zip(lengths, counts, strict=True)
        ]
        self.batches = sum(-(-len(group) // run.batch) for group in self.groups)
        self.steps = run.epochs * self.batches
        self._order: tuple[int, list[tuple[int, npt.NDArray[np.int64]]]] = (-1, [])

    def batch(self, step: int, longest: int) -> Batch:
        """Returns the sequences of a step."""
        epoch, number = divmod(step, self.batches)
        if self._order[0] != epoch:
            self._order = (epoch, self._shuffled(epoch))
        group, rows = self._order[1][number]
        return self.groups[group].rows(rows)

    def _shuffled(self, epoch: int) -> list[tuple[int, npt.NDArray[np.int64]]]:
        rng = stream(self.run.seed, "order", epoch)
        size = self.run.batch
        parts = []
        for number, group in enumerate(self.groups):
            rows = rng.permutation(len(group))
            parts += [(number, rows[first : first + size]) for first in range(0, len(rows), size)]
        return [parts[i] for i in rng.permutation(len(parts))]


def training_data(task: Task, run: RunSpec) -> FreshData | FixedData:
    """Returns the training data of a run."""
    return FixedData(task, run) if run.epochs else FreshData(task, run)


def validation_batches(task: Task, lengths: Sequence[int], count: int) -> list[Batch]:
    """Returns about `count` validation sequences, at lengths evenly spread over those given.

    They depend on the task and the lengths alone. A length that has no validation sequence is left out. With
    one sequence a length, the lengths that are trained on have none at all; then others take their place.

    Raises:
        InputError: if no length has one.
    """
    batches = _spread(task, "validation", lengths, count)
    if not batches:
        others = [n for n in range(lengths[0], lengths[-1] + 1) if _has(task, "validation", n)]
        batches = _spread(task, "validation", others, count) if others else []
    if not batches:
        raise InputError(
            f"{task.name} has no validation sequence from length {lengths[0]} to {lengths[-1]}; "
            "train on longer sequences"
        )
    return batches


def curriculum_batches(task: Task, lengths: Sequence[int], count: int) -> list[Batch]:
    """Returns sequences that tell whether the lengths so far are learnt.

    They are validation sequences, unless the lengths are so short that there are none: then all sequences
    there are belong to training, and to know these is to know the length.
    """
    return _spread(task, "validation", lengths, count) or _spread(task, "train", lengths, count)


def _spread(task: Task, split: Split, lengths: Sequence[int], count: int) -> list[Batch]:
    places = np.linspace(0, len(lengths) - 1, min(_VALIDATION_LENGTHS, len(lengths))).round().astype(int)
    chosen = [lengths[i] for i in sorted(set(places.tolist()))]
    each = -(-count // len(chosen))
    batches = []
    for length in chosen:
        try:
            batches.append(task.draw(split, length, each, stream(0, "validation", task.name, length)))
        except InputError:
            continue
    return batches


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
    return Batch.joined([held, rest])


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
