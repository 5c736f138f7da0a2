"""The theorem table: one row per result. `THEOREMS` holds all of them by name."""

from nerode.core import Registry, add_plugins
from nerode.verdict.theorems import attention, counting, fixed_gates, floats, groups, softmax, star_free
from nerode.verdict.theorems.base import Theorem
from nerode.verdict.theorems.fixed_gates import sign_group
from nerode.verdict.theorems.groups import cyclic_group, parity_like

THEOREMS: Registry[Theorem] = Registry("theorem")

for _rows in (
    groups.ROWS,
    attention.ROWS,
    counting.ROWS,
    fixed_gates.ROWS,
    floats.ROWS,
    floats.NOISE_ROWS,
    softmax.ROWS,
    star_free.ROWS,
    fixed_gates.WINDOW_ROWS,
):
    for _row in _rows:
        THEOREMS.add(_row.name, _row)

add_plugins("theorems", THEOREMS, Theorem)

__all__ = ["THEOREMS", "Theorem", "cyclic_group", "parity_like", "sign_group"]
