"""A finished drawing of an automaton, as numbers: places, ways, labels and the box around them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nerode.languages import Dfa
from nerode.report.diagram import Diagram
from nerode.report.labelling import Label, place_labels, states_under
from nerode.report.layout import place
from nerode.report.placement import Placement
from nerode.report.routing import Route, route, start_line

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
        """How many labels lie on a state or on another label."""
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
