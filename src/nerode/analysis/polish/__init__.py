"""From a learned table of rotations to an exact representation of the group, and the proof of its answers."""

from nerode.analysis.polish.pipeline import PolishRecord, polish

__all__ = ["PolishRecord", "polish"]
