"""The constructions, one file each; importing this package fills the table.

The order of the imports is the order in which the pipeline tries them: cheaper networks first.
"""

# ruff: noqa: I001
from nerode.compiler.construction import CONSTRUCTIONS as TABLE
from nerode.compiler.constructions import clock, cyclic, offset_counting
from nerode.compiler.constructions import householder, plane_reflections
from nerode.compiler.constructions import permutation, dense

__all__ = ["TABLE", "clock", "cyclic", "dense", "householder", "offset_counting", "permutation"]
__all__ += ["plane_reflections"]
