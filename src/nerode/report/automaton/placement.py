"""Places of the states of a diagram: in layers with few crossings, or on a ring when layers would tangle.

Ranks are distances from the start, so an arrow never skips a rank forwards. An arrow that goes back by two
ranks or more gets an invisible vertex in every rank it passes, which keeps its lane free of states.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from nerode.report.automaton.diagram import Arrow, Diagram, letters_label
from nerode.report.picture import LINE_HEIGHT, text_width

Link = tuple[int, int]
Adjacency = list[list[int]]

_ORDER_SWEEPS = 12
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
    for sweep in range(_ORDER_SWEEPS):
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
        key = {v: median(position[w] for w in neighbours[v]) if neighbours[v] else own[v] for v in second}
        second.sort(key=lambda v, key=key: key[v])  # type: ignore[misc]


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


Point = tuple[float, float]

RADIUS = 21.0
ACCEPTING_RADIUS = 24.0
LOOP_HEIGHT = 34.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A diagram with a place for every state.

    Attributes:
        diagram: what is drawn.
        centre: the middle of each state's circle; y grows downwards.
        radius: the outer radius of each state's circle.
        lanes: for each arrow that goes back by two ranks or more, the points it should pass, in its
            own direction.
        outward: for each state the direction in which an arrow to itself looks best, in radians; upwards
            where nothing is said.
    """

    diagram: Diagram
    centre: Mapping[int, Point]
    radius: Mapping[int, float]
    lanes: Mapping[tuple[int, int], tuple[Point, ...]]
    outward: Mapping[int, float] = field(default_factory=dict)


def radii(diagram: Diagram) -> dict[int, float]:
    """Returns the outer radius of each state: accepting ones have a second circle."""
    return {q: ACCEPTING_RADIUS if diagram.dfa.accepting[q] else RADIUS for q in diagram.states}


_RING_STATES = 14


def place(diagram: Diagram, *, stretch: float = 1.0) -> Placement:
    """Returns a place for every state.

    Args:
        diagram: what is drawn.
        stretch: factor for the distances between states, for a second try when labels had no room.
    """
    if is_tangled(diagram):
        return place_on_ring(diagram, stretch=stretch)
    return place_in_layers(diagram, stretch=stretch)


def is_tangled(diagram: Diagram) -> bool:
    """Whether a small diagram has more arrows inside its ranks than states.

    That is how the automaton of a group looks when many of its elements are letters: nearly all states
    are one step from the start and from each other.
    """
    rank = diagram.rank
    inside = sum(not arrow.is_loop and rank[arrow.source] == rank[arrow.target] for arrow in diagram.arrows)
    return inside > len(rank) and len(rank) <= _RING_STATES


_ARC = 2 * ACCEPTING_RADIUS + 74.0


def place_on_ring(diagram: Diagram, *, stretch: float = 1.0) -> Placement:
    """Returns a placement on a circle, in the order of discovery, clockwise from the left."""
    states = diagram.states
    size = max(1.3 * _ARC, len(states) * _ARC / (2 * math.pi)) * stretch
    angle = {q: math.pi + 2 * math.pi * i / len(states) for i, q in enumerate(states)}
    centre = {q: (size * math.cos(turn), size * math.sin(turn)) for q, turn in angle.items()}
    # The entry arrow comes from the left, where the start's own arrow would point.
    outward = {q: turn for q, turn in angle.items() if q != diagram.dfa.start}
    return Placement(diagram=diagram, centre=centre, radius=radii(diagram), lanes={}, outward=outward)


_SWEEPS = 24
_BESIDE_ROOM = 26.0
_STATE_WEIGHT = 100.0
_LANE_WEIGHT = 1.0


@dataclass(frozen=True, slots=True)
class _Vertex:
    """A state, or the place where the lane of an arrow crosses a rank."""

    state: int | None
    lane: tuple[int, int] | None
    rank: int


def place_in_layers(diagram: Diagram, *, stretch: float = 1.0) -> Placement:
    """Returns the layered placement of a diagram.

    Args:
        diagram: what is drawn.
        stretch: factor for the distances between states, for a second try when labels had no room.
    """
    vertices, links = _vertices_and_links(diagram)
    beside = _same_rank_pairs(diagram, vertices)
    layers = order_layers([v.rank for v in vertices], links, beside)
    ys = _heights(vertices, layers, links, beside, diagram, stretch)
    xs = _columns(diagram, len(layers), stretch)
    centre = {}
    lanes: dict[tuple[int, int], list[tuple[int, Point]]] = {}
    for i, vertex in enumerate(vertices):
        point = (xs[vertex.rank], ys[i])
        if vertex.state is not None:
            centre[vertex.state] = point
        elif vertex.lane is not None:
            lanes.setdefault(vertex.lane, []).append((vertex.rank, point))
    ordered = {
        lane: tuple(point for _, point in sorted(points, reverse=True)) for lane, points in lanes.items()
    }
    return Placement(diagram=diagram, centre=centre, radius=radii(diagram), lanes=ordered)


def _vertices_and_links(diagram: Diagram) -> tuple[list[_Vertex], list[tuple[int, int]]]:
    """The vertices of the layered graph, and its links from each rank to the next."""
    vertices = [_Vertex(q, None, rank) for q, rank in diagram.rank.items()]
    number = {q: i for i, q in enumerate(diagram.rank)}
    links = set()
    for arrow in diagram.arrows:
        high, low = diagram.rank[arrow.source], diagram.rank[arrow.target]
        if high == low:
            continue
        if high < low:
            links.add((number[arrow.source], number[arrow.target]))
            continue
        previous = number[arrow.target]
        for rank in range(low + 1, high):
            vertices.append(_Vertex(None, (arrow.source, arrow.target), rank))
            links.add((previous, len(vertices) - 1))
            previous = len(vertices) - 1
        links.add((previous, number[arrow.source]))
    return vertices, sorted(links)


def _same_rank_pairs(diagram: Diagram, vertices: Sequence[_Vertex]) -> list[tuple[int, int]]:
    number = {v.state: i for i, v in enumerate(vertices) if v.state is not None}
    rank = diagram.rank
    pairs = {
        (min(arrow.source, arrow.target), max(arrow.source, arrow.target))
        for arrow in diagram.arrows
        if not arrow.is_loop and rank[arrow.source] == rank[arrow.target]
    }
    return sorted((number[q], number[p]) for q, p in pairs)


def _columns(diagram: Diagram, num_ranks: int, stretch: float) -> list[float]:
    """The x of each rank: far enough apart for the widest label between two ranks."""
    base = 62.0 if num_ranks <= 9 else 50.0
    gaps = [base] * max(0, num_ranks - 1)
    for arrow in diagram.arrows:
        low, high = sorted((diagram.rank[arrow.source], diagram.rank[arrow.target]))
        if high == low + 1:
            gaps[low] = max(gaps[low], _label_width(diagram, arrow) + 34.0)
        elif high == low and not arrow.is_loop and low < len(gaps):
            gaps[low] = max(gaps[low], _label_width(diagram, arrow) + 64.0)
    xs = [0.0]
    for gap in gaps:
        xs.append(xs[-1] + 2 * ACCEPTING_RADIUS + gap * stretch)
    return xs


def _label_width(diagram: Diagram, arrow: Arrow) -> float:
    return text_width(letters_label(diagram.dfa.alphabet, arrow.letters))


def _heights(
    vertices: Sequence[_Vertex],
    layers: Sequence[Sequence[int]],
    links: Sequence[tuple[int, int]],
    beside: Sequence[tuple[int, int]],
    diagram: Diagram,
    stretch: float,
) -> list[float]:
    """The y of each vertex: near its neighbours, in the given order, without overlaps."""
    loops = diagram.loops
    facing = {*beside, *((j, i) for i, j in beside)}
    above = [_room_above(v, v.state in loops) * stretch for v in vertices]
    below = [_room_below(v) * stretch for v in vertices]
    neighbours: list[list[tuple[int, float]]] = [[] for _ in vertices]
    for i, j in links:
        neighbours[i].append((j, _pull(vertices[i], vertices[j])))
        neighbours[j].append((i, _pull(vertices[j], vertices[i])))
    ys = [0.0] * len(vertices)
    for layer in layers:
        # The states of each rank start around one axis, so that a chain of states stays straight.
        states = [k for k, i in enumerate(layer) if vertices[i].state is not None]
        middle = sum(states) / len(states) if states else (len(layer) - 1) / 2
        for position, i in enumerate(layer):
            ys[i] = (position - middle) * 80.0
    for sweep in range(_SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = [_wanted(i, ys, neighbours) for i in layer]
            weights = [_LANE_WEIGHT if vertices[i].state is None else _STATE_WEIGHT for i in layer]
            gaps = [
                below[i] + above[j] + (_BESIDE_ROOM if (i, j) in facing else 0.0)
                for i, j in itertools.pairwise(layer)
            ]
            for i, y in zip(layer, separate(wanted, weights, gaps), strict=True):
                ys[i] = y
    return ys


def _pull(vertex: _Vertex, other: _Vertex) -> float:
    """The pull of a vertex towards the height of another: lanes follow states, states hardly lanes."""
    if vertex.state is None:
        return 4.0 if other.state is None else 0.1
    return 1e-3 if other.state is None else 1.0


def _room_above(vertex: _Vertex, has_loop: bool) -> float:
    if vertex.state is None:
        return 13.0
    return ACCEPTING_RADIUS + 13.0 + (LOOP_HEIGHT + LINE_HEIGHT - 6.0 if has_loop else 0.0)


def _room_below(vertex: _Vertex) -> float:
    return 13.0 if vertex.state is None else ACCEPTING_RADIUS + 13.0


def _wanted(i: int, ys: Sequence[float], neighbours: Sequence[Sequence[tuple[int, float]]]) -> float:
    total = sum(pull for _, pull in neighbours[i])
    if total == 0:
        return ys[i]
    return sum(ys[j] * pull for j, pull in neighbours[i]) / total


def separate(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Returns increasing places nearest to the wanted ones, at least `gaps` apart.

    Minimises the weighted sum of squared moves. After the gaps are subtracted this is isotonic
    regression, which pooling adjacent violators solves exactly.
    """
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    pools: list[tuple[float, float, int]] = []
    for value, offset, weight in zip(wanted, offsets, weights, strict=True):
        pools.append((value - offset, weight, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (m1, w1, n1), (m2, w2, n2) = pools[-2:]
            pools[-2:] = [((m1 * w1 + m2 * w2) / (w1 + w2), w1 + w2, n1 + n2)]
    flat = [mean for mean, _, count in pools for _ in range(count)]
    return [value + offset for value, offset in zip(flat, offsets, strict=True)]
