"""Regular languages with groups: cascades of registers, counters and permutations.

Solvable groups become counters on diagonal layers, signs for 2-groups; any group becomes products of
Householder factors.
"""

from __future__ import annotations

from collections.abc import Callable

from nerode.algebra.cascades import NotSolvable, decompose_general, decompose_solvable
from nerode.compiler.construction import Construction, Request
from nerode.compiler.level_codings import (
    MOST_FACTORS,
    num_factors,
    place_permutation,
    place_rotation,
)
from nerode.compiler.level_layers import (
    MachineLayers,
    add_mirrors,
    add_position_parity,
)
from nerode.compiler.level_machine import (
    LevelMachine,
    TabledLevel,
    in_binary,
    in_primes,
    tabulate,
    without_counter_resets,
)
from nerode.compiler.network_builder import LayerStack
from nerode.core import NotCompilable, Reference
from nerode.network import Network
from nerode.verdict import (
    can_fade,
    complex_gates,
    diagonal,
    group_language,
    has_minus_one,
    householder,
    input_dependent,
    linear,
    many_factors,
    one_factor,
    regular,
    solvable,
    two_groups,
    unit_gates,
)


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
    return _network(request, machine, route=route, key="NerodeTheory")


def compile_solvable(request: Request) -> Network:
    """Returns diagonal layers with roots of unity as gates for a language whose groups are all solvable.

    Depth is the length of the chain of levels: for a group language the derived length of the group.

    Implements: [Shakerinava2026], [KrohnRhodes1965]
    """
    machine, route = solvable_levels(request)
    return _network(request, machine, route=route, key="Shakerinava2026")


def solvable_levels(request: Request) -> tuple[LevelMachine, str]:
    """Returns the language as registers and counters, and how they were found.

    Raises:
        NotCompilable: if a group is not solvable.
    """
    dfa = request.automaton
    try:
        cascade = request.once("solvable cascade", lambda: decompose_solvable(dfa, request.options.budget))
    except NotSolvable as refusal:
        raise NotCompilable(request.target.name, [str(refusal)]) from None
    machine = request.once("solvable machine", lambda: tabulate(cascade, dfa, request.options.budget))
    return machine, cascade.route


def _network(request: Request, machine: LevelMachine, *, route: str, key: str) -> Network:
    stack = LayerStack(request)
    layers = MachineLayers(stack, machine)
    layers.add_all()
    return stack.network(layers.decoder(), route=f"{route}: {describe(machine)}", reference=Reference(key))


def describe(machine: LevelMachine) -> str:
    """Returns the levels of a machine in words, depth by depth."""

    def text(level: TabledLevel) -> str:
        return f"mod {level.num_labels}" if level.kind == "cyclic" else f"{level.kind} of {level.num_labels}"

    depths = (machine.at(depth) for depth in range(1, machine.depth + 1))
    return " | ".join(", ".join(text(machine.levels[i]) for i in numbers) for numbers in depths)


TWO_GROUP_CASCADE = Construction(
    name="two-group-cascade",
    title="registers and signs",
    theorem="signs-do-two-groups",
    language=two_groups,
    architecture=linear & (diagonal | householder) & input_dependent & has_minus_one & can_fade,
    build=compile_two_groups,
)

SOLVABLE_CASCADE = Construction(
    name="solvable-cascade",
    title="registers and roots of unity",
    theorem="complex-diagonal-solvable",
    language=solvable,
    architecture=linear & diagonal & input_dependent & complex_gates & can_fade,
    build=compile_solvable,
)

UNITARY_CASCADE = Construction(
    name="unitary-cascade",
    title="roots of unity, without registers",
    theorem="unitary-solvable-groups",
    language=group_language & solvable,
    architecture=linear & diagonal & input_dependent & unit_gates,
    build=compile_solvable,
)


def compile_products(request: Request) -> Network:
    """Returns layers of registers and signs, and one layer of Householder factors for each other level.

    A counter modulo m is a vector of the plane that two reflections turn, or the one-hot vector of its label
    where that needs no more factors; other permutations are swaps of one-hot coordinates. A reset clears the
    coordinates one by one, β = 1, and writes the new label. Levels read the labels before the letter, which
    the printed proof passes on after it. Where floats are to be exact, counters are split into those modulo
    primes, one-hot unless they need very many factors, and modulo 4, whose turns are whole numbers.

    Implements: [Grazzi2025, Theorem 4]
    """
    dfa = request.automaton
    cascade = request.once("cascade", lambda: decompose_general(dfa, request.options.budget))
    machine = request.once("machine of the cascade", lambda: tabulate(cascade, dfa, request.options.budget))
    exact = request.options.exact_floats
    if exact:
        machine = in_primes(machine, request.options.budget)
    stack = LayerStack(request)
    layers = MachineLayers(stack, machine)

    def add_alone(layers: MachineLayers, number: int) -> None:
        one_hot = _is_one_hot(machine.levels[number], exact=exact)
        layers.add_alone(number, place_permutation if one_hot else place_rotation)

    _add_levels(layers, add_alone)
    return _finish(request, stack, layers, cascade.route, Reference("Grazzi2025", "Theorem 4"))


def compile_mirrors(request: Request) -> Network:
    """Returns layers with one factor per letter for a language whose groups are all solvable.

    Registers and signs are held under one key each. A counter modulo m > 2 is a vector of the plane that is
    mirrored at every letter; one that is also reset is split into a counter that is not and a register. Where
    floats are to be exact, counters are split into those modulo primes, and one modulo 3 or 4 has mirrors
    that are whole numbers.

    Implements: [Siems2025], [NerodeTheory]

    Raises:
        NotCompilable: if a group is not solvable.
    """
    machine, route = solvable_levels(request)
    if request.options.exact_floats:
        machine = in_primes(machine, request.options.budget)
    machine = without_counter_resets(machine, request.options.budget)
    stack = LayerStack(request)
    layers = MachineLayers(stack, machine)
    if any(not _is_diagonal(level) for level in machine.levels):
        add_position_parity(stack)
    _add_levels(layers, add_mirrors)
    return _finish(request, stack, layers, route, Reference("Siems2025"))


def _add_levels(layers: MachineLayers, add_alone: Callable[[MachineLayers, int], None]) -> None:
    """Adds all levels, depth by depth: diagonal ones share a layer, the others have layers of their own."""
    machine = layers.machine
    for depth in range(1, machine.depth + 1):
        numbers = machine.at(depth)
        layers.add_together([i for i in numbers if _is_diagonal(machine.levels[i])], depth)
        for number in numbers:
            if not _is_diagonal(machine.levels[number]):
                add_alone(layers, number)


def _is_diagonal(level: TabledLevel) -> bool:
    return level.kind == "reset" or (level.kind == "cyclic" and level.num_labels == 2)


def _is_one_hot(level: TabledLevel, *, exact: bool) -> bool:
    most = MOST_FACTORS if exact and level.num_labels != 4 else 2
    return level.kind == "permutation" or num_factors(level, as_permutation=True) <= most


def _finish(
    request: Request,
    stack: LayerStack,
    layers: MachineLayers,
    route: str,
    reference: Reference,
) -> Network:
    decoder = layers.decoder()
    most = max(
        (n for x in stack.layers if (n := x.recurrence.most_factors) is not None),
        default=1,
    )
    return stack.network(
        decoder,
        route=f"{route}: {describe(layers.machine)}; n_h = {most}",
        reference=reference,
    )


HOUSEHOLDER_CASCADE = Construction(
    name="householder-cascade",
    title="registers, counters and permutations by Householder factors",
    theorem="regular-by-householder-products",
    language=regular,
    architecture=linear & householder & has_minus_one & many_factors,
    build=compile_products,
)

MIRROR_CASCADE = Construction(
    name="mirror-cascade",
    title="registers, signs and mirrors, one factor per letter",
    theorem="regular-by-single-reflections",
    language=solvable,
    architecture=linear & householder & has_minus_one & one_factor,
    build=compile_mirrors,
)
