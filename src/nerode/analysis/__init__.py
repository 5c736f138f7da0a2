"""Analyses of networks: spectrum, memory, states, the automaton that was learned, proofs, repair.

Open `examination` first: what `nerode analyse` computes. `subject` loads the network that is looked at.
"""

from nerode.analysis.aspects.metric_automata import metric
from nerode.analysis.examination import ANALYSIS_PARTS, AnalysisOptions, analyse
from nerode.analysis.probes import answer_words
from nerode.analysis.settle.repairing import FailureSearch, RepairSettings, find_failing_word, repair
from nerode.analysis.standing import compare_standing
from nerode.analysis.subject import LoadedNetwork, load_subject, require_own_models, score_import

__all__ = [
    "ANALYSIS_PARTS",
    "AnalysisOptions",
    "FailureSearch",
    "LoadedNetwork",
    "RepairSettings",
    "analyse",
    "answer_words",
    "compare_standing",
    "find_failing_word",
    "load_subject",
    "metric",
    "repair",
    "require_own_models",
    "score_import",
]
