"""Equivalences on 0 … m-1 as arrays of class numbers: strong components and joins."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from nerode.algebra.map_index import Numbers

_DENSE_LABELS = 16


def strong_components(graph: Numbers) -> Numbers:
    """Returns the strong components of a graph in which `graph[x]` lists the targets from x."""
    size, degree = graph.shape
    if not degree:
        return np.arange(size, dtype=np.int32)
    matrix = csr_array(
        (
            np.ones(graph.size, dtype=np.float64),
            graph.flatten(),
            np.arange(0, graph.size + 1, degree, dtype=np.int32),
        ),
        shape=(size, size),
    )
    # With an edge listed twice, the search for strong components need not end.
    matrix.sum_duplicates()
    return number_by_appearance(connected_components(matrix, directed=True, connection="strong")[1])


def join(r_class: Numbers, l_class: Numbers) -> Numbers:
    """Returns the least equivalence that contains two others."""
    num_r, num_l = int(r_class.max()) + 1, int(l_class.max()) + 1
    matrix = csr_array(
        (np.ones(len(r_class), dtype=np.float64), (r_class, num_r + l_class)),
        shape=(num_r + num_l, num_r + num_l),
    )
    return number_by_appearance(connected_components(matrix, directed=False)[1][r_class])


def number_by_appearance(labels: npt.NDArray[np.signedinteger[Any]]) -> Numbers:
    """Returns labels, none negative, renumbered in the order of their first appearance."""
    bound = int(labels.max()) + 1
    if bound > _DENSE_LABELS * len(labels):
        labels = np.unique(labels, return_inverse=True)[1]
        bound = int(labels.max()) + 1
    first = np.full(bound, len(labels), dtype=np.int64)
    np.minimum.at(first, labels, np.arange(len(labels)))
    used = np.flatnonzero(first < len(labels))
    rank = np.empty(bound, dtype=np.int32)
    rank[used[np.argsort(first[used])]] = np.arange(len(used), dtype=np.int32)
    numbers: Numbers = rank[labels]
    return numbers
