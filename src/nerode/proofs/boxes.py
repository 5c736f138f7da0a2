"""Boxes of states that every letter maps into boxes, with room for noise: found here, proved by the kernel.

boxes         each coordinate lies in one of a few intervals; a cell is a choice of one per coordinate. The
              network then acts as a finite automaton, whatever the noise does.
state-boxes   one box per configuration of the language and last letters. This is made for trained networks,
              whose coordinates do not lie in a few intervals each.

Both are a graph of cells whose intervals grow until they are closed. The arithmetic is that of floats without
rounding outward; a little room is added, and the kernel has the last word.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from nerode.core import Budget, BudgetExceeded, InputError, started
from nerode.kernel import PREDICT, RECOGNISE, SCOPES, UNDER_NOISE, VALID_PREFIXES, Certificate
from nerode.languages import Language, Legal
from nerode.network import Network, PointDecoder
from nerode.proofs.answers import agrees, letters_read
from nerode.proofs.box_steps import Boxes, BoxStepper, Floats, Integers, Partition, explore, group_choices
from nerode.proofs.proving import Outcome, Prover, Unproved

BOXES = "boxes"
STATE_BOXES = "state-boxes"

LETTERS = (0, 1, 2, 3)
"""Integers of last letters that a node may know; tried in this order."""

SMALLEST_NOISE = 2.0**-20
"""Noise below this is not worth a certificate of state boxes: it would not cover the roundings of float32."""

Json = Any

_RADII = (0.25, 2.0**-4, 2.0**-6, 2.0**-9)
_LEAST = 2.0**-24
"""Noise below this is not worth a certificate."""

_LARGEST = 0.25
"""Noise above this is not looked for."""

_SWEEPS, _FIRST_SWEEPS, _STATE_SWEEPS = 60, 20, 400
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

_MOST_EDGES = 1_500
"""Graphs of nodes with more edges are not tried."""

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


def certify_boxes(
    network: Network, language: Language, *, task: str | None = None, budget: Budget | None = None
) -> Outcome:
    """Returns a certificate for all lengths under noise, a word on which the network fails, or neither.

    Args:
        network: a network with real states and a decoder of scores.
        language: the language that it should do.
        task: PREDICT, VALID_PREFIXES or RECOGNISE; None for the strongest that holds.
        budget: limits the time.

    Raises:
        InputError: if the network has a part that boxes are not made for.
    """
    prover = Prover(network, language, budget)
    try:
        found = find_intervals(network, budget=prover.budget)
    except BudgetExceeded as stop:
        return Unproved(reason=str(stop))
    tasks = (PREDICT, VALID_PREFIXES) if task is None else (task,)
    if found is None:
        # The kernel looks for a word on which the network fails before it looks at the intervals.
        failed = prover.failing_word(tasks[0])
        return failed or Unproved(reason="no intervals were found that every letter maps into each other")
    return prover.certify(BOXES, [{"task": wanted, **found} for wanted in tasks])


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


def certify_state_boxes(
    network: Network,
    language: Language,
    *,
    task: str = PREDICT,
    letters: Sequence[int] = LETTERS,
    least: float = SMALLEST_NOISE,
    budget: Budget | None = None,
) -> Certificate | Unproved:
    """Returns a certificate for all lengths under noise, or why none was found.

    Args:
        network: a network with real states; its decoder has scores or points.
        language: a language with few configurations.
        task: PREDICT, VALID_PREFIXES or RECOGNISE.
        letters: numbers of last letters that a node may know; the first that works is taken.
        least: the smallest noise that is good enough, a power of two.
        budget: limits the time.

    Raises:
        InputError: if the network has a part that boxes are not made for.
    """
    prover = Prover(network, language, budget)
    budget = prover.budget
    if not agrees(task, language.legal(language.initial()), network.decoder.empty):
        return Unproved(reason="the network is wrong about the empty word")
    try:
        for count in letters:
            cover = find_state_boxes(network, language, task=task, letters=count, least=least, budget=budget)
            if cover is not None:
                found = prover.certify(STATE_BOXES, [cover])
                if isinstance(found, Certificate):
                    return found
    except BudgetExceeded as stop:
        return Unproved(reason=str(stop))
    tried = ", ".join(map(str, letters))
    return Unproved(
        reason=f"with one box for each state and the last {tried} letters, no boxes are closed under noise "
        f"of {least:.0e} and have correct answers"
    )


def find_state_boxes(
    network: Network, language: Language, *, task: str, letters: int, least: float, budget: Budget
) -> dict[str, Json] | None:
    """Returns boxes that are closed under the largest noise that was found, as a cover; None for none."""
    steps = BoxStepper(network, points=True)
    graph = explore_nodes(steps, language, task=task, letters=letters, budget=budget)
    if graph is None:
        return None

    def attempt(eps: float) -> Boxes | None:
        # Ends are multiples of a power of two: about 1/32 of the noise.
        grid = 2.0 ** math.floor(math.log2(eps / 32))
        return close(steps, graph, eps, grid, budget, sweeps=_STATE_SWEEPS)

    best, noise = attempt(least), least
    if best is None:
        return None
    for factor in (64.0, 8.0, 2.0, 1.5, 1.25):
        while noise * factor <= _LARGEST and (found := attempt(noise * factor)) is not None:
            best, noise = found, noise * factor
    ends = np.cumsum([0, *(layer.width for layer in network.layers)]).tolist()
    boxes = [
        [best.written(row[first:last]) for first, last in itertools.pairwise(ends)] for row in graph.labels
    ]
    return {"task": task, "noise": str(Fraction(noise)), "letters": letters, "boxes": boxes}


def explore_nodes(
    steps: BoxStepper, language: Language, *, task: str, letters: int, budget: Budget
) -> BoxGraph | None:
    """Returns the graph of configurations with last letters; None if it has too many edges."""
    start: tuple[Hashable, tuple[int, ...]] = (language.initial(), ())
    number = {start: 0}
    order = [start]
    edges: list[tuple[int, int, int]] = []
    for here, (configuration, last) in enumerate(order):
        for letter in letters_read(language, configuration, task):
            recent = (*last, letter)[-letters:] if letters else ()
            reached = (language.advance(configuration, letter), recent)
            if reached not in number:
                number[reached] = len(order)
                order.append(reached)
            edges.append((here, letter, number[reached]))
        if len(edges) > _MOST_EDGES:
            return None
        budget.check("states", len(order), nodes=len(order))
    source, letter_of, target = np.array(edges, dtype=np.int64).reshape(-1, 3).T
    legal = [language.legal(configuration) for configuration, _ in order]
    first = steps.start()
    width = first.low.shape[1]
    low = np.full((len(order), width), np.inf)
    low[0] = first.low[0]
    high = np.where(np.isfinite(low), low, -np.inf)
    return BoxGraph(
        labels=np.arange(low.size).reshape(low.shape),
        source=source,
        letter=letter_of,
        target=target,
        low=low.ravel(),
        high=high.ravel(),
        group_of=None,
        is_answered=lambda edges, scores: _are_right(
            steps.network, scores, [legal[t] for t in target[edges]], task
        ),
    )


def _are_right(network: Network, scores: Boxes, legal: Sequence[Legal], task: str) -> bool:
    """Whether the decoder gives the wanted answer on all of each image."""
    decoder = network.decoder
    if isinstance(decoder, PointDecoder):
        right = np.array([[agrees(task, wanted, a) for a in decoder.answers] for wanted in legal])
        count = len(decoder.answers)
        leads = scores.low.reshape(-1, count, count) > 0
        # Some point with the correct answer is nearer than all points with a wrong one.
        beats = (leads | right[:, None, :]).all(axis=2)
        return bool((beats & right).any(axis=1).all())
    letters = len(network.alphabet)
    wanted = np.zeros((len(legal), letters + 1), dtype=np.bool_)
    for i, answer in enumerate(legal):
        wanted[i, sorted(answer.symbols)] = True
        wanted[i, letters] = answer.end
    above, below = scores.low > 0.5, scores.high <= 0.5
    right = np.where(wanted, above, below)
    if task == RECOGNISE:
        # Which letters may follow need not be right, but the kernel wants every score settled.
        right = np.concatenate([(above | below)[:, :letters], right[:, letters:]], axis=1)
    return bool(right.all())
