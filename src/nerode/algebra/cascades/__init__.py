"""Decompositions of automata into cascades of set-reset automata, counters and permutation groups."""

from nerode.algebra.cascades.abelian import NotSolvable
from nerode.algebra.cascades.decomposition import (
    NotCounterFree,
    decompose,
    decompose_general,
    decompose_solvable,
)
from nerode.algebra.cascades.formula import dfa_to_formula
from nerode.algebra.cascades.lookups import Lookup, Source
from nerode.algebra.cascades.records import HOLD, Add, Cascade, Command, Level, Permute, Reset

__all__ = [
    "HOLD",
    "Add",
    "Cascade",
    "Command",
    "Level",
    "Lookup",
    "NotCounterFree",
    "NotSolvable",
    "Permute",
    "Reset",
    "Source",
    "decompose",
    "decompose_general",
    "decompose_solvable",
    "dfa_to_formula",
]
