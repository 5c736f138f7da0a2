"""A finished drawing of an automaton, as numbers: places, routes, labels beside them, and the box around."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nerode.languages import Dfa
from nerode.report.automaton.diagram import LINE_HEIGHT, Diagram, letters_label, text_width
from nerode.report.automaton.placement import Placement, place
from nerode.report.automaton.routing import Floats, Route, route, start_line

_STRETCHES = (1.0, 1.2, 1.45, 1.8, 2.3)
_PADDING = 6.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawing:
    """Everything that the picture of an automaton shows.

    Attributes:
        placement: the states and their places.
        routes: the ways of the arrows.
        labels: one for each route.
        box: x, y, width and height of the whole.
    """

    placement: Placement
    routes: tuple[Route, ...]
    labels: tuple[Label, ...]
    box: tuple[float, float, float, float]

    @property
    def clashes(self) -> int:
        """The number of labels that lie on a state or on another label."""
        on_states = sum(bool(states_under(self.placement, label)) for label in self.labels)
        pairs = sum(a.overlaps(b) for i, a in enumerate(self.labels) for b in self.labels[:i])
        return on_states + pairs


def draw(dfa: Dfa, *, show_dead: bool = False) -> Drawing:
    """Returns the drawing of an automaton; the same automaton always gives the same numbers.

    When labels find no room, the whole is drawn again with larger distances.
    """
    return draw_diagram(Diagram.of(dfa, show_dead=show_dead))


def draw_diagram(diagram: Diagram) -> Drawing:
    """Returns the drawing of the chosen part of an automaton."""
    best: Drawing | None = None
    for stretch in _STRETCHES:
        placement = place(diagram, stretch=stretch)
        routes = route(placement)
        labels = place_labels(placement, routes)
        drawing = Drawing(
            placement=placement,
            routes=tuple(routes),
            labels=tuple(labels),
            box=_box(placement, routes, labels),
        )
        if best is None or drawing.clashes < best.clashes:
            best = drawing
        if best.clashes == 0:
            break
    if best is None:
        raise AssertionError("no stretch was tried")
    return best


def _box(placement: Placement, routes: list[Route], labels: list[Label]) -> tuple[float, float, float, float]:
    points = [start_line(placement) - [[4, 0]], *(r.points for r in routes)]
    for q, (x, y) in placement.centre.items():
        r = placement.radius[q]
        points.append(np.array([[x - r, y - r], [x + r, y + r]]))
    for label in labels:
        middle, half = np.array([label.x, label.y]), np.array([label.width, label.height]) / 2
        points.append(np.array([middle - half, middle + half]))
    every = np.vstack(points)
    low = np.floor(every.min(axis=0) - _PADDING)
    high = np.ceil(every.max(axis=0) + _PADDING)
    return float(low[0]), float(low[1]), float(high[0] - low[0]), float(high[1] - low[1])


_PLACES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82)
_OVERLAP_COST = 500.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """The text of one arrow in a box with the centre (x, y)."""

    text: str
    letters: tuple[int, ...]
    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: Label) -> bool:
        """Whether two boxes have a point in common."""
        return (
            abs(self.x - other.x) * 2 < self.width + other.width
            and abs(self.y - other.y) * 2 < self.height + other.height
        )

    def gap_to(self, x: float, y: float) -> float:
        """Distance from the box to a point, 0 inside."""
        dx = max(0.0, abs(x - self.x) - self.width / 2)
        dy = max(0.0, abs(y - self.y) - self.height / 2)
        return math.hypot(dx, dy)


def place_labels(placement: Placement, routes: Sequence[Route]) -> list[Label]:
    """Returns a label for every route, in the same order.

    Short arrows have the least choice, so they choose first.
    """
    placed: dict[int, Label] = {}
    order = sorted(range(len(routes)), key=lambda i: (np.ptp(routes[i].points, axis=0).sum().round(3), i))
    lines = [r.points for r in routes]
    begin, tip = start_line(placement)
    entry = np.linspace(begin, tip, 8)
    for i in order:
        others = np.vstack([entry, *(line for j, line in enumerate(lines) if j != i)])
        placed[i] = _best(placement, routes[i], list(placed.values()), others)
    return [placed[i] for i in range(len(routes))]


def _best(placement: Placement, route: Route, placed: Sequence[Label], others: Floats) -> Label:
    best: Label | None = None
    best_cost = math.inf
    for label, effort in _candidates(placement, route):
        cost = effort + _OVERLAP_COST * sum(label.overlaps(other) for other in placed)
        cost += _OVERLAP_COST * len(states_under(placement, label))
        cost += 6.0 * _points_inside(label, others) + 9.0 * _points_inside(label, route.points)
        # A label that is nearly as close to a foreign arrow as to its own is read wrongly.
        cost += 1.5 * _points_inside(label, others, margin=5.0)
        if cost < best_cost:
            best, best_cost = label, cost
    if best is None:
        raise AssertionError(f"no candidate place for the label of {route.arrow}")
    return best


def _candidates(placement: Placement, route: Route) -> list[tuple[Label, float]]:
    alphabet = placement.diagram.dfa.alphabet
    text = letters_label(alphabet, route.arrow.letters)
    width, height = text_width(text) + 4, LINE_HEIGHT
    points = route.points
    found = []
    for part in _PLACES:
        i = min(max(1, round(part * (len(points) - 1))), len(points) - 2)
        direction = points[i + 1] - points[i - 1]
        normal = np.array([direction[1], -direction[0]]) / max(1e-9, float(np.hypot(*direction)))
        reach = (abs(normal[0]) * width + abs(normal[1]) * height) / 2
        for side in (1.0, -1.0):
            for distance in (2.0, 7.0):
                x, y = points[i] + side * (reach + distance) * normal
                label = Label(
                    text=text, letters=route.arrow.letters, x=float(x), y=float(y), width=width, height=height
                )
                below = 1.5 if side * normal[1] > 0 else 0.0
                found.append((label, 12 * abs(part - 0.5) + (distance - 2) + below))
    return found


def states_under(placement: Placement, label: Label, *, margin: float = 2.0) -> list[int]:
    """Returns the states whose circle, with a margin, meets the label's box."""
    return [q for q, (x, y) in placement.centre.items() if label.gap_to(x, y) < placement.radius[q] + margin]


def _points_inside(label: Label, points: Floats, *, margin: float = 0.0) -> int:
    inside = (np.abs(points[:, 0] - label.x) < label.width / 2 + 1 + margin) & (
        np.abs(points[:, 1] - label.y) < label.height / 2 - 1 + margin
    )
    return int(inside.sum())
