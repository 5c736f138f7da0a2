"""States on a ring, the start at its left."""

from __future__ import annotations

import math

from nerode.report.diagram import Diagram
from nerode.report.placement import ACCEPTING_RADIUS, Placement, radii

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
