"""Replays: what checks a proof about a module, step by step; no search, no compiler; needs torch."""

from nerode.proofs.replay.bits import recheck as recheck_module
from nerode.proofs.replay.fading import replay_fading
from nerode.proofs.replay.lift import carried_claim, require_plain, trained_network
from nerode.proofs.replay.softmax import outward_decoder
from nerode.proofs.replay.subject import Subject, make_subject, open_subject
from nerode.proofs.replay.table import (
    Replayed,
    is_proof,
    replay_network,
    replay_settled,
    replay_weights,
)

__all__ = [
    "Replayed",
    "Subject",
    "carried_claim",
    "is_proof",
    "make_subject",
    "open_subject",
    "outward_decoder",
    "recheck_module",
    "replay_fading",
    "replay_network",
    "replay_settled",
    "replay_weights",
    "require_plain",
    "trained_network",
]
