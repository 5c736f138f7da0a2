"""Words that leave states of the automaton as they are, repeated: what is left of a distance each time."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nerode.analysis.extraction.oracle import Machine, States
from nerode.analysis.extraction.question import NOTHING, OUTSIDE, UNASKED

_LONGEST = 2
_FROM, _TO = 8, 16
"""Repetitions between which the rate is measured: after the windows of all convolutions are full."""

_LONGEST_SUFFIX = 3

_MOST = 4
"""Pairs of places that are looked at for one word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopCollapse:
    """Two places that a word holds, and what its repetition does to the states that stand for them.

    Attributes:
        word: its letters.
        places: what the places are called.
        distance: of the two states at the beginning.
        rate: what is left of it after each repetition, measured early; None if nothing is left.
        merged_at: repetitions until the two states are equal, bit for bit; None if they were not.
        suffix: a shortest word that tells the two places apart.
        fails_at: repetitions after which the suffix is answered wrongly in one of them; None if it is not.
    """

    word: tuple[str, ...]
    places: tuple[str, str]
    distance: float
    rate: float | None
    merged_at: int | None
    suffix: tuple[str, ...]
    fails_at: int | None


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
    """Whether both states answer rightly after the suffix."""
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
