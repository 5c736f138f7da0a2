"""Scores to answers: the one decoder of readings. It belongs to the meaning of every claim about a module.

A row in which a score that the reading looks at is NaN or infinite is no answer, and wrong wherever something
is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import torch
from torch import Tensor, nn

from nerode.records import Reading


def decode(reading: Reading, scores: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the answers (…, names) that scores (…, scores) stand for, and which rows (…) can be read."""
    if reading.columns:
        scores = scores[..., list(reading.columns)]
    readable = scores.isfinite().all(-1)
    if reading.kind == "largest":
        return torch.tensor(reading.table)[scores.argmax(-1)], readable
    above = scores > float(Fraction(reading.threshold))
    return (torch.tensor(reading.table)[above[..., 0].long()] if reading.table else above), readable


def decoder(reading: Reading) -> Callable[[Tensor], Tensor]:
    """Returns the function from scores to answers; what can be read is decided by the scores themselves."""
    return lambda scores: decode(reading, scores)[0]


class SignalModule(nn.Module):
    """A network that reads one feature per step, as one that reads the letters 0 and 1."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.inner = network
        self.grows = bool(getattr(network, "grows", False))

    def initial_state(self, batch: int) -> dict[str, Tensor]:
        """Returns the state before the first position."""
        state: dict[str, Tensor] = self.inner.initial_state(batch)  # type: ignore[operator]
        return state

    def step(self, x: Tensor, state: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """Returns the scores after one letter, and the state."""
        scores, after = self.inner.step(self._features(x), state)  # type: ignore[operator]
        return scores, after

    def forward(self, x: Tensor, state: dict[str, Tensor] | None = None) -> tuple[Tensor, dict[str, Tensor]]:
        """Returns the scores along sequences, and the last state."""
        scores, after = self.inner(self._features(x), state)
        return scores, after

    def _features(self, x: Tensor) -> Tensor:
        return x[..., None].to(next(self.inner.parameters()).dtype)
