"""The automaton that a network has learned: by clusters of its states, by queries, or exactly."""

from nerode.analysis.extraction.extraction import EXTRACTION_PARTS, Extraction, extract
from nerode.analysis.extraction.learning import HypothesisTest
from nerode.analysis.extraction.question import Kind

__all__ = [
    "EXTRACTION_PARTS",
    "Extraction",
    "HypothesisTest",
    "Kind",
    "extract",
]
