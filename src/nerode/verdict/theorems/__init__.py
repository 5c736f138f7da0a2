"""The theorem table: one row a result. `THEOREMS` holds all of them by name."""

from nerode.verdict.theorems import attention, groups, nonlinear, reflections, robustness, star_free, windows
from nerode.verdict.theorems.base import THEOREMS, Theorem

__all__ = ["THEOREMS", "Theorem", "attention", "groups", "nonlinear"]
__all__ += ["reflections", "robustness", "star_free", "windows"]
