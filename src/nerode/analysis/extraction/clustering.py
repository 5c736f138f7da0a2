"""From clusters of states to an automaton, refined until it agrees with the network.

Points are states that words really reached. Each letter leads from a point to a state of the network: to the
point that it is, or else, as a guess, to the nearest point with the same output. With that the points are a
Moore machine. Its equivalence classes are the clusters: the fewest groups of points whose members agree on
outputs and successors. The machine of the clusters is then tested on words; a word on which it fails went
through a wrong guess, and the states along it become points. So clusters are split where members disagree,
and never by distance alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nerode.analysis.extraction.learning import HypothesisTest, find_failures
from nerode.analysis.extraction.oracle import ExtractedMachine, Floats, Machine, States, joined
from nerode.core import Budget, InputError, started
from nerode.languages import Moore, Word

_FIRST_ROUNDS = 4
"""Rounds in which an automaton may be large."""

_CHUNK = 1024
"""States whose distances to all points are computed at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """Settings of the search for clusters.

    Attributes:
        walks: random words whose states are points at the beginning.
        walk_length: their length.
        depth_points: points reached by all short words.
        rounds: tests of the automaton, each of which may split clusters.
        points: points at most.
        states: states of the automaton at most, after a few rounds; more are a sign that there is none.
    """

    walks: int = 24
    walk_length: int = 48
    depth_points: int = 256
    rounds: int = 60
    points: int = 12_000
    states: int = 200

    def __post_init__(self) -> None:
        for name in ("walks", "walk_length", "depth_points", "rounds", "points", "states"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it has to be 1 or more")


def extract_by_clusters(
    machine: Machine,
    *,
    settings: ClusterSettings | None = None,
    probe: HypothesisTest | None = None,
    seed: int = 0,
    budget: Budget | None = None,
) -> ExtractedMachine:
    """Returns the automaton of the clusters of a network's states.

    It is consistent if it passed the last test; otherwise the rounds, the points or the budget ended first.

    Args:
        machine: the network, whose states can be looked at.
        settings: how clusters are found.
        probe: how the automaton is tested.
        seed: of the random words.
        budget: limits the time.

    Raises:
        InputError: if the states of the network cannot be looked at.
    """
    settings, probe, budget = settings or ClusterSettings(), probe or HypothesisTest(), started(budget)
    rng = np.random.default_rng(seed)
    cloud = Cloud(machine)
    cloud.spread(settings.depth_points)
    cloud.walk(settings.walks, settings.walk_length, rng)
    for number in range(1, settings.rounds + 1):
        hypothesis = cloud.machine().minimise()
        failures = find_failures(machine, hypothesis, probe, rng)
        # The first automata are full of wrong guesses, and large ones say nothing yet.
        many = number > _FIRST_ROUNDS and hypothesis.num_states > settings.states
        large = many or len(cloud) > settings.points
        late = budget.elapsed() > budget.seconds or number == settings.rounds
        if not failures or large or late:
            return ExtractedMachine(
                machine=hypothesis, states=len(cloud), rounds=number, consistent=not failures
            )
        for word in failures:
            cloud.follow(word)
    raise AssertionError("unreachable: the last round returns")


class Cloud:
    """Points with the states that letters lead to; guesses where these are no points themselves."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._letters = range(len(machine.alphabet))
        self._number: dict[tuple[bytes, str, int], int] = {}
        self._parts: list[States] = []
        self._after: list[list[States]] = []
        self.add(machine.initial())

    def __len__(self) -> int:
        return len(self._number)

    def add(self, states: States) -> list[int]:
        """Returns the numbers of states as points, new ones where they are not points yet."""
        keys = states.marks()
        fresh: dict[tuple[bytes, str, int], int] = {}
        for place, key in enumerate(keys):
            if key not in self._number:
                fresh.setdefault(key, place)
        if fresh:
            new = states.rows(list(fresh.values()))
            first = len(self._number)
            self._number.update((key, first + i) for i, key in enumerate(fresh))
            self._parts.append(new)
            self._after.append(self._machine.successors(new))
        return [self._number[key] for key in keys]

    def spread(self, most: int) -> None:
        """Adds the states of all words, shorter ones first, up to about a number of points."""
        done = 0
        while done < len(self._parts) and len(self) < most:
            after = self._after[done]
            done += 1
            self.add(joined(after))

    def walk(self, count: int, length: int, rng: np.random.Generator) -> None:
        """Adds the states along random words; a word that would end otherwise begins again."""
        start = self._machine.initial()
        states = start.rows([0] * count)
        for _ in range(length):
            states = self._machine.step(states, rng.integers(0, len(self._letters), count).tolist())
            self.add(states)
            alive = states.alive.tolist()
            kept = [states.rows([i]) if alive[i] else start for i in range(count)]
            states = joined(kept)

    def follow(self, word: Word) -> None:
        """Adds the states along a word, and those that stand for it: each guess on the way is replaced."""
        here, states = 0, self._machine.initial()
        for letter in word:
            states = self._machine.step(states, [letter])
            self.add(states)
            real = self._state_after(here, letter)
            here = self.add(real)[0]

    def machine(self) -> Moore:
        """Returns the points as a Moore machine; a state whose output no point has becomes a point first."""
        while True:
            points = joined(self._parts)
            table = np.column_stack([self._targets(points, letter) for letter in self._letters])
            lost = np.argwhere(table < 0).tolist()
            if not lost:
                return Moore(
                    alphabet=self._machine.alphabet,
                    transitions=table.astype(np.int32),
                    start=0,
                    outputs=points.outputs,
                )
            self.add(joined([self._state_after(point, letter) for point, letter in lost]))

    def _targets(self, points: States, letter: int) -> npt.NDArray[np.int64]:
        """The point after a letter, for each point; -1 where none can be guessed."""
        after = joined([part[letter] for part in self._after])
        targets = np.array([self._number.get(key, -1) for key in after.marks()])
        unknown = np.flatnonzero(targets < 0)
        if len(unknown):
            targets[unknown] = _nearest(after.rows(unknown), points)
        return targets

    def _state_after(self, point: int, letter: int) -> States:
        for part in self._after:
            size = len(part[letter])
            if point < size:
                return part[letter].rows([point])
            point -= size
        raise AssertionError("a point that is not there")


def _nearest(states: States, points: States) -> list[int]:
    """The nearest point with the same output and the same place in the frame; -1 if there is none."""
    scale = points.values[points.alive].std(axis=0) if points.alive.any() else np.ones(points.values.shape[1])
    scale = np.where(scale > 0, scale, 1.0)
    groups: dict[tuple[str, int, bool], list[int]] = {}
    for i, key in enumerate(_labels(points)):
        groups.setdefault(key, []).append(i)
    found = [-1] * len(states)
    mine: dict[tuple[str, int, bool], list[int]] = {}
    for i, key in enumerate(_labels(states)):
        mine.setdefault(key, []).append(i)
    for key, rows in mine.items():
        members = groups.get(key)
        if members is None:
            continue
        there = points.values[members] / scale
        for first in range(0, len(rows), _CHUNK):
            chunk = rows[first : first + _CHUNK]
            best = _squared_distances(states.values[chunk] / scale, there).argmin(axis=1)
            for row, place in zip(chunk, best.tolist(), strict=True):
                found[row] = members[place]
    return found


def _labels(states: States) -> list[tuple[str, int, bool]]:
    return list(zip(states.outputs, states.frames.tolist(), states.alive.tolist(), strict=True))


def _squared_distances(left: Floats, right: Floats) -> Floats:
    squares: Floats = (left**2).sum(1)[:, None] + (right**2).sum(1)[None] - 2 * left @ right.T
    return squares
