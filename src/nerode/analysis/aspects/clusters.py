"""Clusters of hidden states by label, after training and before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from nerode.analysis.probes import ProbeWords
from nerode.analysis.subject import LoadedNetwork
from nerode.core import InputError
from nerode.languages import Language
from nerode.models import Layered, as_layered
from nerode.models.network_module import CompiledModel
from nerode.records import AnalysisRow, StateClusters

Points = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Labels = Sequence[Sequence[str | None]]
"""For each position of each word; None to leave it out."""

FEWEST = 5
"""A label with fewer states is left out."""

MOST_POINTS = 3_500
"""States that are compared with each other; more are thinned out evenly."""

_MOST_SHOWN = 500
_ROUNDS = 10


def ngram_labels(probe: ProbeWords, n: int) -> Labels:
    """Returns for each position of each word its last n letters; None where there are not so many."""
    if not probe.has_letters or n < 1:
        raise InputError(f"labels by {n} last letters need words of letters, and n of 1 or more")
    found = []
    for row in range(len(probe.inputs)):
        word = probe.spell(row)
        found.append([" ".join(word[t + 1 - n : t + 1]) if t + 1 >= n else None for t in range(len(word))])
    return found


def state_labels(probe: ProbeWords, language: Language) -> Labels:
    """Returns for each position of each word the state of the minimal automaton after it."""
    dfa = language.dfa()
    if not probe.has_letters or len(probe.symbols) != len(dfa.alphabet):
        raise InputError("labels by automaton state need words over the letters of the language")
    found = []
    for word in probe.inputs.tolist():
        state = dfa.start
        row: list[str | None] = []
        for letter in word:
            state = int(dfa.transitions[state][letter])
            row.append(f"state {state}")
        found.append(row)
    return found


def target_labels(probe: ProbeWords) -> Labels:
    """Returns for each position of each word the class that is due there; None where nothing is asked."""
    batch = probe.batch
    if batch is None or batch.targets.ndim != 2:
        raise InputError("labels by answer need a task with one class for each position")
    rows = zip(batch.targets.tolist(), batch.mask.tolist(), strict=True)
    return [
        [f"answer {t}" if asked else None for t, asked in zip(targets, mask, strict=True)]
        for targets, mask in rows
    ]


def clusters(
    subject: LoadedNetwork, words: Sequence[tuple[ProbeWords, Labels]], *, labelled_by: str
) -> StateClusters:
    """Returns how the states of the last layer that keeps any lie by label, trained and untrained.

    Args:
        subject: the network.
        words: groups of words, each with a label for each position of each word; None to leave it out.
        labelled_by: what the labels are, for titles.

    Raises:
        InputError: if the model has no states of fixed size, or fewer than two labels have five states.
    """
    probes = [probe for probe, _ in words]
    number, states = hidden_states(subject.model, probes)
    flat = [label for _, labels in words for row in labels for label in row]
    if len(flat) != len(states):
        raise InputError(f"there are {len(flat)} labels for {len(states)} states")
    counts = Counter(label for label in flat if label is not None)
    kept = [i for i, label in enumerate(flat) if label is not None and counts[label] >= FEWEST]
    kept = kept[:: max(1, -(-len(kept) // MOST_POINTS))]
    names = sorted({str(flat[i]) for i in kept})
    if len(names) < 2:
        raise InputError(
            f"{len(names)} labels occur {FEWEST} times or more; give more words, or other labels"
        )
    codes = np.array([names.index(str(flat[i])) for i in kept])
    shown = np.arange(len(kept))[:: max(1, -(-len(kept) // _MOST_SHOWN))]
    untrained = None
    if subject.spec is not None and subject.task is not None:
        _, before = hidden_states(subject.untrained(), probes, number)
        untrained = _clustering(before[kept], codes, shown)
    return StateClusters(
        labelled_by=labelled_by,
        layer=number,
        labels=len(names),
        states=len(kept),
        shown=tuple(names[codes[i]] for i in shown),
        trained=_clustering(states[kept], codes, shown),
        untrained=untrained,
    )


@torch.no_grad()
def hidden_states(model: nn.Module, probes: Sequence[ProbeWords], layer: int = -1) -> tuple[int, Points]:
    """Returns the number of a layer and its states (all positions of all words, numbers).

    Windows of past inputs that a convolution keeps are left out: they hold letters, not memory of them.

    Raises:
        InputError: if the model, or this layer of it, shows no states of fixed size.
    """
    view = model if isinstance(model, CompiledModel) else as_layered(model)
    found = []
    for probe in probes:
        layer, states = _states(view, probe, layer)
        found.append(states)
    return layer, np.concatenate(found)


def _states(model: Layered | CompiledModel, probe: ProbeWords, layer: int) -> tuple[int, Points]:
    kept: dict[int, list[Points]] = {}
    for name, value in model.trace(probe.inputs).states.items():
        place, _, what = name.partition(".")
        if what == "window" or not (value.is_floating_point() or value.is_complex()):
            continue
        real = torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
        kept.setdefault(int(place), []).append(
            real.reshape(probe.inputs.shape[0] * probe.length, -1).double().numpy()
        )
    if not kept or (layer >= 0 and layer not in kept):
        raise InputError("no state of fixed size is kept there; choose another layer or model")
    number = max(kept) if layer < 0 else layer
    return number, np.concatenate(kept[number], axis=1)


def silhouette(points: Points, codes: Numbers) -> float:
    """Returns the mean silhouette: how much nearer a point is to its own label than to the next one.

    A point that is alone with its label counts as 0.

    Implements: [Rousseeuw1987]
    """
    labels = int(codes.max()) + 1
    members = np.eye(labels)[codes]
    sizes = members.sum(axis=0)
    sums = np.sqrt(_squares(points, points)) @ members
    own_size = sizes[codes]
    rows = np.arange(len(points))
    own = sums[rows, codes] / np.maximum(own_size - 1, 1)
    means = np.where(sizes > 0, sums / np.maximum(sizes, 1), np.inf)
    means[rows, codes] = np.inf
    other = means.min(axis=1)
    larger = np.maximum(own, other)
    values = np.divide(other - own, larger, out=np.zeros_like(own), where=larger > 0)
    return float(np.where(own_size > 1, values, 0.0).mean())


def principal_plane(points: Points) -> tuple[Points, tuple[float, float]]:
    """Returns the points in the plane of their two principal components, and what these explain."""
    centred = points - points.mean(axis=0)
    left, sizes, right = np.linalg.svd(centred, full_matrices=False)
    variance = sizes**2
    whole = variance.sum()
    plane = np.zeros((len(points), 2))
    width = min(2, len(sizes))
    # The sign of a component is arbitrary; the largest weight is made positive.
    signs = np.sign(right[np.arange(width), np.abs(right[:width]).argmax(axis=1)])
    plane[:, :width] = left[:, :width] * sizes[:width] * np.where(signs == 0, 1, signs)
    shares = np.zeros(2)
    if whole > 0:
        shares[:width] = variance[:width] / whole
    return plane, (float(shares[0]), float(shares[1]))


def _clustering(points: Points, codes: Numbers, shown: Numbers) -> AnalysisRow:
    plane, explained = principal_plane(points)
    return AnalysisRow(
        silhouette=silhouette(points, codes),
        silhouette_plane=silhouette(plane, codes),
        purity=_purity(points, codes),
        neighbours=_neighbours(points, codes),
        explained=explained,
        points=tuple((float(x), float(y)) for x, y in plane[shown]),
    )


def _purity(points: Points, codes: Numbers) -> float:
    labels = int(codes.max()) + 1
    found = _k_means(points, labels, np.random.default_rng(0))
    table = np.zeros((labels, labels))
    np.add.at(table, (found, codes), 1)
    return float(table.max(axis=1).sum() / len(codes))


def _k_means(points: Points, most: int, rng: np.random.Generator) -> Numbers:
    """The cluster of each point, for at most so many: seeds far from each other, then means.

    Implements: [ArthurVassilvitskii2007]
    """
    centres = points[rng.integers(len(points))][None]
    nearest = _squares(points, centres)[:, 0]
    while len(centres) < most and nearest.sum() > 0:
        chosen = points[rng.choice(len(points), p=nearest / nearest.sum())][None]
        centres = np.concatenate([centres, chosen])
        nearest = np.minimum(nearest, _squares(points, chosen)[:, 0])
    for _ in range(_ROUNDS):
        found: Numbers = _squares(points, centres).argmin(axis=1)
        members = np.eye(len(centres))[found]
        sizes = members.sum(axis=0)
        # A cluster that lost all its points stays where it was.
        moved = (members.T @ points) / np.maximum(sizes, 1)[:, None]
        centres = np.where(sizes[:, None] > 0, moved, centres)
    return found


def _neighbours(points: Points, codes: Numbers) -> float:
    distances = _squares(points, points)
    np.fill_diagonal(distances, np.inf)
    return float((codes[distances.argmin(axis=1)] == codes).mean())


def _squares(points: Points, others: Points) -> Points:
    """Squared distances, by products of matrices: many times faster than pair by pair."""
    middle = others.mean(axis=0)
    points, others = points - middle, others - middle
    squares: Points = (points**2).sum(1)[:, None] + (others**2).sum(1) - 2 * points @ others.T
    return np.maximum(squares, 0, out=squares)
