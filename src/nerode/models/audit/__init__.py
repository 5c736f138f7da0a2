"""Audits: a layer of another library beside ours, with the same weights, forward and backward."""

from nerode.models.audit.audit import LENGTHS, Audit, audit_layer, audit_peer
from nerode.models.audit.comparison import TOLERANCES, Comparison, compare
from nerode.models.audit.detours import keep_float64
from nerode.models.audit.gap import Gap, PositionGap
from nerode.models.audit.matching import Match, give_weights, match_weights
from nerode.models.audit.peer import PEERS, Pair, Peer, all_peers

__all__ = [
    "LENGTHS",
    "PEERS",
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
