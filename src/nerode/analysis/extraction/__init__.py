"""The automaton that a network has learned: by clusters of its states, by queries, or exactly."""

from nerode.analysis.extraction.extraction import EXTRACTION_PARTS, Extraction, extract
from nerode.analysis.extraction.learning import HypothesisTest

__all__ = [
    "EXTRACTION_PARTS",
    "Extraction",
    "HypothesisTest",
    "extract",
]
