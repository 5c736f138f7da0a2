"""Boxes of states that every letter maps into boxes, with room for noise: found here, proved by the kernel.

A network that runs an automaton robustly keeps each coordinate in one of a few intervals. Which ones is read
off the values that occur; two values belong together if they are close. A cell is a choice of one interval
per coordinate. The cells are the combinations that occur, and the letters act on them: the network is a
finite automaton, whatever the noise does.

Cells are a graph whose intervals grow until they are closed. The arithmetic is that of floats without
rounding outward; a little room is added, and the kernel has the last word.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from nerode.core import Budget, BudgetExceeded, InputError, started
from nerode.kernel import PREDICT, SCOPES, UNDER_NOISE, VALID_PREFIXES, Certificate
from nerode.languages import Language
from nerode.network import Layer, Network
from nerode.proofs.box_steps import Boxes, BoxStepper, Floats, Integers
from nerode.proofs.proving import Outcome, Prover, Unproved

BOXES = "boxes"
Json = Any
Groups = tuple[tuple[int, ...], ...]
"""For each layer the lengths of runs of neighbouring coordinates that share their intervals."""

_RADII = (0.25, 2.0**-4, 2.0**-6, 2.0**-9)
_LEAST = 2.0**-24
"""Noise below this is not worth a certificate."""

_SWEEPS, _FIRST_SWEEPS = 60, 20
"""Sweeps after which the intervals have to be closed; fewer for the first try, with hardly any noise."""

_PATIENCE = 20
"""Sweeps after which boxes that still grow are widened by more than they grew."""

_BITS = 5
"""Binary digits to which the largest noise is found; fewer where a sweep has many numbers."""

_MANY_NUMBERS = 100_000
_WORK = 300_000_000
"""Operations that one sweep over all cells and letters may take."""

_PER_NUMBER = 30
"""Operations that a nonlinear function takes."""

_MANY_GROUPS = 64
"""Above this number of coordinates they are not tried each with intervals of its own."""

_FAR = 1e6
"""A state beyond this has run away."""


@dataclass(frozen=True, kw_only=True)
class BoxGraph:
    """Cells and what letters do to them.

    Attributes:
        labels: `labels[cell, coordinate]` is the number of an interval.
        source, letter, target: per edge its ends and the letter that is read.
        low, high: the intervals before they grow; empty (low above high) where nothing is known yet.
        group_of: the group of each interval; intervals of one group must not meet. None for no groups.
        is_answered: whether the scores on all images are good enough, given the edges and their scores.
    """

    labels: Integers
    source: Integers
    letter: Integers
    target: Integers
    low: Floats
    high: Floats
    group_of: Integers | None
    is_answered: Callable[[Integers, Boxes], bool]

    @functools.cached_property
    def arrivals(self) -> tuple[Integers, Integers, Integers]:
        """The places of all images, edge by edge, in the order of the intervals they arrive in.

        Then where each of these intervals begins in that order, and their numbers.
        """
        reached = self.labels[self.target].ravel()
        order = np.argsort(reached, kind="stable")
        numbers, begins = np.unique(reached[order], return_index=True)
        return order, begins, numbers

    def grown(self, low: Floats, high: Floats, images: Boxes, edges: Integers) -> tuple[Floats, Floats]:
        """Returns intervals that also hold the images of some edges."""
        low, high = low.copy(), high.copy()
        if len(edges) == len(self.source):
            order, begins, numbers = self.arrivals
            ends = (images.low.ravel()[order], images.high.ravel()[order])
            low[numbers] = np.minimum(low[numbers], np.minimum.reduceat(ends[0], begins))
            high[numbers] = np.maximum(high[numbers], np.maximum.reduceat(ends[1], begins))
        else:
            np.minimum.at(low, self.labels[self.target[edges]], images.low)
            np.maximum.at(high, self.labels[self.target[edges]], images.high)
        return low, high


def close(
    steps: BoxStepper,
    graph: BoxGraph,
    eps: float,
    grid: float,
    budget: Budget,
    *,
    begin: Boxes | None = None,
    sweeps: int = _SWEEPS,
) -> Boxes | None:
    """Returns the least closed intervals with ends on a grid; None if there are none or an answer is open."""
    low = np.floor((graph.low if begin is None else begin.low) / grid) * grid
    high = np.ceil((graph.high if begin is None else begin.high) / grid) * grid
    with np.errstate(all="ignore"):
        for sweep in range(sweeps):
            budget.check_time(eps=eps)
            if graph.group_of is not None and not _are_apart(low, high, graph.group_of):
                return None
            known = np.asarray(np.isfinite(low[graph.labels]).all(axis=1))
            edges = np.flatnonzero(known[graph.source])
            boxes = Boxes(
                np.where(known[:, None], low[graph.labels], 0.0),
                np.where(known[:, None], high[graph.labels], 0.0),
            )
            images, scores = steps.step(boxes, graph.source[edges], graph.letter[edges], eps)
            if not np.isfinite(images.low).all() or not np.isfinite(images.high).all():
                return None
            if not graph.is_answered(edges, scores):
                return None
            new_low, new_high = graph.grown(low, high, images, edges)
            if bool((new_low >= low).all() & (new_high <= high).all()):
                return Boxes(low, high)
            if graph.group_of is None and sweep >= _PATIENCE:
                new_low = np.where(new_low < low, new_low - (low - new_low) / 4, new_low)
                new_high = np.where(new_high > high, new_high + (new_high - high) / 4, new_high)
            low = np.where(new_low < low, np.floor(new_low / grid) * grid, low)
            high = np.where(new_high > high, np.ceil(new_high / grid) * grid, high)
            if bool((np.isfinite(low) & ((low < -_FAR) | (high > _FAR))).any()):
                return None
    return None


def _are_apart(low: Floats, high: Floats, group_of: Integers) -> bool:
    """Whether no two intervals of one group meet."""
    order = np.lexsort((low, group_of))
    same = group_of[order][1:] == group_of[order][:-1]
    return bool((high[order][:-1][same] < low[order][1:][same]).all())


def certify_boxes(network: Network, language: Language, *, budget: Budget | None = None) -> Outcome:
    """Returns a certificate for all lengths under noise, a word on which the network fails, or neither.

    Args:
        network: a network with real states and a decoder of scores.
        language: the language that it should do.
        budget: limits the time.

    Raises:
        InputError: if the network has a part that boxes are not made for.
    """
    prover = Prover(network, language, budget)
    try:
        found = find_intervals(network, budget=prover.budget)
    except BudgetExceeded as stop:
        return Unproved(reason=str(stop))
    if found is None:
        # The kernel looks for a word on which the network fails before it looks at the intervals.
        failed = prover.failing_word(VALID_PREFIXES)
        return failed or Unproved(reason="no intervals were found that every letter maps into each other")
    return prover.certify(BOXES, [{"task": task, **found} for task in (PREDICT, VALID_PREFIXES)])


def with_noise(
    certificate: Certificate, network: Network, language: Language, *, budget: Budget | None = None
) -> Certificate:
    """Returns the certificate with a claim about noise in addition, if closed intervals are found."""
    prover = Prover(network, language, budget)
    try:
        found = find_intervals(network, budget=prover.budget)
        if found is None:
            return certificate
        proof = prover.prove(BOXES, {"task": certificate.claims[0].task, **found})
    except (BudgetExceeded, InputError):
        return certificate
    noisy = [claim for claim in proof.claims if claim.scope == UNDER_NOISE]
    claims = sorted((*certificate.claims, *noisy), key=lambda c: SCOPES.index(c.scope))
    evidence = {**certificate.evidence, BOXES: proof.evidence} if noisy else certificate.evidence
    return replace(certificate, claims=tuple(claims), evidence=evidence)


def find_intervals(network: Network, *, budget: Budget | None = None) -> dict[str, Json] | None:
    """Returns closed intervals with the largest noise that was found, as a cover; None if there are none.

    Raises:
        InputError: if the network has a part that boxes are not made for.
        BudgetExceeded: if there are too many cells.
    """
    budget = started(budget)
    steps = BoxStepper(network)
    most = max(16, _WORK // _work(network))
    for groups in group_choices(network):
        if sum(map(len, groups)) > _MANY_GROUPS:
            continue
        for radius in _RADII:
            partition = explore(steps, groups, radius=radius, most=most, budget=budget)
            found = None if partition is None else _close_partition(steps, partition, budget)
            if partition is not None and found is not None:
                boxes, noise = found
                return {"noise": str(Fraction(noise)), "layers": partition.written(boxes)}
    return None


def _work(network: Network) -> int:
    """Operations on numbers for each cell, roughly: sums once, nonlinear functions for every letter."""
    widths = [layer.width for layer in network.layers]
    return 1 + sum(width * (width + _PER_NUMBER * len(network.alphabet)) for width in widths)


def _close_partition(steps: BoxStepper, partition: Partition, budget: Budget) -> tuple[Boxes, float] | None:
    """The closure under the largest noise: the largest power of four, then a few binary digits."""
    count, letters = partition.moves.shape
    graph = BoxGraph(
        labels=partition.labels,
        source=np.repeat(np.arange(count), letters),
        letter=np.tile(np.arange(letters), count),
        target=partition.moves.ravel(),
        low=partition.low,
        high=partition.high,
        group_of=partition.group_of,
        is_answered=lambda _, scores: bool(((scores.low > 0.5) | (scores.high <= 0.5)).all()),
    )
    best = close(steps, graph, _LEAST, _LEAST / 16, budget, sweeps=_FIRST_SWEEPS)
    if best is None:
        return None
    noise = _LEAST
    try:
        eps = 0.5
        while (found := close(steps, graph, eps, eps / 128, budget)) is None:
            eps /= 4
            if eps < _LEAST:
                return best, noise
        best, noise, grid, step = found, eps, eps / 128, 2 * eps
        for _ in range(_BITS if partition.moves.size * partition.labels.shape[1] < _MANY_NUMBERS else 2):
            found = close(steps, graph, noise + step, grid, budget, begin=best)
            if found is not None:
                best, noise = found, noise + step
            step /= 2
    except BudgetExceeded:
        pass
    return best, noise


@dataclass(frozen=True, kw_only=True)
class Partition:
    """Cells that runs without noise visit; the first one holds the start.

    Attributes:
        groups: which coordinates share intervals.
        labels: `labels[cell, coordinate]` is the number of an interval; numbers run through all groups.
        moves: `moves[cell, letter]` is the next cell.
        low, high: for each interval the least and the greatest value seen.
        group_of: the group of each interval.
    """

    groups: Groups
    labels: Integers
    moves: Integers
    low: Floats
    high: Floats
    group_of: Integers

    def written(self, boxes: Boxes) -> Json:
        """Returns intervals as a cover has them: for each layer runs of coordinates with their intervals."""
        layers, group = [], 0
        for lengths in self.groups:
            runs = []
            for length in lengths:
                members = np.flatnonzero(self.group_of == group)
                runs.append([length, boxes.written(members[np.argsort(boxes.low[members])])])
                group += 1
            layers.append(runs)
        return layers


def group_choices(network: Network) -> list[Groups]:
    """Returns ways to share intervals: by the blocks of a cell, then each coordinate for itself."""
    shared = tuple(_blocks(layer) for layer in network.layers)
    single = tuple((1,) * layer.width for layer in network.layers)
    return [shared] if single == shared else [shared, single]


def _blocks(layer: Layer) -> tuple[int, ...]:
    blocks = layer.recurrence.blocks
    return (layer.width // blocks,) * blocks if layer.width else ()


def explore(
    steps: BoxStepper, groups: Groups, *, radius: float, most: int, budget: Budget
) -> Partition | None:
    """Returns the cells that runs without noise visit; None if the values do not settle down.

    Args:
        steps: the network.
        groups: which coordinates share intervals.
        radius: values that differ by no more belong to one interval.
        most: how many cells are allowed.
        budget: limits the time.

    Raises:
        BudgetExceeded: if there are too many cells.
    """
    lengths = [length for layer in groups for length in layer]
    group = np.repeat(np.arange(len(lengths)), lengths)
    centres: list[list[float]] = [[] for _ in lengths]
    while sum(map(len, centres)) <= most:
        budget.check_time(values=sum(map(len, centres)))
        search = _Search(steps, group, centres, radius)
        if search.run(most):
            return search.partition(groups)
    return None


class _Search:
    """One breadth-first search with fixed centres; it stops as soon as a value is far from all of them."""

    def __init__(self, steps: BoxStepper, group: Integers, centres: list[list[float]], radius: float) -> None:
        self.steps = steps
        self.group = group
        self.centres = centres
        self.radius = radius
        self._first = np.cumsum([0, *map(len, centres)])
        self._labels: list[Integers] = []
        self._points: list[Floats] = []
        self._moves: list[Integers] = []

    def run(self, most: int) -> bool:
        """Whether the search ended with all values near known centres; new ones are added otherwise."""
        letters = np.arange(len(self.steps.network.alphabet))
        points = self.steps.start().low
        labels = self._label(points)
        if labels is None:
            return False
        number = {labels[0].tobytes(): 0}
        while len(points):
            self._labels.append(labels)
            self._points.append(points)
            images = self._images(points, np.tile(letters, len(points)))
            found = self._label(images)
            if found is None:
                return False
            fresh, targets = [], np.empty(len(found), dtype=np.int64)
            for i, row in enumerate(found):
                key = row.tobytes()
                if key not in number:
                    number[key] = len(number)
                    fresh.append(i)
                targets[i] = number[key]
            self._moves.append(targets.reshape(-1, len(letters)))
            points, labels = images[fresh], found[fresh]
            if len(number) > most:
                remedy = "the proof would visit too many cells"
                raise BudgetExceeded("cells", most, remedy=remedy)
        return True

    def partition(self, groups: Groups) -> Partition:
        """Returns what a search that ended has found."""
        labels, points = np.concatenate(self._labels), np.concatenate(self._points)
        count = int(self._first[-1])
        low, high = np.full(count, np.inf), np.full(count, -np.inf)
        np.minimum.at(low, labels, points)
        np.maximum.at(high, labels, points)
        return Partition(
            groups=groups,
            labels=labels,
            moves=np.concatenate(self._moves),
            low=low,
            high=high,
            group_of=np.repeat(np.arange(len(self.centres)), [len(c) for c in self.centres]),
        )

    def _images(self, points: Floats, letters: Integers) -> Floats:
        cells = np.repeat(np.arange(len(points)), len(letters) // len(points))
        images, _ = self.steps.step(Boxes(points, points), cells, letters, 0.0)
        return (images.low + images.high) / 2

    def _label(self, points: Floats) -> Integers | None:
        """The numbers of the nearest centres; None, and more centres, if one is too far."""
        labels = np.empty(points.shape, dtype=np.int64)
        complete = True
        for number, centres in enumerate(self.centres):
            columns = self.group == number
            values = points[:, columns]
            known = np.array(centres)
            if len(centres):
                distance = np.abs(values[..., None] - known)
                labels[:, columns] = self._first[number] + distance.argmin(axis=-1)
                values = values[distance.min(axis=-1) > self.radius]
            for value in np.unique(values):
                if all(abs(value - c) > self.radius for c in centres):
                    centres.append(float(value))
                    complete = False
        return labels if complete else None
