"""A polynomial test that settles star-freeness for most components, on pairs of states.

If a word permutes states p₀ → p₁ → … → p₀ cyclically, then the pairs (p₀, p₁), (p₁, p₂), … all lie in one
strongly connected component of the graph of pairs. Read as a relation on states, that component has a
directed cycle. So if the relation of every component of the pair graph is acyclic, there is no counter:
this covers order-preserving automata, whose image sets are exponentially many. And if (p, q) and (q, p)
share a component, a word swaps p and q: a counter of order two. Only what lies between needs the images.
"""

from __future__ import annotations

import numpy as np

from nerode.algebra.components import OUTSIDE, Numbers, PartialAction, edge_labels

MOST_EDGES = 10_000_000
"""Above this many edges the pair graph is not built."""


def num_pair_edges(action: PartialAction) -> int:
    """An upper bound for the edges of the pair graph, which says what `pair_labels` costs."""
    return action.num_points**2 * len(action.maps)


def pair_labels(action: PartialAction) -> Numbers:
    """Returns `labels[p, q]`, the strong component of the pair (p, q) in the graph of distinct pairs."""
    n = action.num_points
    sources, targets = [], []
    pairs = np.arange(n * n).reshape(n, n)
    for row in np.array(action.maps, dtype=np.int64).reshape(-1, n):
        inside = np.flatnonzero(row != OUTSIDE)
        image = row[inside]
        distinct = image[:, None] != image[None, :]
        sources.append(pairs[np.ix_(inside, inside)][distinct])
        targets.append((image[:, None] * n + image[None, :])[distinct])
    source = np.concatenate(sources) if sources else np.empty(0, dtype=np.int64)
    target = np.concatenate(targets) if targets else np.empty(0, dtype=np.int64)
    return edge_labels(n * n, source, target).reshape(n, n)


def swapped_pair(labels: Numbers) -> tuple[int, int] | None:
    """Returns two points that some word swaps, or None."""
    swapped = np.argwhere(np.triu(labels == labels.T, k=1))
    return (int(swapped[0, 0]), int(swapped[0, 1])) if len(swapped) else None


def is_orderly(labels: Numbers) -> bool:
    """Whether the relation of every component of the pair graph is acyclic, so that no word is a counter."""
    n = len(labels)
    first, second = np.nonzero(~np.eye(n, dtype=np.bool_))
    label = labels[first, second]
    # One node for each component and state in it: all relations side by side in one graph.
    nodes, numbers = np.unique(np.concatenate([label * n + first, label * n + second]), return_inverse=True)
    source, target = np.split(numbers, 2)
    return int(edge_labels(len(nodes), source, target).max(initial=-1)) + 1 == len(nodes)
