"""Right at every length under noise: one box of states for each state of the automaton and last letters.

A node is a configuration of the language together with the last k letters. Each node has one box; the box of
the start holds the start of the network, and every letter maps every box, moved by any noise up to eps, into
the box of the node that it leads to. If the decoder gives the language's answer on all images, the network is
right on all words. The boxes are the least ones, found by iteration from the start; `checker_state_boxes`
proves again that they are closed. This is made for trained networks, whose coordinates do not lie in a few
intervals each, as `boxes` needs it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core import Budget, BudgetExceeded, InputError
from nerode.languages import Language, Legal, language_hash
from nerode.network import Network, PointDecoder, network_hash
from nerode.proofs.box_partition import split_boxes
from nerode.proofs.certificate import (
    PREDICT,
    RECOGNISE,
    VALID_PREFIXES,
    Certificate,
    Unproved,
    content_hash,
    language_claim,
    noise_claim,
)
from nerode.proofs.interval_network import IntervalNetwork
from nerode.proofs.intervals import Floats, Intervals
from nerode.proofs.rounded_claims import rounded_claim

STATE_BOXES = "state-boxes"

LETTERS = (0, 1, 2, 3)
"""How many last letters a node may know; tried in this order."""

SMALLEST_NOISE = 2.0**-20
"""Noise below this is not worth a certificate: it would not cover the roundings of float32."""

Json = Any
Numbers = npt.NDArray[np.int64]

_LARGEST_NOISE = 0.25
_GRID = 32
"""Ends of boxes are multiples of a power of two of about the noise over this; division by it is exact."""

_SWEEPS = 400
_PATIENCE = 20
"""Sweeps after which boxes that still grow are widened by more than they grew."""

_MOST_EDGES = 1_500
"""Graphs with more are not tried."""

_FAR = 1e6
"""A state beyond this has run away."""


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """The graph of pairs of a configuration and last letters, in the order in which a search finds them.

    Attributes:
        legal: for each node what may follow.
        source, letter, target: for each edge its ends and what is read.
    """

    legal: tuple[Legal, ...]
    source: Numbers
    letter: Numbers
    target: Numbers


@dataclass(frozen=True, kw_only=True)
class ClosedBoxes:
    """Boxes that are closed under all letters and noise, with right answers.

    Attributes:
        low, high: the ends (nodes, coordinates of all layers); multiples of a power of two.
        widths: coordinates of each layer.
        eps: the noise on every coordinate after every letter.
        letters: how many last letters a node knows.
        task: what is shown.
    """

    low: Floats
    high: Floats
    widths: tuple[int, ...]
    eps: float
    letters: int
    task: str

    def evidence(self) -> dict[str, Json]:
        """Returns what the checker needs to prove it again."""
        found: dict[str, Json] = {
            "task": self.task,
            "eps": str(Fraction(self.eps)),
            "letters": self.letters,
            "boxes": [self._box(node) for node in range(len(self.low))],
        }
        return {**found, "digest": content_hash(found)}

    def _box(self, node: int) -> Json:
        ends = [
            [str(Fraction(low)), str(Fraction(high))]
            for low, high in zip(self.low[node].tolist(), self.high[node].tolist(), strict=True)
        ]
        places = np.cumsum((0, *self.widths)).tolist()
        return [ends[a:b] for a, b in itertools.pairwise(places)]


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
        letters: how many last letters a node may know; the first that works is taken.
        least: the smallest noise that is good enough, a power of two.
        budget: limits the time.

    Raises:
        InputError: if the network has a part that boxes are not made for.
    """
    if tuple(network.alphabet) != tuple(language.alphabet):
        raise InputError("network and language have different alphabets; certify a network with its language")
    expected = language.legal(language.initial())
    if not _agrees(task, expected, network.decoder.empty):
        return Unproved(reason="the network is wrong about the empty word")
    try:
        for count in letters:
            boxes = find_boxes(network, language, task=task, letters=count, least=least, budget=budget)
            if boxes is not None:
                return _seal(network, language, boxes)
    except BudgetExceeded as stop:
        return Unproved(reason=str(stop))
    tried = ", ".join(map(str, letters))
    return Unproved(
        reason=f"with one box for each state and the last {tried} letters, no boxes are closed under noise "
        f"of {least:.0e} and have right answers"
    )


def find_boxes(
    network: Network,
    language: Language,
    *,
    task: str,
    letters: int,
    least: float = SMALLEST_NOISE,
    budget: Budget | None = None,
) -> ClosedBoxes | None:
    """Returns boxes that are closed under the largest noise that was found; None if there are none."""
    budget = budget or Budget()
    nodes = explore_nodes(language, task=task, letters=letters, budget=budget)
    if nodes is None:
        return None
    steps = IntervalNetwork(network, points=True)

    def close(eps: float) -> ClosedBoxes | None:
        ends = close_boxes(steps, nodes, task=task, eps=eps, budget=budget)
        widths = tuple(layer.width for layer in network.layers)
        if ends is None:
            return None
        return ClosedBoxes(low=ends.low, high=ends.high, widths=widths, eps=eps, letters=letters, task=task)

    best = close(least)
    if best is None:
        return None
    for factor in (64.0, 8.0, 2.0, 1.5, 1.25):
        while best.eps * factor <= _LARGEST_NOISE and (found := close(best.eps * factor)) is not None:
            best = found
    return best


def explore_nodes(
    language: Language, *, task: str, letters: int, budget: Budget | None = None
) -> Nodes | None:
    """Returns all nodes; None if they have too many edges."""
    budget = budget or Budget()
    start: tuple[Hashable, tuple[int, ...]] = (language.initial(), ())
    number = {start: 0}
    order = [start]
    edges: list[tuple[int, int, int]] = []
    for here, (configuration, last) in enumerate(order):
        legal = language.legal(configuration).symbols
        for letter in range(len(language.alphabet)):
            if task == VALID_PREFIXES and letter not in legal:
                continue
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
    return Nodes(
        legal=tuple(language.legal(configuration) for configuration, _ in order),
        source=source,
        letter=letter_of,
        target=target,
    )


def close_boxes(
    steps: IntervalNetwork, nodes: Nodes, *, task: str, eps: float, budget: Budget | None = None
) -> Intervals | None:
    """Returns the least boxes that are closed, on a grid; None if they run away or an answer is doubtful."""
    budget = budget or Budget()
    widths = [layer.width for layer in steps.network.layers]
    grid = 2.0 ** math.floor(math.log2(eps / _GRID))
    start = [(part.low, part.high) for part in steps.start()]
    low = np.full((len(nodes.legal), sum(widths)), np.inf)
    high = -low
    low[0] = np.floor(np.concatenate([a[0] for a, _ in start]) / grid) * grid
    high[0] = np.ceil(np.concatenate([b[0] for _, b in start]) / grid) * grid
    noise = [np.full(width, eps) for width in widths]
    with np.errstate(all="ignore"):
        for sweep in range(_SWEEPS):
            budget.check_time(eps=eps)
            edges = np.flatnonzero(np.isfinite(low[nodes.source]).all(axis=1))
            filled = Intervals(np.where(low > high, 0.0, low), np.where(low > high, 0.0, high))
            try:
                images, scores = steps.step(
                    split_boxes(filled, widths), nodes.source[edges], nodes.letter[edges], noise
                )
            except InputError:
                return None
            target = nodes.target[edges]
            if not _all_right(steps.network, scores, [nodes.legal[t] for t in target], task):
                return None
            new_low, new_high = low.copy(), high.copy()
            np.minimum.at(new_low, target, np.concatenate([image.low for image in images], axis=1))
            np.maximum.at(new_high, target, np.concatenate([image.high for image in images], axis=1))
            if bool((new_low >= low).all() & (new_high <= high).all()):
                return Intervals(low, high)
            if sweep >= _PATIENCE:
                new_low = np.where(new_low < low, new_low - (low - new_low) / 4, new_low)
                new_high = np.where(new_high > high, new_high + (new_high - high) / 4, new_high)
            low = np.where(new_low < low, np.floor(new_low / grid) * grid, low)
            high = np.where(new_high > high, np.ceil(new_high / grid) * grid, high)
            ran_away = np.isfinite(low) & ((low < -_FAR) | (high > _FAR))
            if bool(ran_away.any()):
                return None
    return None


def _all_right(network: Network, scores: Intervals, legal: Sequence[Legal], task: str) -> bool:
    """Whether the decoder gives the wanted answer on all of each image."""
    decoder = network.decoder
    if isinstance(decoder, PointDecoder):
        right = np.array([[_agrees(task, wanted, a) for a in decoder.answers] for wanted in legal])
        count = len(decoder.answers)
        leads = scores.low.reshape(-1, count, count) > 0
        # Some point with the right answer is nearer than all points with a wrong one.
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
        # Which symbols may follow need not be right, but the checker wants every score settled.
        right = np.concatenate([(above | below)[:, :letters], right[:, letters:]], axis=1)
    return bool(right.all())


def _agrees(task: str, expected: Legal, got: Legal) -> bool:
    return expected.end == got.end if task == RECOGNISE else expected == got


def _seal(network: Network, language: Language, boxes: ClosedBoxes) -> Certificate:
    claims = (
        language_claim(task=boxes.task, method=STATE_BOXES),
        noise_claim(task=boxes.task, method=STATE_BOXES, eps=Fraction(boxes.eps)),
    )
    return Certificate(
        network=network_hash(network),
        language=language_hash(language),
        claims=claims,
        evidence={STATE_BOXES: boxes.evidence()},
    )


def with_float32(certificate: Certificate) -> Certificate:
    """Returns the certificate with the claim that half of its noise covers float32; only a check tells."""
    noise = certificate.claims[-1]
    assert noise.eps is not None
    claim = rounded_claim(task=noise.task, method=STATE_BOXES, eps=noise.eps / 2)
    return replace(certificate, claims=(*certificate.claims, claim))
