"""Settling: each network ends proved at every length, refuted by a word, or unsettled with what is known."""

from nerode.analysis.settle.keeping import (
    confirmed_settlement,
    fails_again,
    replay_settlement,
    settle_folder,
    settled_or_new,
)
from nerode.analysis.settle.settling import settle_task
from nerode.proofs.floats import SettleSettings

__all__ = [
    "SettleSettings",
    "confirmed_settlement",
    "fails_again",
    "replay_settlement",
    "settle_folder",
    "settle_task",
    "settled_or_new",
]
