"""Metric Automata Theory as numbers: how the states of a network lie around those of its automaton.

    components   states that words reach, by the place of the automaton that they stand for; points nearer
                 than the nearest two of different places belong to one component
    rates        what a letter does to the distance of two states: of one place (contraction gives a margin
                 of error), and of two places that stay two (expansion keeps them apart)
    radius       how much noise on every state leaves all answers right: found by noise, and promised by the
                 rates
    collapse     words that leave places as they are, repeated: the distance that is left each time, and when
                 the answer gets lost

All of it is sampled: what is not a proof is called found or measured.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from nerode.analysis.aspects.forgetting import forgetting
from nerode.analysis.aspects.loops import holding_loops, linear_bound, noise_radius, promised_radius
from nerode.analysis.extraction.oracle import Floats, Machine, States
from nerode.analysis.extraction.question import OUTSIDE, question_of
from nerode.analysis.probes import usual_length
from nerode.analysis.subject import LoadedNetwork
from nerode.core import InputError, stream
from nerode.records import BitCollapse, LetterRates, MetricAutomaton
from nerode.tasks import FlipFlop

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
    machine = Machine(subject.model, question_of(subject.task))
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
    length = usual_length(subject.task)
    drawn = subject.task.sample(length, settings.words, stream(settings.seed, "metric", "words"))
    return np.asarray(drawn.inputs.numpy())


def reached(machine: Machine, words: np.ndarray[Any, Any], settings: MetricSettings) -> Sample:
    """Returns states that words reach after 1, 2, … letters, at most as many as the settings say."""
    target = machine.question.target
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
) -> LetterRates:
    rng = stream(settings.seed, "metric", "pairs", letter)
    target = machine.question.target
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
    return LetterRates(
        letter=machine.alphabet.symbols[letter],
        within=float(within.max()) if len(within) else None,
        within_median=float(np.median(within)) if len(within) else None,
        between=float(between.min()) if len(between) else None,
        between_median=float(np.median(between)) if len(between) else None,
    )


def _bits(subject: LoadedNetwork) -> tuple[BitCollapse, ...]:
    if not isinstance(subject.task, FlipFlop):
        return ()
    found = forgetting(subject, longest=1_000)
    return tuple(
        BitCollapse(stream=row.stream, bit=row.bit, predicted=row.predicted, measured=row.fails_at)
        for row in found.streams
        if row.stream != "random"
    )
