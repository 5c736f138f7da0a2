"""What is inside a network: its spectrum, its memory, its states, the automaton it learned, proofs of it."""

from nerode.analysis.examination import Options, analyse
from nerode.analysis.metric_automata import metric
from nerode.analysis.standing import compare_standing
from nerode.analysis.subject import Subject, load_subject

__all__ = ["Options", "Subject", "analyse", "compare_standing", "load_subject", "metric"]
