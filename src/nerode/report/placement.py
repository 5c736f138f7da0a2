"""The record between placing states and drawing arrows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nerode.report.diagram import Diagram

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
