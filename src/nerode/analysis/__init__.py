"""Analyses of networks: spectrum, memory, states, the automaton that was learned, proofs, repair.

Open `examination` first: what `nerode analyse` computes. `subject` loads the network that is looked at.
"""

from nerode.analysis.answers import answer_words
from nerode.analysis.aspects.metric_automata import metric
from nerode.analysis.examination import ANALYSIS_PARTS, AnalysisOptions, analyse
from nerode.analysis.imported_runs import score_import
from nerode.analysis.own_models import require_own_models
from nerode.analysis.standing import compare_standing
from nerode.analysis.subject import LoadedNetwork, load_subject

__all__ = [
    "ANALYSIS_PARTS",
    "AnalysisOptions",
    "LoadedNetwork",
    "analyse",
    "answer_words",
    "compare_standing",
    "load_subject",
    "metric",
    "require_own_models",
    "score_import",
]
