"""The constructions, one file each; importing this package fills the table.

The order of the imports is the order in which the pipeline tries them: cheaper networks first.
"""

# ruff: noqa: I001
from nerode.compiler.construction import CONSTRUCTIONS as TABLE
from nerode.compiler.constructions import ngrams
from nerode.compiler.constructions import flip_flop, past_ltl, windows
from nerode.compiler.constructions import bounded_dyck, counters
from nerode.compiler.constructions import star_free, bounded_dyck_registers, window_parts
from nerode.compiler.constructions import cyclic, clock, offset_counting
from nerode.compiler.constructions import householder, plane_reflections
from nerode.compiler.constructions import solvable, clocked, householder_cascade
from nerode.compiler.constructions import permutation, dense, bounded_dyck_general
from nerode.compiler.constructions import elman, gated_cells

__all__ = ["TABLE", "clock", "cyclic", "dense", "householder", "offset_counting", "permutation"]
__all__ += ["clocked", "householder_cascade", "plane_reflections", "solvable"]
__all__ += ["bounded_dyck", "bounded_dyck_registers", "counters", "flip_flop", "past_ltl", "star_free"]
__all__ += ["bounded_dyck_general", "elman", "gated_cells", "ngrams", "window_parts", "windows"]
