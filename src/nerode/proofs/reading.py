"""Scores to answers: the one decoder of readings. It belongs to the meaning of every claim about a module.

A row in which a score that the reading looks at is NaN or infinite is no answer, and wrong wherever something
is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import torch
from torch import Tensor, nn

from nerode.records import Reading

UNREADABLE = 2
"""The value of all truth values of an answer that cannot be read; it is no correct answer."""

NEAR = 2.0**-24
"""Distance from the logarithm of a probability to that of the threshold, below which nothing is decided."""


def decode(reading: Reading, scores: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the answers (…, names) that scores (…, scores) stand for, and which rows (…) can be read.

    A score of a language model may be -inf, which is the probability 0. A probability that is so near to the
    threshold that roundings would decide cannot be read.
    """
    if reading.kind == "softmax":
        return _decode_shares(reading, scores)
    if reading.kind == "largest":
        scores = _chosen(reading, scores)
        readable = scores.isfinite().all(-1)
        return torch.tensor(reading.table)[scores.argmax(-1)], readable
    chosen = _chosen(reading, scores)
    readable, above = chosen.isfinite().all(-1), chosen.double() > _below(reading.limit)
    if reading.table:
        return torch.tensor(reading.table)[above[..., 0].long()], readable
    return _with_constants(reading, above), readable


def _below(limit: Fraction) -> float:
    """The largest float64 up to a number: the same floats are above it as above the number itself."""
    found = float(limit)
    return found if Fraction(found) <= limit else math.nextafter(found, -math.inf)


def _decode_shares(reading: Reading, scores: Tensor) -> tuple[Tensor, Tensor]:
    """The columns whose probability is at least the threshold."""
    gaps = _gaps(reading, scores)
    whole = torch.logsumexp(scores.double(), -1)
    readable = whole.isfinite() & ~(gaps.abs() <= NEAR).any(-1)
    return _with_constants(reading, gaps >= 0), readable


def distances(reading: Reading, scores: Tensor) -> Tensor:
    """Returns how far each score that is read is above the threshold; the scores themselves for the largest.

    A truth value that is always true is infinitely far above it. Of a probability its logarithm counts.
    """
    if reading.kind == "softmax":
        gaps = _gaps(reading, scores)
    else:
        gaps = _chosen(reading, scores) - (float(reading.limit) if reading.kind == "above" else 0.0)
    if reading.table or -1 not in reading.columns:
        return gaps
    full = torch.full((*gaps.shape[:-1], len(reading.columns)), math.inf, dtype=gaps.dtype)
    full[..., [i for i, c in enumerate(reading.columns) if c >= 0]] = gaps
    return full


def _gaps(reading: Reading, scores: Tensor) -> Tensor:
    """The logarithms of probabilities, less that of the threshold."""
    wide = scores.double()
    return _chosen(reading, wide) - torch.logsumexp(wide, -1, keepdim=True) - math.log(reading.limit)


def _chosen(reading: Reading, scores: Tensor) -> Tensor:
    """The scores that the columns name."""
    return scores[..., [c for c in reading.columns if c >= 0]] if reading.columns else scores


def _with_constants(reading: Reading, bits: Tensor) -> Tensor:
    """The truth values with those that are always true, which no score names."""
    if -1 not in reading.columns:
        return bits
    places, found = [i for i, c in enumerate(reading.columns) if c >= 0], list(bits.shape[:-1])
    full = torch.ones([*found, len(reading.columns)], dtype=torch.bool)
    full[..., places] = bits
    return full


def decoder(reading: Reading) -> Callable[[Tensor], Tensor]:
    """Returns the function from scores to truth values: 0 or 1, and 2 in all places of a row not readable."""

    def read(scores: Tensor) -> Tensor:
        return marked(*decode(reading, scores))

    return read


def marked(bits: Tensor, readable: Tensor) -> Tensor:
    """Returns truth values as numbers, with 2 in all places of rows that cannot be read."""
    return torch.where(readable[..., None], bits.to(torch.int8), torch.tensor(UNREADABLE, dtype=torch.int8))


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
