"""A first guess of the intervals that coordinates lie in, from runs without noise.

A network that runs an automaton robustly keeps each coordinate in one of a few intervals. Which ones is read
off the values that occur; two values belong together if they are close. The cells are the combinations that
occur, and the letters act on them. Nothing here is a proof.

The states of all layers are treated as one vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nerode.core import Budget, BudgetExceeded
from nerode.network import Layer, Network
from nerode.proofs.box_steps import Boxes, BoxStepper, Floats, Integers

Json = Any
Groups = tuple[tuple[int, ...], ...]
"""For each layer the lengths of runs of neighbouring coordinates that share their intervals."""


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
