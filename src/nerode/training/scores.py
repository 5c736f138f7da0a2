"""How well sequences of one length are answered, and what that says about lengths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nerode.core import InputError
from nerode.tasks import Batch, Task
from nerode.training.spec import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthScore:
    """How well sequences of one length were answered.

    Attributes:
        length: the length.
        sequences: how many there were.
        positions: how many of their positions count.
        token: share of these that were right.
        sequence: share of the sequences that were right throughout.
        final: share of the sequences whose last position that counts was right.
        scaled: `token` with a uniform guess at 0 and all right at 1.
        loss: mean over the positions; None if it is not finite.
    """

    length: int
    sequences: int
    positions: int
    token: float
    sequence: float
    final: float
    scaled: float
    loss: float | None

    def accuracy(self, measure: Measure) -> float:
        """Returns one of the four accuracies."""
        match measure:
            case "token":
                return self.token
            case "sequence":
                return self.sequence
            case "final":
                return self.final
            case "scaled":
                return self.scaled


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisScore:
    """How well sequences at one value of another quantity than the length were answered.

    Attributes:
        axis: the quantity.
        value: its value.
        trained: whether training has this value.
        score: how they were answered.
    """

    axis: str
    value: int
    trained: bool
    score: LengthScore


def first_failing_length(scores: Sequence[LengthScore], *, measure: Measure, threshold: float) -> int | None:
    """Returns the shortest tested length whose accuracy is below the threshold, None if there is none."""
    return min((s.length for s in scores if s.accuracy(measure) < threshold), default=None)


def extrapolates_to(scores: Sequence[LengthScore], *, measure: Measure, threshold: float) -> int | None:
    """Returns the longest tested length that is mastered, None if not even the shortest is.

    A length counts only if the threshold is reached there and at every shorter length that was tested.

    Implements: [MemoryGeneralization]
    """
    failing = first_failing_length(scores, measure=measure, threshold=threshold)
    return max((s.length for s in scores if failing is None or s.length < failing), default=None)


class Tally:
    """Counts right answers over parts of sequences, without keeping them.

    Args:
        task: says what is right.
        length: of the sequences.
    """

    def __init__(self, task: Task, length: int) -> None:
        self.task = task
        self.length = length
        self.positions = self.right_positions = 0
        self.sequences = self.right_sequences = 0
        self.ended = self.right_ends = 0
        self.loss = 0.0

    def begin(self, count: int) -> None:
        """Begins new sequences."""
        self._throughout = torch.ones(count, dtype=torch.bool)
        self._last = torch.ones(count, dtype=torch.bool)
        self._any = torch.zeros(count, dtype=torch.bool)

    def add(self, scores: Tensor, part: Batch) -> None:
        """Counts the next positions of the sequences that were begun."""
        counted = part.mask.sum().item()
        if not counted:
            return
        # A score that is no number answers nothing, though it may compare like an answer.
        answered = torch.isfinite(scores).all(-1)
        right = self.task.right(scores, part) & (answered | ~part.mask)
        self.positions += int(counted)
        self.right_positions += int((right & part.mask).sum())
        self.loss += self.task.loss(scores, part).item() * counted
        self._throughout &= right.all(1)
        here = part.mask.any(1)
        places = torch.arange(part.mask.shape[1]).where(part.mask, -1).max(1).values.clamp(min=0)
        at_last = right.gather(1, places[:, None])[:, 0]
        self._last = at_last.where(here, self._last)
        self._any |= here

    def end(self) -> None:
        """Ends the sequences that were begun."""
        self.sequences += len(self._throughout)
        self.right_sequences += int(self._throughout.sum())
        self.ended += int(self._any.sum())
        self.right_ends += int((self._last & self._any).sum())

    def score(self) -> LengthScore:
        """Returns the shares.

        Raises:
            InputError: if no position counted.
        """
        if not self.positions:
            raise InputError(f"{self.task.name} has no position that counts at length {self.length}")
        token = self.right_positions / self.positions
        loss = self.loss / self.positions
        chance = self.task.chance
        return LengthScore(
            length=self.length,
            sequences=self.sequences,
            positions=self.positions,
            token=token,
            sequence=self.right_sequences / self.sequences,
            final=self.right_ends / self.ended,
            scaled=(token - chance) / (1 - chance),
            loss=loss if math.isfinite(loss) else None,
        )


def joined(scores: Sequence[LengthScore]) -> LengthScore:
    """Returns the score of all sequences together, under the longest of their lengths."""
    sequences = sum(s.sequences for s in scores)
    positions = sum(s.positions for s in scores)
    by_position = {
        name: sum(getattr(s, name) * s.positions for s in scores) / positions for name in ("token", "scaled")
    }
    by_sequence = {
        name: sum(getattr(s, name) * s.sequences for s in scores) / sequences
        for name in ("sequence", "final")
    }
    losses = [s.loss * s.positions for s in scores if s.loss is not None]
    return LengthScore(
        length=max(s.length for s in scores),
        sequences=sequences,
        positions=positions,
        loss=sum(losses) / positions if len(losses) == len(scores) else None,
        **by_position,
        **by_sequence,
    )
