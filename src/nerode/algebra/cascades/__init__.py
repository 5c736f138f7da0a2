"""Decompositions of automata into cascades of set-reset automata, counters and permutation groups."""

from nerode.algebra.cascades.commands import HOLD, Add, Command, Permute, Reset
from nerode.algebra.cascades.lookups import Lookup, Source
from nerode.algebra.cascades.portfolio import decompose
from nerode.algebra.cascades.records import Cascade, Configuration, Level
from nerode.algebra.cascades.refusals import NotCounterFree, NotSolvable
from nerode.algebra.cascades.solvable import decompose_general, decompose_solvable

__all__ = [
    "HOLD",
    "Add",
    "Cascade",
    "Command",
    "Configuration",
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
]
