"""Polishing: learned rotations become a representation of their group, with a proof of all answers."""

from nerode.analysis.polish.polishing import PolishRecord, polish

__all__ = ["PolishRecord", "polish"]
