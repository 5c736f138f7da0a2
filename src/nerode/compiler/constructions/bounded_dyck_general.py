"""Bounded Dyck(K, m) on recurrences that could run any automaton, but not one with K^m states.

Diagonal layers are a special case of permutation-diagonal and of dense ones.
"""

from __future__ import annotations

from functools import partial

from nerode.compiler.construction import Construction, construction
from nerode.compiler.constructions.bounded_dyck import bounded_dyck, compile_bounded_dyck
from nerode.verdict import (
    can_hold,
    dense,
    free_write,
    input_dependent,
    linear,
    permutation_diagonal,
    plain_state,
)

for _kind, _theorem, _transition in (
    ("permutation-diagonal", "regular-by-permutation-diagonal", permutation_diagonal),
    ("dense", "regular-by-dense-matrices", dense),
):
    construction(
        Construction(
            name=f"bounded-dyck-{_kind}",
            title="depth counter, registers by depth and an error flag",
            theorem=_theorem,
            language=bounded_dyck,
            architecture=linear & _transition & input_dependent & can_hold & free_write & plain_state,
            build=partial(compile_bounded_dyck, name=f"bounded-dyck-{_kind}"),
        )
    )
