"""The theorem table: one row per result. `THEOREMS` holds all of them by name."""

from nerode.core import add_plugins
from nerode.verdict.theorems import (
    attention,
    counting,
    fixed_gates,
    floats,
    groups,
    robustness,
    softmax,
    star_free,
    windows,
)
from nerode.verdict.theorems.base import THEOREMS, Theorem
from nerode.verdict.theorems.fixed_gates import sign_group
from nerode.verdict.theorems.groups import cyclic_group, parity_like

add_plugins("theorems", THEOREMS, Theorem)

__all__ = [
    "THEOREMS",
    "Theorem",
    "attention",
    "counting",
    "cyclic_group",
    "fixed_gates",
    "floats",
    "groups",
    "parity_like",
    "robustness",
    "sign_group",
    "softmax",
    "star_free",
    "windows",
]
