"""Repair of trained networks: the shortest failing word, and training that goes on with it."""

from nerode.analysis.repair.search import FailureSearch, RepairSettings, find_failing_word, repair

__all__ = ["FailureSearch", "RepairSettings", "find_failing_word", "repair"]
