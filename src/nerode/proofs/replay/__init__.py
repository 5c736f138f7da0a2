"""Replays: what checks a proof about a module, step by step; no search, no compiler; needs torch."""

from nerode.proofs.replay.bits import NOT_EMPTY, recheck as recheck_module
from nerode.proofs.replay.fading import replay_fading

__all__ = ["NOT_EMPTY", "recheck_module", "replay_fading"]
