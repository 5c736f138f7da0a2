"""Group languages by products of reflections in one layer."""

from __future__ import annotations

from nerode.compiler.construction import Construction, Request
from nerode.compiler.group_representations import Representation, fewest_reflections, whole_reflections
from nerode.compiler.level_codings import MOST_FACTORS
from nerode.compiler.network_builder import one_layer_network, point_decoder, state_layer
from nerode.compiler.rotations import reflection_factors
from nerode.core import NotCompilable, Reference
from nerode.network import ByChoice, Network
from nerode.verdict import (
    group_language,
    has_minus_one,
    householder,
    linear,
    many_factors,
)


def compile_product(request: Request) -> Network:
    """Returns the network whose letters are products of reflections, with as few factors as were found.

    The matrices are permutations of a few points (at most k - 1 reflections for k moved points), signed
    permutations (S4 as the rotations of a cube), rotations of the plane or of the icosahedron (A5), or sums
    of these. The start vector has a different image for every element of the group, and nothing is written.
    Where floats are to be exact, whole numbers are preferred: swaps of coordinates and changes of sign.

    Implements: [Grazzi2025, Theorem 3], [Siems2025]

    Raises:
        NotCompilable: if the target has fewer factors than a letter needs.
    """
    dfa = request.automaton
    found = fewest_reflections(dfa)
    most = request.target.properties.max_factors
    if request.options.exact_floats and (whole := whole_reflections(dfa)).num_factors <= (
        most or MOST_FACTORS
    ):
        found = whole
    if most is not None and found.num_factors > most:
        raise NotCompilable(
            request.target.name,
            [f"{found.title}: {found.num_factors} reflections per letter, the target has {most} in a layer"],
        )
    names = [f"q={q}" if found.on_states else f"h{q + 1}" for q in range(found.dimension)]
    layer = state_layer(
        "reflections",
        names,
        start=found.points[0],
        recurrence=ByChoice.from_factors(
            factors=tuple(reflection_factors(matrix) for matrix in found.matrices),
            writes=((0,) * found.dimension,) * dfa.num_letters,
        ),
    )
    return one_layer_network(
        request,
        layer,
        point_decoder(dfa, names, found.points, found.states),
        route=f"every letter permutes the states; one layer with {found.title}, n_h = {found.num_factors}",
        reference=_reference(found),
    )


def _reference(found: Representation) -> Reference:
    if "icosahedron" in found.title or "plane" in found.title:
        return Reference("Siems2025")
    return Reference("Grazzi2025", "Theorem 3")


REFLECTION_PRODUCT = Construction(
    name="reflection-product",
    title="products of reflections",
    theorem="group-by-reflections",
    language=group_language,
    architecture=linear & householder & has_minus_one & many_factors,
    build=compile_product,
)
