"""The automaton that a network has learned: by clusters of its states, by queries, or exactly."""

from nerode.analysis.extraction.extraction import Extraction, extract, question_about
from nerode.analysis.extraction.moore import Moore
from nerode.analysis.extraction.probing import Probe
from nerode.analysis.extraction.question import OUTSIDE, UNASKED, Kind, Question, is_member

__all__ = [
    "OUTSIDE",
    "UNASKED",
    "Extraction",
    "Kind",
    "Moore",
    "Probe",
    "Question",
    "extract",
    "is_member",
    "question_about",
]
