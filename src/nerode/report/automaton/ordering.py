"""The order of the vertices in each layer of a drawing, with few crossings."""

from __future__ import annotations

import itertools
from bisect import bisect_left, insort
from collections.abc import Sequence

Link = tuple[int, int]
Adjacency = list[list[int]]

_SWEEPS = 12
_BESIDE_COST = 2


def order_layers(ranks: Sequence[int], links: Sequence[Link], beside: Sequence[Link]) -> list[list[int]]:
    """Returns the vertices of each rank, from top to bottom.

    Sweeps down and up, sorting each layer by the medians of its neighbours and then exchanging
    neighbours while that helps, and keeps the best order seen.

    Args:
        ranks: the rank of each vertex.
        links: pairs of vertices in consecutive ranks, lower rank first.
        beside: pairs of vertices in the same rank that should stand next to each other.

    Implements: [SugiyamaTagawaToda1981]; medians: [GansnerKoutsofiosNorthVo1993]
    """
    layers: list[list[int]] = [[] for _ in range(max(ranks) + 1)]
    for vertex, rank in enumerate(ranks):
        layers[rank].append(vertex)
    left: Adjacency = [[] for _ in ranks]
    right: Adjacency = [[] for _ in ranks]
    for i, j in links:
        right[i].append(j)
        left[j].append(i)
    partners: Adjacency = [[] for _ in ranks]
    for i, j in beside:
        partners[i].append(j)
        partners[j].append(i)
    best = [list(layer) for layer in layers]
    best_cost = _cost(layers, right, partners)
    for sweep in range(_SWEEPS):
        if best_cost == 0:
            break
        forwards = sweep % 2 == 0
        _sort_by_medians(layers, left if forwards else right, forwards)
        _exchange_neighbours(layers, left, right, partners)
        cost = _cost(layers, right, partners)
        if cost < best_cost:
            best, best_cost = [list(layer) for layer in layers], cost
    return best


def count_crossings(upper: Sequence[int], lower: Sequence[int], right: Sequence[Sequence[int]]) -> int:
    """Returns how many links between two consecutive layers cross."""
    position = {v: i for i, v in enumerate(lower)}
    seen: list[int] = []
    crossings = 0
    for v in upper:
        ends = sorted(position[w] for w in right[v])
        for end in ends:
            crossings += len(seen) - bisect_left(seen, end + 1)
        for end in ends:
            insort(seen, end)
    return crossings


def _cost(layers: Sequence[Sequence[int]], right: Adjacency, partners: Adjacency) -> int:
    crossings = sum(count_crossings(a, b, right) for a, b in itertools.pairwise(layers))
    apart = 0
    for layer in layers:
        position = {v: i for i, v in enumerate(layer)}
        apart += sum(abs(position[v] - position[w]) - 1 for v in layer for w in partners[v])
    return crossings + _BESIDE_COST * apart // 2


def _sort_by_medians(layers: list[list[int]], neighbours: Adjacency, forwards: bool) -> None:
    pairs = list(itertools.pairwise(layers))
    for first, second in pairs if forwards else [(b, a) for a, b in reversed(pairs)]:
        position = {v: float(i) for i, v in enumerate(first)}
        # A vertex without neighbours keeps its place relative to the whole layer.
        own = {v: i * (len(first) / len(second)) for i, v in enumerate(second)}
        key = {v: _median([position[w] for w in neighbours[v]], own[v]) for v in second}
        second.sort(key=lambda v, key=key: key[v])  # type: ignore[misc]


def _median(values: list[float], default: float) -> float:
    if not values:
        return default
    values.sort()
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def _exchange_neighbours(
    layers: list[list[int]], left: Adjacency, right: Adjacency, partners: Adjacency
) -> None:
    for _ in range(6):
        improved = False
        for rank, layer in enumerate(layers):
            around = [
                ({v: i for i, v in enumerate(layers[rank + step])}, neighbours)
                for step, neighbours in ((-1, left), (1, right))
                if 0 <= rank + step < len(layers)
            ]
            for i in range(len(layer) - 1):
                v, w = layer[i], layer[i + 1]
                gain = _apart_gain(layer, i, partners)
                for position, neighbours in around:
                    ends_v = [position[u] for u in neighbours[v]]
                    ends_w = [position[u] for u in neighbours[w]]
                    gain += sum(x > y for x in ends_v for y in ends_w)
                    gain -= sum(y > x for x in ends_v for y in ends_w)
                if gain > 0:
                    layer[i], layer[i + 1] = w, v
                    improved = True
        if not improved:
            return


def _apart_gain(layer: Sequence[int], i: int, partners: Adjacency) -> int:
    """The gain in nearness of the partners if the vertices at i and i+1 change places."""
    v, w = layer[i], layer[i + 1]
    if not partners[v] and not partners[w]:
        return 0
    position = {u: k for k, u in enumerate(layer)}
    gain = 0
    for u in partners[v]:
        if u != w:
            gain += abs(i - position[u]) - abs(i + 1 - position[u])
    for u in partners[w]:
        if u != v:
            gain += abs(i + 1 - position[u]) - abs(i - position[u])
    return _BESIDE_COST * gain
