"""Stability of states: distances under repeated words that hold them, and the noise that a network bears.

The noise is promised by rates, found by trying, and bounded by theory.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nerode.analysis.extraction.oracle import Machine, States
from nerode.analysis.extraction.question import NOTHING, OUTSIDE, UNASKED
from nerode.core import stream
from nerode.records import LoopCollapse

_LONGEST = 2
_FROM, _TO = 8, 16
"""Repetitions between which the rate is measured: after the windows of all convolutions are full."""

_LONGEST_SUFFIX = 3

_MOST = 4
"""Pairs of places that are looked at for one word."""


def holding_loops(
    machine: Machine, states: States, places: Sequence[Hashable], *, repetitions: int
) -> tuple[LoopCollapse, ...]:
    """Returns for words of one or two letters the places that they hold, in pairs.

    Args:
        machine: the network with its question.
        states: states that were reached.
        places: the configuration of the target at each.
        repetitions: at most.
    """
    first: dict[Hashable, int] = {}
    for number, place in enumerate(places):
        first.setdefault(place, number)
    found = []
    for length in range(1, _LONGEST + 1):
        for word in itertools.product(range(len(machine.alphabet)), repeat=length):
            held = [place for place in first if _holds(machine, place, word)]
            pairs = [
                pair
                for pair in itertools.combinations(held, 2)
                if distinguishing_suffix(machine, *pair) is not None
            ][:_MOST]
            if pairs:
                found += _collapse(machine, states, first, word, pairs, repetitions)
    return tuple(found)


def _holds(machine: Machine, place: Any, word: tuple[int, ...]) -> bool:
    target, after = machine.question.target, place
    for letter in word:
        after = target.advance(after, letter)
        if target.answer(after) in (OUTSIDE, NOTHING):
            return False
    return bool(after == place)


def _collapse(
    machine: Machine,
    states: States,
    first: dict[Hashable, int],
    word: tuple[int, ...],
    pairs: list[tuple[Hashable, Hashable]],
    repetitions: int,
) -> list[LoopCollapse]:
    rows = [first[place] for pair in pairs for place in pair]
    now = states.rows(rows)
    start = _gaps(now)
    gaps = [start]
    merged: list[int | None] = [None] * len(pairs)
    fails: list[int | None] = [None] * len(pairs)
    suffixes = [distinguishing_suffix(machine, *pair) or () for pair in pairs]
    for n in range(1, repetitions + 1):
        for letter in word:
            now = machine.step(now, [letter] * len(rows))
        gaps.append(_gaps(now))
        for i, suffix in enumerate(suffixes):
            merged[i] = n if merged[i] is None and gaps[-1][i] == 0 else merged[i]
            if fails[i] is None and not _right(machine, now.rows([2 * i, 2 * i + 1]), pairs[i], suffix):
                fails[i] = n
        if None not in fails and n >= _TO:
            break
    return [
        LoopCollapse(
            word=tuple(machine.alphabet.symbols[letter] for letter in word),
            places=(str(pair[0]), str(pair[1])),
            distance=float(start[i]),
            rate=_rate([float(gap[i]) for gap in gaps]),
            merged_at=merged[i],
            suffix=tuple(machine.alphabet.symbols[letter] for letter in suffixes[i]),
            fails_at=fails[i],
        )
        for i, pair in enumerate(pairs)
    ]


def distinguishing_suffix(machine: Machine, left: Any, right: Any) -> tuple[int, ...] | None:
    """Returns a shortest word after which the target answers differently; None up to a few letters."""
    target = machine.question.target
    level: list[tuple[tuple[int, ...], Any, Any]] = [((), left, right)]
    for _ in range(_LONGEST_SUFFIX):
        after = [
            ((*word, letter), target.advance(x, letter), target.advance(y, letter))
            for word, x, y in level
            for letter in range(len(machine.alphabet))
        ]
        for word, x, y in after:
            answers = (target.answer(x), target.answer(y))
            if answers[0] != answers[1] and not set(answers) & {OUTSIDE, UNASKED}:
                return word
        level = after
    return None


def _right(machine: Machine, states: States, pair: tuple[Any, Any], suffix: tuple[int, ...]) -> bool:
    """Whether both states answer correctly after the suffix."""
    target = machine.question.target
    places: list[Any] = list(pair)
    for letter in suffix:
        states = machine.step(states, [letter] * 2)
        places = [target.advance(place, letter) for place in places]
    return all(output == target.answer(place) for output, place in zip(states.outputs, places, strict=True))


def _gaps(states: States) -> Any:
    return np.linalg.norm(states.values[0::2] - states.values[1::2], axis=1)


def _rate(gaps: list[float]) -> float | None:
    if len(gaps) <= _TO or gaps[_FROM] == 0:
        return None
    return float((gaps[_TO] / gaps[_FROM]) ** (1 / (_TO - _FROM)))


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
