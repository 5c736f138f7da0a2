"""Metric Automata Theory as numbers: where states lie, how repeated words hold them, the noise they bear.

    components   states that words reach, by the place of the automaton that they stand for; points nearer
                 than the nearest two of different places belong to one component
    rates        what a letter does to the distance of two states: of one place (contraction gives a margin
                 of error), and of two places that stay two (expansion keeps them apart)
    radius       how much noise on every state leaves all answers right: found by noise, and promised by the
                 rates
    collapse     words that leave places as they are, repeated: the distance that is left each time, and when
                 the answer gets lost

All of it is sampled: what is not a proof is called found or measured.

The noise is promised by rates, found by trying, and bounded by theory.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from nerode.analysis.aspects.forgetting import forgetting
from nerode.analysis.extraction.oracle import Floats, Machine, States
from nerode.analysis.probes import LONGEST
from nerode.analysis.subject import LoadedNetwork, to_subject
from nerode.core import InputError, stream
from nerode.languages import NOTHING, OUTSIDE, UNASKED
from nerode.records import AnalysisRow, MetricAutomaton
from nerode.tasks import FlipFlop

_LONGEST = 2
_FROM, _TO = 8, 16
"""Repetitions between which the rate is measured: after the windows of all convolutions are full."""

_LONGEST_SUFFIX = 3

_MOST = 4
"""Pairs of places that are looked at for one word."""


def holding_loops(
    machine: Machine, states: States, places: Sequence[Hashable], *, repetitions: int
) -> tuple[AnalysisRow, ...]:
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
    target, after = machine.question, place
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
) -> list[AnalysisRow]:
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
        AnalysisRow(
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
    target = machine.question
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
    target = machine.question
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
    """Returns the largest noise under which all answers on some words are correct, up to a few percent.

    Noise has a random direction and the same length at every state. None if some answer is wrong without.
    """

    def all_right(size: float) -> bool:
        rng = stream(seed, "metric", "noise")
        target = machine.question
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


_TINY = 1e-9
"""Distances below this share of the diameter are not divided by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSettings:
    """Sizes of the samples.

    Attributes:
        words: words whose states are looked at.
        states: of these states, at most so many.
        pairs: pairs of states for each letter and kind.
        repetitions: of a word that leaves places as they are.
        seed: of the words, pairs and noise.
    """

    words: int = 64
    states: int = 1_000
    pairs: int = 256
    repetitions: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.words, self.states, self.pairs, self.repetitions) < 1:
            raise InputError(f"{self} cannot be used; every number has to be 1 or more")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """States that words reach.

    Attributes:
        states: of the network.
        places: the configuration of the target at each.
    """

    states: States
    places: tuple[Hashable, ...]


@torch.no_grad()
def metric(subject: LoadedNetwork, *, settings: MetricSettings | None = None) -> MetricAutomaton:
    """Returns how the states of a network lie around those of the automaton of its task.

    References: [Dankowiakowski2025]

    Args:
        subject: a network whose task is that of an automaton.
        settings: how much is sampled.

    Raises:
        InputError: if the task is another, or the state of the network grows with the word.
    """
    settings = settings or MetricSettings()
    if subject.task is None:
        raise InputError(f"{subject.name} has no task, so there is no automaton to look beside")
    machine = Machine(to_subject(subject))
    words = _words(subject, settings)
    sample = reached(machine, words, settings)
    if not sample.places:
        raise InputError(f"{subject.name} reaches no state that is finite and asked about")
    numbers = {place: i for i, place in enumerate(dict.fromkeys(sample.places))}
    labels = np.array([numbers[place] for place in sample.places])
    distances = pairwise(sample.states.values)
    separation = smallest_between(distances, labels)
    counts = count_components(distances, labels, separation)
    diameter = float(distances.max())
    rates = tuple(
        _rates(machine, sample, labels, letter, diameter, settings) for letter in range(len(machine.alphabet))
    )
    noise = noise_radius(machine, words, diameter, seed=settings.seed)
    return MetricAutomaton(
        places=len(numbers),
        states=len(labels),
        diameter=diameter,
        separation=separation,
        components=sum(counts),
        most_components=max(counts),
        rates=rates,
        promised_radius=promised_radius([row.within for row in rates], separation),
        noise_radius=noise,
        loops=holding_loops(machine, sample.states, sample.places, repetitions=settings.repetitions),
        bits=_bits(subject),
        linear_bound=linear_bound(diameter, noise, separation),
    )


def _words(subject: LoadedNetwork, settings: MetricSettings) -> np.ndarray[Any, Any]:
    assert subject.task is not None
    length = subject.task.usual_length(LONGEST)
    drawn = subject.task.sample(length, settings.words, stream(settings.seed, "metric", "words"))
    letters = drawn.inputs if subject.task.features is None else drawn.inputs[..., 0].long()
    return np.asarray(letters.numpy())


def reached(machine: Machine, words: np.ndarray[Any, Any], settings: MetricSettings) -> Sample:
    """Returns states that words reach after 1, 2, … letters, at most as many as the settings say."""
    target = machine.question
    states = machine.initial().rows([0] * len(words))
    places: list[Any] = [target.initial()] * len(words)
    parts: list[States] = []
    found: list[Hashable] = []
    for letters in words.T.tolist():
        states = machine.step(states, letters)
        places = [target.advance(place, letter) for place, letter in zip(places, letters, strict=True)]
        # A window that is not yet full may hold infinities.
        finite = np.isfinite(states.values).all(axis=1) & states.alive
        kept = [i for i, output in enumerate(states.outputs) if finite[i] and output != OUTSIDE]
        parts.append(states.rows(kept))
        found += [places[i] for i in kept]
    values = np.concatenate([part.values for part in parts])
    order = stream(settings.seed, "metric", "states").permutation(len(values))[: settings.states]
    whole = States(
        values=values,
        outputs=tuple(output for part in parts for output in part.outputs),
        frames=np.concatenate([part.frames for part in parts]),
        alive=np.concatenate([part.alive for part in parts]),
    )
    return Sample(states=whole.rows(order), places=tuple(found[i] for i in order))


def pairwise(values: Floats) -> Floats:
    """Returns all Euclidean distances."""
    return np.stack([np.linalg.norm(values - value, axis=1) for value in values])


def smallest_between(distances: Floats, labels: np.ndarray[Any, Any]) -> float | None:
    """Returns the smallest distance of two states of different places; None if there is one place only."""
    other = labels[:, None] != labels[None, :]
    return float(distances[other].min()) if other.any() else None


def count_components(distances: Floats, labels: np.ndarray[Any, Any], separation: float | None) -> list[int]:
    """Returns how many components each place has: points nearer than the separation are in one."""
    near = distances < (math.inf if separation is None else separation)
    near |= np.eye(len(labels), dtype=bool)
    near &= labels[:, None] == labels[None, :]
    left = np.ones(len(labels), dtype=bool)
    counts = [0] * (int(labels.max()) + 1)
    while left.any():
        first = int(np.flatnonzero(left)[0])
        counts[labels[first]] += 1
        members = near[first]
        while True:
            grown = near[members].any(axis=0)
            if (grown == members).all():
                break
            members = grown
        left &= ~members
    return counts


def _rates(
    machine: Machine,
    sample: Sample,
    labels: np.ndarray[Any, Any],
    letter: int,
    diameter: float,
    settings: MetricSettings,
) -> AnalysisRow:
    rng = stream(settings.seed, "metric", "pairs", letter)
    target = machine.question
    after = machine.step(sample.states, [letter] * len(labels))
    places = [target.advance(place, letter) for place in sample.places]
    alive = np.array([a and o != OUTSIDE for a, o in zip(after.alive, after.outputs, strict=True)])
    left, right = (rng.integers(0, len(labels), 40 * settings.pairs) for _ in range(2))
    before = np.linalg.norm(sample.states.values[left] - sample.states.values[right], axis=1)
    usable = alive[left] & alive[right] & (before > _TINY * diameter)
    factors = np.linalg.norm(after.values[left] - after.values[right], axis=1) / np.where(usable, before, 1)
    same = labels[left] == labels[right]
    apart = np.array([places[i] != places[j] for i, j in zip(left, right, strict=True)])
    within = factors[usable & same][: settings.pairs]
    between = factors[usable & ~same & apart][: settings.pairs]
    return AnalysisRow(
        letter=machine.alphabet.symbols[letter],
        within=float(within.max()) if len(within) else None,
        within_median=float(np.median(within)) if len(within) else None,
        between=float(between.min()) if len(between) else None,
        between_median=float(np.median(between)) if len(between) else None,
    )


def _bits(subject: LoadedNetwork) -> tuple[AnalysisRow, ...]:
    if not isinstance(subject.task, FlipFlop):
        return ()
    found = forgetting(subject, longest=1_000)
    return tuple(
        AnalysisRow(stream=row.stream, bit=row.bit, predicted=row.predicted, measured=row.fails_at)
        for row in found.streams
        if row.stream != "random"
    )
