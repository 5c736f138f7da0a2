"""What is inside a network: its spectrum, its memory, its states, the automaton it learned, proofs of it."""

from nerode.analysis.examination import AnalysisOptions, analyse
from nerode.analysis.metric_automata import metric
from nerode.analysis.standing import compare_standing
from nerode.analysis.subject import LoadedNetwork, load_subject

__all__ = ["AnalysisOptions", "LoadedNetwork", "analyse", "compare_standing", "load_subject", "metric"]
