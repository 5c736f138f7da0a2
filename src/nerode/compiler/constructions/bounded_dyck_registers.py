"""Bounded Dyck(K, m) where the write vanishes when the gate is 1, so that nothing can count.

The depth is then a cascade of set-reset automata, that of one kind of brackets: m + 1 layers in place of one.
"""

from __future__ import annotations

from nerode.compiler.construction import Construction, Request, construction
from nerode.compiler.constructions.bounded_dyck import Brackets, bounded_dyck
from nerode.network import Network
from nerode.verdict import LanguageCondition, can_hold, diagonal, householder, input_dependent, linear

_several_kinds = LanguageCondition(
    "with several kinds of brackets", lambda facts: facts.language.parameters.get("k", 1) > 1
)


def compile_bounded_dyck_registers(request: Request) -> Network:
    """Returns set-reset layers for the depth, a layer of m·ceil(log2 K) bits and an error flag.

    Implements: [Sarrof2024]
    """
    brackets = Brackets(request)
    brackets.add_cascade()
    brackets.add_registers()
    brackets.add_errors()
    return brackets.network(
        NAME, f"the depth as a cascade of set-reset automata{brackets.describe()}, a flag for the first error"
    )


NAME = "bounded-dyck-registers"

construction(
    Construction(
        name=NAME,
        title="the depth by set-reset layers, registers by depth and an error flag",
        theorem="star-free-selective",
        language=bounded_dyck & _several_kinds,
        architecture=linear & (diagonal | householder) & input_dependent & can_hold,
        build=compile_bounded_dyck_registers,
    )
)
