"""Routes of the arrows: chains of Bézier curves between circles, clear of states and of each other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nerode.report.automaton.diagram import Arrow
from nerode.report.automaton.placement import LOOP_HEIGHT, Placement

CLEARANCE = 7.0
START_LENGTH = 40.0

_PAIR_BENDS = (18, 12, 28, 40, 55, 72)
_FREE_BENDS = (0, 14, -14, 26, -26, 40, -40, 56, -56, 74, -74)
_LANE_BENDS = (30, -30, 42, -42, 55, -55, 70, -70)
_LOOP_TURNS = (-90, 90, -60, -120, 60, 120, 0, 180, -30, -150, 30, 150)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Route:
    """The way of one arrow.

    Attributes:
        arrow: the arrow.
        controls: 3m+1 control points of a chain of cubics, from border to border.
        points: points along it, for everything that measures.
    """

    arrow: Arrow
    controls: Floats
    points: Floats


def start_line(placement: Placement) -> Floats:
    """Returns the two ends of the arrow that marks the start state."""
    start = placement.diagram.dfa.start
    (x, y), r = placement.centre[start], placement.radius[start]
    return np.array([[x - r - START_LENGTH, y], [x - r, y]])


def route(placement: Placement) -> list[Route]:
    """Returns a way for every arrow, in the order of the diagram's arrows.

    Arrows are routed one after the other, the most constrained first, and then once more with all the
    others in place.
    """
    arrows = placement.diagram.arrows
    order = sorted(range(len(arrows)), key=lambda i: _constraint(placement, arrows[i]))
    chosen: dict[int, Route] = {}
    for _ in range(2):
        for i in order:
            others = {j: r for j, r in chosen.items() if j != i}
            chosen[i] = _best(placement, arrows[i], others)
    return [chosen[i] for i in range(len(arrows))]


def _constraint(placement: Placement, arrow: Arrow) -> tuple[int, int, int, int]:
    rank = placement.diagram.rank
    span = abs(rank[arrow.source] - rank[arrow.target])
    kind = 3 if arrow.is_loop else 2 if span > 1 else 1 if span == 0 else 0
    return kind, span, arrow.source, arrow.target


def _best(placement: Placement, arrow: Arrow, others: Mapping[int, Route]) -> Route:
    obstacles = _Obstacles.of(placement, arrow, others)
    best: Route | None = None
    best_cost = math.inf
    for controls, effort in _candidates(placement, arrow):
        points = sample(controls)
        cost = effort + 0.03 * length(points)
        # Meeting the other arrows is the expensive part to measure.
        for measure in (obstacles.states_cost, obstacles.arrows_cost):
            if cost < best_cost:
                cost += measure(points)
        if cost < best_cost:
            best, best_cost = Route(arrow=arrow, controls=controls, points=points), cost
    if best is None:
        raise AssertionError(f"no candidate way for {arrow}")
    return best


def _candidates(placement: Placement, arrow: Arrow) -> Iterator[tuple[Floats, float]]:
    """Curves for an arrow, each with what its shape costs."""
    source = _circle(placement, arrow.source)
    target = _circle(placement, arrow.target)
    if arrow.is_loop:
        yield from _loop_candidates(source, placement.outward.get(arrow.source, -math.pi / 2))
        return
    straight = math.atan2(target[1] - source[1], target[0] - source[0])
    lane = placement.lanes.get((arrow.source, arrow.target))
    if lane is not None:
        yield from _lane_candidates(source, target, lane, straight)
        return
    paired = placement.diagram.has_arrow(arrow.target, arrow.source)
    # A long pair needs less of an angle to stay apart.
    ease = min(1.0, 130.0 / math.dist(source[:2], target[:2])) ** 0.6 if paired else 1.0
    for bend in _PAIR_BENDS if paired else _FREE_BENDS:
        effort = abs(bend - 18) / 4 if paired else abs(bend) / 5
        yield _bent(source, target, straight, ease * bend), effort
    if source[0] != target[0]:
        level = 0.0 if target[0] > source[0] else math.pi
        for part in (0.4, 0.7, 1.0):
            for bend in (14, 26) if paired else (0,):
                turn = math.radians(bend)
                out = straight + part * _turn(straight, level) - turn
                back = straight + math.pi + part * _turn(straight, level) + turn
                yield between(source, target, out, back, reach=0.45), 3 + 4 * part + bend / 5


def _loop_candidates(circle: Circle, best: float) -> Iterator[tuple[Floats, float]]:
    yield loop(circle, best, LOOP_HEIGHT), 0.0
    for turn in _LOOP_TURNS:
        direction = math.radians(turn)
        away = abs(math.degrees(_turn(best, direction)))
        yield loop(circle, direction, LOOP_HEIGHT), 6 + away / 30


def _lane_candidates(
    source: Circle, target: Circle, lane: tuple[tuple[float, float], ...], straight: float
) -> Iterator[tuple[Floats, float]]:
    first = math.atan2(lane[0][1] - source[1], lane[0][0] - source[0])
    last = math.atan2(lane[-1][1] - target[1], lane[-1][0] - target[0])
    up = -math.pi / 2 if lane[0][1] < source[1] else math.pi / 2
    down = -math.pi / 2 if lane[-1][1] < target[1] else math.pi / 2
    for i in (0.0, 0.35, 0.7):
        for j in (0.0, 0.35, 0.7):
            out, back = first + i * _turn(first, up), last + j * _turn(last, down)
            yield through(source, target, out, back, lane), 4 + 3 * (i + j)
    distance = math.dist(source[:2], target[:2])
    for bend in _LANE_BENDS:
        height = 0.28 * distance * math.sin(math.radians(abs(bend)))
        yield _bent(source, target, straight, bend), 2 + abs(bend) / 8 + 0.08 * height


def _bent(source: Circle, target: Circle, straight: float, bend: float) -> Floats:
    turn = math.radians(bend)
    return between(source, target, straight - turn, straight + math.pi + turn, reach=0.38)


def _turn(start: float, end: float) -> float:
    """The smaller signed angle from one direction to another."""
    return (end - start + math.pi) % (2 * math.pi) - math.pi


def _circle(placement: Placement, state: int) -> Circle:
    x, y = placement.centre[state]
    return x, y, placement.radius[state]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Obstacles:
    """The states and arrows that a curve should keep away from."""

    foreign: Floats
    own: Floats
    lines: Floats
    neighbours: Floats
    ends: Floats

    @classmethod
    def of(cls, placement: Placement, arrow: Arrow, others: Mapping[int, Route]) -> _Obstacles:
        ends = {arrow.source, arrow.target}
        circles = {q: _circle(placement, q) for q in placement.diagram.states}
        foreign = [circle for q, circle in circles.items() if q not in ends]
        entry = start_line(placement)
        lines = [segments(entry), *(segments(r.points) for r in others.values())]
        return cls(
            foreign=np.array(foreign).reshape(-1, 3),
            own=np.array([circles[q] for q in sorted(ends)]),
            lines=np.vstack(lines),
            neighbours=np.vstack(
                [np.linspace(entry[0], entry[1], 6), *(r.points[2:-2] for r in others.values())]
            ),
            ends=np.vstack([entry[1:], *(r.points[[0, -1]] for r in others.values())]),
        )

    def states_cost(self, points: Floats) -> float:
        """The depth to which a polyline runs into states, its own two included."""
        gaps = _distances(points, self.foreign) - self.foreign[:, 2] - CLEARANCE
        own = self.own[:, 2] - _distances(points[2:-2], self.own)
        return 40.0 * float(np.maximum(0, -gaps).sum() + np.maximum(0, own).sum())

    def arrows_cost(self, points: Floats) -> float:
        """A count of crossings with other arrows, of parallel runs and of shared ends."""
        low, high = points.min(axis=0) - 9, points.max(axis=0) + 9
        near = self.neighbours[((self.neighbours >= low) & (self.neighbours <= high)).all(axis=1)]
        cost = 14.0 * crossings(points, self.lines)
        if len(near):
            cost += 4.0 * float(np.maximum(0, 1 - _distances(points[2:-2], near).min(axis=1) / 9).sum())
        return cost + 8.0 * float(np.maximum(0, 1 - _distances(points[[0, -1]], self.ends) / 9).sum())


def _distances(points: Floats, centres: Floats) -> Floats:
    distances: Floats = np.hypot(
        points[:, None, 0] - centres[None, :, 0], points[:, None, 1] - centres[None, :, 1]
    )
    return distances


Floats = npt.NDArray[np.float64]
Point = tuple[float, float]
Circle = tuple[float, float, float]


def _basis(steps: int) -> Floats:
    t = np.linspace(0.0, 1.0, steps + 1)[:, None]
    return np.hstack([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3])


_FINE, _COARSE = _basis(16), _basis(4)


def sample(controls: Floats) -> Floats:
    """Returns points along a chain of cubics given by 3m+1 control points, both ends included.

    The inner pieces of a chain run nearly straight along a lane and get fewer points.
    """
    last = len(controls) - 4
    pieces = [
        (_FINE if i in (0, last) else _COARSE) @ controls[i : i + 4] for i in range(0, len(controls) - 1, 3)
    ]
    return np.vstack([pieces[0], *(piece[1:] for piece in pieces[1:])])


def length(points: Floats) -> float:
    """Returns the length of a polyline."""
    return float(np.hypot(*np.diff(points, axis=0).T).sum())


def between(source: Circle, target: Circle, out: float, back: float, *, reach: float = 0.4) -> Floats:
    """Returns one cubic that leaves one circle and meets another, both at right angles.

    Args:
        source: x, y and radius of the circle that is left.
        target: the circle that is met.
        out: direction in which the source is left, in radians.
        back: direction in which the target is seen from its centre.
        reach: length of the handles as a part of the distance.
    """
    start = _on(source, out)
    end = _on(target, back)
    handle = reach * math.dist(start, end)
    return np.array([start, _step(start, out, handle), _step(end, back, handle), end])


def through(source: Circle, target: Circle, out: float, back: float, way: Sequence[Point]) -> Floats:
    """Returns a chain of cubics from circle to circle that follows the points of a lane."""
    start, end = _on(source, out), _on(target, back)
    stops = [start, *way, end]
    controls: list[Point] = [start]
    for i, (a, b) in enumerate(itertools.pairwise(stops)):
        third = (b[0] - a[0]) / 2.5
        first = (a[0] + third, a[1] + third * _slope(way, i - 1))
        second = (b[0] - third, b[1] - third * _slope(way, i))
        if i == 0:
            first = _step(a, out, 0.35 * math.dist(a, b))
        if i == len(way):
            second = _step(b, back, 0.35 * math.dist(a, b))
        controls += [first, second, b]
    return np.array(controls)


def _slope(way: Sequence[Point], i: int) -> float:
    """The slope of a lane at its point i: level at both ends, along the neighbours in between."""
    if not 0 < i < len(way) - 1:
        return 0.0
    return (way[i + 1][1] - way[i - 1][1]) / (way[i + 1][0] - way[i - 1][0])


def loop(circle: Circle, direction: float, height: float) -> Floats:
    """Returns a cubic that leaves a circle and comes back, clockwise on the screen."""
    out, back = direction - 0.42, direction + 0.42
    start, end = _on(circle, out), _on(circle, back)
    handle = 1.3 * height
    return np.array([start, _step(start, out + 0.02, handle), _step(end, back - 0.02, handle), end])


def crossings(points: Floats, others: Floats) -> int:
    """Returns how often a polyline, taken coarsely, crosses segments given as rows (x1, y1, x2, y2)."""
    low, high = points.min(axis=0), points.max(axis=0)
    near = (np.minimum(others[:, :2], others[:, 2:]) <= high) & (
        np.maximum(others[:, :2], others[:, 2:]) >= low
    )
    others = others[near.all(axis=1)]
    mine = segments(points)
    p, r = mine[:, None, :2], (mine[:, 2:] - mine[:, :2])[:, None, :]
    q, s = others[None, :, :2], (others[:, 2:] - others[:, :2])[None]
    cross = r[..., 0] * s[..., 1] - r[..., 1] * s[..., 0]
    gap = q - p
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (gap[..., 0] * s[..., 1] - gap[..., 1] * s[..., 0]) / cross
        u = (gap[..., 0] * r[..., 1] - gap[..., 1] * r[..., 0]) / cross
    hit = (cross != 0) & (t > 0) & (t < 1) & (u > 0) & (u < 1)
    return int(hit.sum())


def segments(points: Floats) -> Floats:
    """Returns a polyline, coarsely, as rows (x1, y1, x2, y2)."""
    points = np.vstack([points[:-1:2], points[-1:]])
    return np.hstack([points[:-1], points[1:]])


def _on(circle: Circle, angle: float) -> Point:
    return _step((circle[0], circle[1]), angle, circle[2])


def _step(point: Point, angle: float, distance: float) -> Point:
    return (point[0] + distance * math.cos(angle), point[1] + distance * math.sin(angle))
