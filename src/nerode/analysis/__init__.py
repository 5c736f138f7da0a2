"""Analyses of networks: spectrum, memory, states, the automaton that was learned, proofs, repair."""

from nerode.analysis.aspects.metric_automata import metric
from nerode.analysis.examination import AnalysisOptions, analyse
from nerode.analysis.standing import compare_standing
from nerode.analysis.subject import LoadedNetwork, load_subject

__all__ = ["AnalysisOptions", "LoadedNetwork", "analyse", "compare_standing", "load_subject", "metric"]
