"""Analyses of networks: spectrum, memory, states, the automaton that was learned, proofs.

Open `examination` first: what `nerode analyse` computes. `subject` loads the network that is looked at.
"""

from nerode.analysis.aspects.metric_automata import metric
from nerode.analysis.aspects.same_bits import same_bits
from nerode.analysis.examination import ANALYSIS_PARTS, AnalysisOptions, analyse
from nerode.analysis.mending import choose_method, given_module, mend
from nerode.analysis.probes import answer_words, read_word
from nerode.analysis.recipes import has_recipe, needs_depth, recipe
from nerode.analysis.standing import compare_standing
from nerode.analysis.subject import (
    LoadedNetwork,
    imported_task,
    load_subject,
    require_own_models,
    score_import,
)

__all__ = [
    "ANALYSIS_PARTS",
    "AnalysisOptions",
    "LoadedNetwork",
    "analyse",
    "answer_words",
    "choose_method",
    "compare_standing",
    "given_module",
    "has_recipe",
    "imported_task",
    "load_subject",
    "mend",
    "metric",
    "needs_depth",
    "read_word",
    "recipe",
    "require_own_models",
    "same_bits",
    "score_import",
]
