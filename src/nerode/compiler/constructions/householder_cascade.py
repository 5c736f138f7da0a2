"""Any regular language by Householder factors: a cascade of registers, counters and permutations."""

from __future__ import annotations

from nerode.algebra.cascades import decompose_general
from nerode.compiler.answers import automaton_of
from nerode.compiler.assembly import Assembly
from nerode.compiler.construction import Construction, Request, construction
from nerode.compiler.constructions.solvable import describe, solvable_levels
from nerode.compiler.levels.codings import num_factors, place_permutation, place_rotation
from nerode.compiler.levels.layers import MachineLayers
from nerode.compiler.levels.machine import LevelMachine, TabledLevel, tabulate, without_counter_resets
from nerode.compiler.levels.mirrors import add_mirrors, add_position_parity
from nerode.core import Reference
from nerode.network import Network
from nerode.verdict import has_minus_one, householder, linear, many_factors, one_factor, regular, solvable

PRODUCTS = "householder-cascade"
MIRRORS = "mirror-cascade"


def compile_products(request: Request) -> Network:
    """Returns layers of registers and signs, and one layer of Householder factors for each other level.

    A counter modulo m is a vector of the plane that two reflections turn, or the one-hot vector of its label
    where that needs no more factors; other permutations are swaps of one-hot coordinates. A reset clears the
    coordinates one by one, β = 1, and writes the new label. Levels read the labels before the letter, which
    the printed proof passes on after it.

    Implements: [Grazzi2025, Theorem 4]
    """
    dfa = automaton_of(request)
    cascade = request.once("cascade", lambda: decompose_general(dfa, request.options.budget))
    machine = tabulate(cascade, dfa, request.options.budget)
    assembly = Assembly(request)
    layers = MachineLayers(assembly, machine)
    for depth in range(1, max(machine.depths, default=0) + 1):
        together, alone = _split(machine, depth)
        layers.add_together(together, depth)
        for number in alone:
            level = machine.levels[number]
            layers.add_alone(number, place_permutation if _is_one_hot(level) else place_rotation)
    return _finish(request, assembly, layers, PRODUCTS, cascade.route, Reference("Grazzi2025", "Theorem 4"))


def compile_mirrors(request: Request) -> Network:
    """Returns layers with one factor a letter for a language whose groups are all solvable.

    Registers and signs are held under one key each. A counter modulo m > 2 is a vector of the plane that is
    mirrored at every letter; one that is also reset is split into a counter that is not and a register.

    Implements: [Siems2025], [NerodeTheory]

    Raises:
        NotCompilable: if a group is not solvable.
    """
    machine, route = solvable_levels(request)
    machine = without_counter_resets(machine, request.options.budget)
    assembly = Assembly(request)
    layers = MachineLayers(assembly, machine)
    if any(not _is_diagonal(level) for level in machine.levels):
        add_position_parity(assembly)
    for depth in range(1, max(machine.depths, default=0) + 1):
        together, alone = _split(machine, depth)
        layers.add_together(together, depth)
        for number in alone:
            add_mirrors(layers, number)
    return _finish(request, assembly, layers, MIRRORS, route, Reference("Siems2025"))


def _split(machine: LevelMachine, depth: int) -> tuple[list[int], list[int]]:
    """The levels of a depth that share a diagonal layer, and those that have layers of their own."""
    numbers = [i for i, d in enumerate(machine.depths) if d == depth]
    return (
        [i for i in numbers if _is_diagonal(machine.levels[i])],
        [i for i in numbers if not _is_diagonal(machine.levels[i])],
    )


def _is_diagonal(level: TabledLevel) -> bool:
    return level.kind == "reset" or (level.kind == "cyclic" and level.num_labels == 2)


def _is_one_hot(level: TabledLevel) -> bool:
    return level.kind == "permutation" or num_factors(level, as_permutation=True) <= 2


def _finish(
    request: Request,
    assembly: Assembly,
    layers: MachineLayers,
    construction: str,
    route: str,
    reference: Reference,
) -> Network:
    decoder = layers.decoder()
    most = max(
        (n for x in assembly.layers if (n := x.recurrence.most_factors) is not None),
        default=1,
    )
    return assembly.network(
        decoder,
        construction=construction,
        route=f"{route}: {describe(layers.machine)}; n_h = {most}",
        reference=reference,
    )


construction(
    Construction(
        name=PRODUCTS,
        title="registers, counters and permutations by Householder factors",
        theorem="regular-by-householder-products",
        language=regular,
        architecture=linear & householder & has_minus_one & many_factors,
        build=compile_products,
    )
)

construction(
    Construction(
        name=MIRRORS,
        title="registers, signs and mirrors, one factor a letter",
        theorem="regular-by-single-reflections",
        language=solvable,
        architecture=linear & householder & has_minus_one & one_factor,
        build=compile_mirrors,
    )
)
