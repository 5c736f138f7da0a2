"""Any model as a subject, the automaton that it computes, and its settlement."""

from nerode.analysis.asking.answers import ASK_PARTS, ask, settle_about
from nerode.analysis.asking.models import model, read_reading, softmax, with_language

__all__ = [
    "ASK_PARTS",
    "ask",
    "model",
    "read_reading",
    "settle_about",
    "softmax",
    "with_language",
]
