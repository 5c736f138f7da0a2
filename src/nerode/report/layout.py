"""Where the states of a diagram stand: in layers, or on a ring when layers would tangle."""

from __future__ import annotations

from nerode.report.diagram import Diagram
from nerode.report.layers import place_in_layers
from nerode.report.placement import Placement
from nerode.report.ring import place_on_ring

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
