"""How sure a network is of the right answer, at lengths up to and beyond those of training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from nerode.analysis.probes import draw_probe, plain
from nerode.analysis.subject import Subject
from nerode.core import InputError, to_mapping
from nerode.tasks import Batch, Task
from nerode.training import tested_lengths


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginAt:
    """The margin of the right answer at one length.

    Attributes:
        length: of the words.
        least: over all positions that count, of all words.
        low: the margin that one position in a hundred falls below.
        median: of all positions that count.
        wrong: share of the positions that are answered wrongly.
    """

    length: int
    least: float | None
    low: float | None
    median: float | None
    wrong: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Margins:
    """The margin as a function of the length.

    Attributes:
        trained: the longest length of training.
        lengths: what was found at each.
    """

    trained: int
    lengths: tuple[MarginAt, ...]

    def to_json(self) -> dict[str, Any]:
        """Returns the record as plain values."""
        return to_mapping(self)


@torch.no_grad()
def margins(subject: Subject, *, longest: int = 512, words: int = 64, seed: int = 0) -> Margins:
    """Returns the margin of the right answer at the lengths that the task is tested at.

    Args:
        subject: the network.
        longest: test lengths above this are left out.
        words: how many of each length.
        seed: of the words.

    Raises:
        InputError: if the network has no task, or the task has no answers that can be compared.
    """
    task = subject.task
    if task is None or subject.spec is None:
        raise InputError(f"{subject.name} has no task; without right answers there is no margin")
    lengths = [n for n in tested_lengths(subject.spec) if n <= longest] or [tested_lengths(subject.spec)[0]]
    found = []
    for length in lengths:
        probe = draw_probe(subject, count=words, length=length, seed=seed)
        assert probe.batch is not None
        scores = subject.model(probe.inputs, None)[0].double()
        sizes = margin(task, scores, probe.batch)[probe.batch.mask]
        right = task.right(scores, probe.batch)[probe.batch.mask]
        found.append(
            MarginAt(
                length=length,
                least=plain(float(sizes.min())),
                low=plain(float(sizes.quantile(0.01))),
                median=plain(float(sizes.median())),
                wrong=float((~right).double().mean()),
            )
        )
    return Margins(trained=task.training_lengths[1], lengths=tuple(found))


def margin(task: Task, scores: Tensor, batch: Batch) -> Tensor:
    """Returns at each position how much the right answer is ahead (batch, time).

    For bits, of the bit that is least sure; for classes, of the right class before the best other one; where
    several symbols may come next, of the best of them before the best of the others.
    """
    targets = batch.targets
    if task.targets_are_bits:
        return torch.where(targets.bool(), scores, -scores).amin(-1)
    if targets.ndim == 2:
        right = torch.nn.functional.one_hot(targets.long(), scores.shape[-1]).bool()
    elif targets.shape[-1] == scores.shape[-1] + 1:
        right = targets[..., 1:] == 1
    else:
        raise InputError(f"the answers of {task.name} are neither bits nor classes; they have no margin")
    best = scores.masked_fill(~right, -torch.inf).amax(-1)
    other = scores.masked_fill(right, -torch.inf).amax(-1)
    return best - other
