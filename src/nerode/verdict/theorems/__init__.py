"""The theorem table: one row per result. `THEOREMS` holds all of them by name."""

from nerode.verdict.theorems import attention, groups, nonlinear, reflections, robustness, star_free, windows
from nerode.verdict.theorems.base import THEOREMS, Theorem
from nerode.verdict.theorems.groups import parity_like
from nerode.verdict.theorems.reflections import cyclic_group

__all__ = ["THEOREMS", "Theorem", "attention", "cyclic_group", "groups", "nonlinear", "parity_like"]
__all__ += ["reflections", "robustness", "star_free", "windows"]
