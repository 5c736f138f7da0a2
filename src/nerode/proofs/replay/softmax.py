"""Readings by probability with outward bounds, by a program that shares nothing with the search but numpy.

A probability is at least p if and only if exp(s - m) >= p · sum of exp(s' - m), where m is the largest score.
The exponentials come from multiplications and additions alone: a Taylor sum for a 1,024th of the exponent,
which is then squared ten times. For exponents from -700 to 0 its error is below 2^-34 of the value:

    the difference s - m is rounded once:                    700 · 2^-53 < 2^-43
    21 terms for |x| < 0.69, summed from the last one:       remainder < 2^-74, roundings < 42 · 2^-52 < 2^-46
    ten squarings multiply the relative error by 1,024:      < 2^-36, with their own 1,023 roundings < 2^-35

A sum of n of them adds n roundings. So a probability counts as large enough, or as too small, only if it is
that by a share of 2^-30 more; between the two the answer cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from nerode.core import InputError
from nerode.proofs.reading import decoder
from nerode.records import Reading

Floats = npt.NDArray[np.float64]

_BOUND = 2.0**-30
_TERMS, _SQUARINGS = 21, 10
_LEAST = -700.0
"""Below this exponent a value is taken for at least 0 and at most 1e-303, which is above exp(-700)."""

_MOST_SCORES = 1 << 20
"""Scores of one row: the roundings of a longer sum could pass the bound."""


def outward_decoder(reading: Reading) -> Callable[[Tensor], Tensor]:
    """Returns the function from scores to truth values: 0 or 1, and 2 in rows that are not decided."""
    return _read_shares(reading) if reading.kind == "softmax" else decoder(reading)


def _read_shares(reading: Reading) -> Callable[[Tensor], Tensor]:
    threshold = reading.limit
    # Both are floats on the safe side of the fraction.
    above, below = float(threshold) * (1 + _BOUND), float(threshold) * (1 - _BOUND)

    def read(scores: Tensor) -> Tensor:
        values = scores.detach().cpu().to(torch.float64).numpy()
        if values.shape[-1] > _MOST_SCORES:
            raise InputError(f"{values.shape[-1]:,} scores are more than {_MOST_SCORES:,}; nothing is shown")
        largest = values.max(axis=-1, keepdims=True)
        good = np.isfinite(largest[..., 0]) & ~np.isnan(values).any(axis=-1)
        with np.errstate(invalid="ignore"):
            low, high = exponentials(np.where(good[..., None], values - largest, 0.0))
        least, most = low.sum(axis=-1) * (1 - _BOUND), high.sum(axis=-1) * (1 + _BOUND)
        answers = np.ones((*values.shape[:-1], len(reading.columns) or values.shape[-1]), dtype=np.int8)
        for place, column in enumerate(reading.columns or range(values.shape[-1])):
            if column < 0:
                continue
            surely, never = low[..., column] >= above * most, high[..., column] < below * least
            answers[..., place] = surely
            good &= surely | never
        answers[~good] = 2
        return torch.from_numpy(answers)

    return read


def exponentials(exponents: Floats) -> tuple[Floats, Floats]:
    """Returns bounds of exp of exponents that are 0 or less, from below and from above."""
    small = np.maximum(exponents, _LEAST) / 2.0**_SQUARINGS
    value = np.ones_like(small)
    for term in range(_TERMS - 1, 0, -1):
        value = 1.0 + value * small / term
    for _ in range(_SQUARINGS):
        value = value * value
    tiny = exponents < _LEAST
    return np.where(tiny, 0.0, value * (1 - _BOUND)), np.where(tiny, 1e-303, value * (1 + _BOUND))
