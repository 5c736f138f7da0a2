"""Regular languages with solvable groups: cascades of registers and counters as diagonal layers."""

from __future__ import annotations

from nerode.algebra.cascades import NotSolvable, decompose_solvable
from nerode.compiler.answers import automaton_of
from nerode.compiler.assembly import Assembly
from nerode.compiler.construction import Construction, Request, construction
from nerode.compiler.levels.layers import MachineLayers
from nerode.compiler.levels.machine import LevelMachine, in_binary, tabulate, without_counter_resets
from nerode.core import NotCompilable, Reference
from nerode.network import Network
from nerode.verdict import (
    complex_gates,
    diagonal,
    has_minus_one,
    householder,
    input_dependent,
    linear,
    solvable,
    two_groups,
)

SIGNS = "two-group-cascade"
TURNS = "solvable-cascade"


def compile_two_groups(request: Request) -> Network:
    """Returns diagonal layers with gates -1, 0 and 1 for a language whose groups are all 2-groups.

    A counter modulo 2, 4, 8 … becomes its binary digits, each a sign that flips. A layer of Householder
    factors holds each coordinate under a key of its own, with β = 1 - gate. Without resets of signs a gate is
    1 and -1, or 1 and 0.

    Implements: [NerodeTheory]

    Raises:
        NotCompilable: if some group has odd elements, which real gates cannot count.
    """
    machine, route = solvable_levels(request)
    machine = in_binary(machine, request.options.budget)
    odd = [level.num_labels for level in machine.levels if level.kind == "cyclic" and level.num_labels > 2]
    if odd:
        raise NotCompilable(
            request.target.name, [f"a counter modulo {odd[0]} is needed, and real gates count modulo 2 only"]
        )
    if not request.options.sign_resets:
        machine = without_counter_resets(machine, request.options.budget, modulus=2)
    return _network(request, machine, construction=SIGNS, route=route, key="NerodeTheory")


def compile_solvable(request: Request) -> Network:
    """Returns diagonal layers with roots of unity as gates for a language whose groups are all solvable.

    Depth is the length of the chain of levels: for a group language the derived length of the group.

    Implements: [Shakerinava2026], [KrohnRhodes1965]
    """
    machine, route = solvable_levels(request)
    return _network(request, machine, construction=TURNS, route=route, key="Shakerinava2026")


def solvable_levels(request: Request) -> tuple[LevelMachine, str]:
    """Returns the language as registers and counters, and how they were found.

    Raises:
        NotCompilable: if a group is not solvable.
    """
    dfa = automaton_of(request)
    try:
        cascade = request.once("solvable cascade", lambda: decompose_solvable(dfa, request.options.budget))
    except NotSolvable as refusal:
        raise NotCompilable(request.target.name, [str(refusal)]) from None
    return tabulate(cascade, dfa, request.options.budget), cascade.route


def _network(request: Request, machine: LevelMachine, *, construction: str, route: str, key: str) -> Network:
    assembly = Assembly(request)
    layers = MachineLayers(assembly, machine)
    for depth in range(1, max(machine.depths, default=0) + 1):
        layers.add_together([i for i, d in enumerate(machine.depths) if d == depth], depth)
    return assembly.network(
        layers.decoder(),
        construction=construction,
        route=f"{route}: {describe(machine)}",
        reference=Reference(key),
    )


def describe(machine: LevelMachine) -> str:
    """Returns the levels of a machine in words, depth by depth."""
    depths = []
    for depth in range(1, max(machine.depths, default=0) + 1):
        names = [
            f"mod {level.num_labels}" if level.kind == "cyclic" else f"{level.kind} of {level.num_labels}"
            for level, d in zip(machine.levels, machine.depths, strict=True)
            if d == depth
        ]
        depths.append(", ".join(names))
    return " | ".join(depths)


construction(
    Construction(
        name=SIGNS,
        title="registers and signs",
        theorem="signs-do-two-groups",
        language=two_groups,
        architecture=linear & (diagonal | householder) & input_dependent & has_minus_one,
        build=compile_two_groups,
    )
)

construction(
    Construction(
        name=TURNS,
        title="registers and roots of unity",
        theorem="complex-diagonal-solvable",
        language=solvable,
        architecture=linear & diagonal & input_dependent & complex_gates,
        build=compile_solvable,
    )
)
