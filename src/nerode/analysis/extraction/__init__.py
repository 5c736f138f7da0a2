"""The automaton that a network has learned: by clusters of its states, by queries, or exactly."""

from nerode.analysis.extraction.extraction import EXTRACTION_PARTS, Extraction, extract, question_about
from nerode.analysis.extraction.learning import HypothesisTest
from nerode.analysis.extraction.moore import Moore
from nerode.analysis.extraction.question import OUTSIDE, UNASKED, Kind, finite_target, is_member

__all__ = [
    "EXTRACTION_PARTS",
    "OUTSIDE",
    "UNASKED",
    "Extraction",
    "HypothesisTest",
    "Kind",
    "Moore",
    "extract",
    "finite_target",
    "is_member",
    "question_about",
]
