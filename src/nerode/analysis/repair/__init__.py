"""Repair of trained networks: the shortest failing word, and training that goes on with it."""

from nerode.analysis.repair.search import FailureSearch, find_failing_word
from nerode.analysis.repair.training import RepairSettings, repair

__all__ = ["FailureSearch", "RepairSettings", "find_failing_word", "repair"]
