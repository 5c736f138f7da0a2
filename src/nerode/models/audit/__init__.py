"""Audits: a layer of another library beside ours, with the same weights, forward and backward."""

from nerode.models.audit.comparison import (
    LENGTHS,
    TOLERANCES,
    Audit,
    Comparison,
    Gap,
    PositionGap,
    all_peers,
    audit_layer,
    audit_peer,
    compare,
    keep_float64,
)
from nerode.models.audit.peer import Match, Pair, Peer, give_weights, match_weights

__all__ = [
    "LENGTHS",
    "TOLERANCES",
    "Audit",
    "Comparison",
    "Gap",
    "Match",
    "Pair",
    "Peer",
    "PositionGap",
    "all_peers",
    "audit_layer",
    "audit_peer",
    "compare",
    "give_weights",
    "keep_float64",
    "match_weights",
]
