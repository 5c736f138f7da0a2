"""Replays: what checks a proof about a module, step by step; no search, no compiler; needs torch."""

from nerode.proofs.replay.bits import NOT_EMPTY, recheck as recheck_module
from nerode.proofs.replay.fading import replay_fading
from nerode.proofs.replay.lift import carried_claim, is_carried, require_plain, trained_network
from nerode.proofs.replay.table import Replayed, ReplaySubject, replay, replay_network, replay_weights

__all__ = [
    "NOT_EMPTY",
    "ReplaySubject",
    "Replayed",
    "carried_claim",
    "is_carried",
    "recheck_module",
    "replay",
    "replay_fading",
    "replay_network",
    "replay_weights",
    "require_plain",
    "trained_network",
]
