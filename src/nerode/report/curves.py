"""Chains of cubic Bézier curves between circles, and how they meet each other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

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
