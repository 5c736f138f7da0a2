"""State boxes of trained cells: one box per configuration of the language and last letters, under noise.

The weights of a cell mean an exact network, whose coordinates do not lie in a few intervals each, as those of
compiled ones do (`boxes`). The boxes grow until they are closed, as those of `boxes` do; the kernel proves
what is found here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from nerode.core import Budget, BudgetExceeded, InputError
from nerode.kernel import PREDICT, RECOGNISE, Certificate, certificate_to_json
from nerode.languages import Language, Legal, describe_language
from nerode.models import Model
from nerode.network import Network, PointDecoder, network_to_json
from nerode.proofs.answers import agrees, letters_read
from nerode.proofs.box_steps import Boxes, BoxStepper
from nerode.proofs.boxes import BoxGraph, close
from nerode.proofs.folder import check
from nerode.proofs.proving import STATE_BOXES, Prover, Unproved
from nerode.proofs.replay.lift import is_carried, trained_network

LETTERS = (0, 1, 2, 3)
"""Numbers of last letters that a node may know; tried in this order."""

_LAST = (1, 2, 3)
"""The same for trained cells."""

SMALLEST_NOISE = 2.0**-20
"""Noise below this is not worth a certificate of state boxes: it would not cover the roundings of float32."""

Json = Any

_LARGEST = 0.25
"""Noise above this is not looked for."""

_SWEEPS = 400
"""Sweeps after which the boxes have to be closed."""

_MOST_EDGES = 1_500
"""Graphs of nodes with more edges are not tried."""


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
        return close(steps, graph, eps, grid, budget, sweeps=_SWEEPS)

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


def require_told_apart(language: Language, answers: tuple[Legal, ...] | None) -> None:
    """Raises InputError if two classes have one answer about a language.

    A proof about the language would not see that a network mixes them up.
    """
    if answers is not None and len(set(answers)) < len(answers):
        raise InputError(
            f"several classes of {language.name} have the same answer about the language, so that boxes "
            "would not tell them apart; classes are proved by listing float states"
        )


def prove_boxes(
    model: Model,
    language: Language,
    task: str,
    *,
    answers: tuple[Legal, ...] | None = None,
    weights: str = "",
    letters: tuple[int, ...] = _LAST,
    least: float = SMALLEST_NOISE,
    seconds: float,
) -> tuple[Certificate, Network] | Unproved:
    """Returns boxes for a model as it is, with the exact network that they are about, or why there are none.

    The kernel has checked them.

    Args:
        model: one cell between letters and a linear head.
        language: what it should do.
        task: of the claims.
        answers: what each class says of the language; None if the outputs are bits.
        weights: the SHA-256 of the tensors of the run that the proof is for.
        letters: how many last letters a box may know.
        least: the noise that has to be allowed.
        seconds: for the search, and again for the kernel.

    Raises:
        InputError: if boxes would not tell two classes apart.
    """
    require_told_apart(language, answers)
    network = trained_network(model, language, answers=answers, weights=weights)
    found = certify_state_boxes(
        network, language, task=task, letters=letters, least=least, budget=Budget(seconds=seconds)
    )
    if not isinstance(found, Certificate):
        return found
    found = replace(found, claims=tuple(claim for claim in found.claims if is_carried(model, claim)))
    try:
        result = check(
            network_to_json(network),
            describe_language(language),
            certificate_to_json(found),
            budget=Budget(seconds=seconds),
        )
        refused = None if result.failure is None else result.failure.what
    except BudgetExceeded as stop:
        refused = str(stop)
    if refused is not None:
        return Unproved(reason=f"the kernel refuses the certificate: {refused}")
    return found, network
