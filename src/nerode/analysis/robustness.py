"""How much noise on every state a network bears: promised by rates, found by trying, bounded by theory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nerode.analysis.extraction.oracle import Machine
from nerode.core import stream

_STEPS_OF_NOISE = 10
"""Halvings of the exponent when the radius of noise is looked for; each costs a run."""


def promised_radius(rates: Sequence[float | None], separation: float | None) -> float:
    """Returns the noise under which states stay nearer to their own place: (1 - rate) · separation / 2.

    A tube of radius r around the states of a place is kept if rate · r + noise ≤ r, and tubes of half the
    separation do not meet. It is 0 unless every letter contracts.

    Args:
        rates: the largest factor of each letter between states of one place; None where none is known.
        separation: smallest distance of two places.
    """
    known = [rate for rate in rates if rate is not None]
    if separation is None or not known or max(known) >= 1:
        return 0.0
    return (1 - max(known)) * separation / 2


def noise_radius(
    machine: Machine, words: np.ndarray[Any, Any], diameter: float, *, seed: int
) -> float | None:
    """Returns the largest noise under which all answers on some words are right, up to a few percent.

    Noise has a random direction and the same length at every state. None if some answer is wrong without.
    """

    def all_right(size: float) -> bool:
        rng = stream(seed, "metric", "noise")
        target = machine.question.target
        states = machine.initial().rows([0] * len(words))
        places: list[Any] = [target.initial()] * len(words)
        for letters in words.T.tolist():
            states = machine.step(states, letters)
            places = [target.advance(place, letter) for place, letter in zip(places, letters, strict=True)]
            if any(o != target.answer(p) for o, p in zip(states.outputs, places, strict=True)):
                return False
            drawn = rng.normal(size=states.values.shape)
            drawn *= size / np.linalg.norm(drawn, axis=1, keepdims=True)
            states = replace(states, values=states.values + drawn)
        return True

    if not all_right(0.0):
        return None
    low, high = math.log(max(diameter, 1e-30)) - 16, math.log(max(diameter, 1e-30)) + 1
    if not all_right(math.exp(low)):
        return 0.0
    for _ in range(_STEPS_OF_NOISE):
        middle = (low + high) / 2
        low, high = (middle, high) if all_right(math.exp(middle)) else (low, middle)
    return math.exp(low)


def linear_bound(diameter: float, noise: float | None, separation: float | None) -> int | None:
    """Returns after how many steps a robust linear recurrence has merged two places that a letter holds.

    Differences of a linear recurrence that is robust to noise eps shrink by 1 - 2 eps / diameter each step.
    A network that outlives this is not such a recurrence on all of its space: it is nonlinear, or the noise
    that it was seen to bear is not borne everywhere.

    Implements: [Dankowiakowski2025]
    """
    if not noise or not separation or separation >= diameter:
        return None
    rate = 1 - 2 * noise / diameter
    if rate <= 0:
        return 1
    return math.ceil(math.log(separation / diameter) / math.log(rate))
