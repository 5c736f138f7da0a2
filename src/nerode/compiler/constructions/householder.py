"""Group languages in one layer of reflections, as few a letter as a representation at hand allows."""

from __future__ import annotations

from nerode.compiler.answers import automaton_of, point_decoder
from nerode.compiler.construction import Construction, Request, construction
from nerode.compiler.representations.choice import Representation, fewest_reflections
from nerode.compiler.representations.matrices import reflection_factors
from nerode.compiler.state_layers import one_layer_network, state_layer
from nerode.core import NotCompilable, Reference
from nerode.network import ByChoice, Network
from nerode.verdict import group_language, has_minus_one, householder, linear, many_factors, one_factor

PRODUCT = "reflection-product"
SINGLE = "single-reflection"


def compile_product(request: Request) -> Network:
    """Returns the network whose letters are products of reflections, with as few factors as were found.

    The matrices are permutations of a few points (at most k - 1 reflections for k moved points), signed
    permutations (S4 as the rotations of a cube), rotations of the plane or of the icosahedron (A5), or sums
    of these. The start vector has a different image for every element of the group, and nothing is written.

    Implements: [Grazzi2025, Theorem 3], [Siems2025]

    Raises:
        NotCompilable: if the target has fewer factors than a letter needs.
    """
    dfa = automaton_of(request)
    found = fewest_reflections(dfa)
    most = request.target.properties.max_factors
    if most is not None and found.num_factors > most:
        raise NotCompilable(
            request.target.name,
            [f"{found.title}: {found.num_factors} reflections a letter, the target has {most} in a layer"],
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
        construction=PRODUCT if most is None else SINGLE,
        route=f"every letter permutes the states; one layer with {found.title}, n_h = {found.num_factors}",
        reference=_reference(found),
    )


def _reference(found: Representation) -> Reference:
    if "icosahedron" in found.title or "plane" in found.title:
        return Reference("Siems2025")
    return Reference("Grazzi2025", "Theorem 3")


construction(
    Construction(
        name=SINGLE,
        title="one reflection a letter",
        theorem="regular-by-single-reflections",
        language=group_language,
        architecture=linear & householder & has_minus_one & one_factor,
        build=compile_product,
    )
)

construction(
    Construction(
        name=PRODUCT,
        title="products of reflections",
        theorem="group-by-reflections",
        language=group_language,
        architecture=linear & householder & has_minus_one & many_factors,
        build=compile_product,
    )
)
