"""Group languages by reflections: products in one layer, or two layers of single reflections.

Two layers of single reflections do cyclic and dihedral groups: a parity, then mirrors of the plane. A mirror
is given by a whole number j: it takes the angle x to j - x, angles in units of π/m. A letter that turns the
plane by 2k units is no mirror, but together with the fixed mirror F of j = 1 it is one. So the second layer
holds the vector of the group element, mirrored by F after an odd number of turning letters, and the first
layer counts these modulo two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nerode.compiler.construction import Construction, Request
from nerode.compiler.constructions.cyclic import MOST_TURNS, turns_of
from nerode.compiler.group_representations import Representation, fewest_reflections, whole_reflections
from nerode.compiler.level_codings import MOST_FACTORS, mirror_factor
from nerode.compiler.network_builder import LayerStack, one_layer_network, point_decoder, state_layer
from nerode.compiler.rotations import LanguageGroup, dihedral_turns, reflection_factors
from nerode.core import BudgetExceeded, Exact, NotCompilable, Reference, cosine, prime_factors, sine
from nerode.languages import Dfa
from nerode.network import Affine, ByChoice, Factor, Layer, Network
from nerode.verdict import (
    group_language,
    has_minus_one,
    householder,
    linear,
    many_factors,
    one_factor,
    with_group,
)
from nerode.verdict.theorems import cyclic_group

Element = tuple[int, bool]
"""(k, False): the turn by k/m. (k, True): the mirror that takes the angle 0 to k/m of a turn."""

dihedral_group = with_group("a dihedral group language", lambda group: group.is_dihedral)


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


SINGLE_REFLECTION = Construction(
    name="single-reflection",
    title="one reflection per letter",
    theorem="regular-by-single-reflections",
    language=group_language,
    architecture=linear & householder & has_minus_one & one_factor,
    build=compile_product,
)

REFLECTION_PRODUCT = Construction(
    name="reflection-product",
    title="products of reflections",
    theorem="group-by-reflections",
    language=group_language,
    architecture=linear & householder & has_minus_one & many_factors,
    build=compile_product,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Polygon:
    """Letters as symmetries of a regular polygon with m corners.

    Attributes:
        m: number of corners.
        letters: what each letter does.
        start_angle: angle of the start vector, in units of π/(4m).
    """

    m: int
    letters: tuple[Element, ...]
    start_angle: int

    def times(self, before: Element, letter: Element) -> Element:
        """Returns what first `before` and then `letter` do."""
        (k, mirrored), (step, mirror) = before, letter
        return ((step - k) % self.m, not mirrored) if mirror else ((step + k) % self.m, mirrored)

    def angle(self, element: Element, *, hidden: bool) -> int:
        """Returns where the start vector is taken, then mirrored by F if `hidden`; in units of π/(4m)."""
        k, mirrored = element
        angle = 8 * k + (-self.start_angle if mirrored else self.start_angle)
        return 4 - angle if hidden else angle

    def mirror(self, letter: int, *, turned: bool) -> int:
        """Returns the mirror, in units of π/m, for a letter after which `turned` is the parity."""
        k, is_mirror = self.letters[letter]
        if is_mirror:
            return (2 - 2 * k if turned else 2 * k) % (2 * self.m)
        return (1 - 2 * k if turned else 1 + 2 * k) % (2 * self.m)


def compile_addition(request: Request) -> Network:
    """Returns the two layers of single reflections that add modulo m.

    The first layer is h = 1 - h, the parity of the position; the second holds the sum as an angle. The cases
    of odd and even positions are those of the theorem's statement; its proof has them exchanged.

    Implements: [Grazzi2025, Theorem 6]
    """
    dfa = request.automaton
    action = turns_of(dfa, request)
    _leave_to_swaps(request, action.order)
    letters = tuple((step, False) for step in action.steps)
    polygon = Polygon(m=action.order, letters=letters, start_angle=0)
    return _network(
        request,
        dfa,
        polygon,
        route=f"addition modulo {action.order}: the parity of the position, then reflections of the plane",
        reference=Reference("Grazzi2025", "Theorem 6"),
    )


def compile_polygon(request: Request) -> Network:
    """Returns the two layers of single reflections for the symmetries of a regular polygon.

    Implements: [Siems2025]
    """
    dfa = request.automaton
    polygon = _dihedral(dfa)
    if polygon is None:
        raise NotCompilable(request.target.name, ["the letters are not the symmetries of a regular polygon"])
    _leave_to_swaps(request, polygon.m)
    return _network(
        request,
        dfa,
        polygon,
        route=f"the symmetries of a polygon with {polygon.m} corners: the parity of the turning letters, "
        "then reflections of the plane",
        reference=Reference("Siems2025"),
    )


def _leave_to_swaps(request: Request, corners: int) -> None:
    """Raises NotCompilable where floats are to be exact and cascades of swaps are."""
    if request.options.exact_floats and max(prime_factors(corners), default=2) <= 3:
        raise NotCompilable(
            request.target.name,
            ["the mirrors of the plane are not exact in floats; those of a cascade of swaps are"],
        )


def _dihedral(dfa: Dfa) -> Polygon | None:
    try:
        group = LanguageGroup(dfa)
    except BudgetExceeded:
        return None
    found = dihedral_turns(group.table.cosets(group.table.generate(())))
    if found is None or group.table.order > 2 * MOST_TURNS:
        return None
    turns, mirrored = (np.asarray(part)[group.letters].tolist() for part in found)
    # Half-way between two mirrors, so that the images of the start vector are all different.
    return Polygon(m=group.table.order // 2, letters=tuple(zip(turns, mirrored, strict=True)), start_angle=1)


def _network(request: Request, dfa: Dfa, polygon: Polygon, *, route: str, reference: Reference) -> Network:
    stack = LayerStack(request)
    for layer in (_parity_layer(polygon), _mirror_layer(polygon, stack.stream)):
        stack.append(layer, (*stack.stream, *layer.outputs))
    states = _states(dfa, polygon)
    angles = {polygon.angle(e, hidden=hidden): q for e, q in states.items() for hidden in (False, True)}
    points = [_unit(angle, 8 * polygon.m) for angle in angles]
    decoder = point_decoder(dfa, ("h1", "h2"), points, list(angles.values()))
    return stack.network(decoder, route=route, reference=reference)


def _states(dfa: Dfa, polygon: Polygon) -> dict[Element, int]:
    """The state to which the words of each symmetry lead."""
    found: dict[Element, int] = {(0, False): dfa.start}
    queue = list(found)
    for element in queue:
        for letter, target in enumerate(dfa.transitions[found[element]].tolist()):
            product = polygon.times(element, polygon.letters[letter])
            if product not in found:
                found[product] = target
                queue.append(product)
    return found


def _parity_layer(polygon: Polygon) -> Layer:
    flip, hold = (Factor(beta=2, vector=(1,)),), ()
    return state_layer(
        "parity of turns",
        ["turned"],
        start=(0,),
        recurrence=ByChoice.from_factors(
            factors=tuple(hold if mirror else flip for _, mirror in polygon.letters),
            writes=tuple((0 if mirror else 1,) for _, mirror in polygon.letters),
        ),
    )


def _mirror_layer(polygon: Polygon, letters: tuple[str, ...]) -> Layer:
    """One reflection for each letter and parity, chosen by the units relu(letter + parity - 1) and so on."""
    n = len(letters)
    odd = tuple(((i, 1), (n, 1)) for i in range(n))
    even = tuple(((i, 1), (n, -1)) for i in range(n))
    units = Affine(num_inputs=n + 1, bias=(-1,) * n + (0,) * n, rows=odd + even)
    chosen = Affine(
        num_inputs=3 * n + 1, bias=(0,) * (2 * n), rows=tuple(((n + 1 + i, 1),) for i in range(2 * n))
    )
    mirrors = [polygon.mirror(letter, turned=turned) for turned in (True, False) for letter in range(n)]
    return state_layer(
        "mirrors",
        ["h1", "h2"],
        start=_unit(polygon.start_angle, 8 * polygon.m),
        reads=(*letters, "turned"),
        units=units,
        recurrence=ByChoice.from_factors(
            factors=tuple((mirror_factor(j, polygon.m),) for j in mirrors),
            writes=((0, 0),) * len(mirrors),
            selector=chosen,
        ),
    )


def _unit(k: int, n: int) -> tuple[Exact, Exact]:
    return cosine(k, n), sine(k, n)


PLANE_REFLECTIONS = Construction(
    name="plane-reflections",
    title="addition by two layers of reflections",
    theorem="addition-by-two-reflection-layers",
    language=cyclic_group,
    architecture=linear & householder & has_minus_one,
    build=compile_addition,
)

POLYGON_REFLECTIONS = Construction(
    name="polygon-reflections",
    title="polygons by two layers of reflections",
    theorem="regular-by-single-reflections",
    language=dihedral_group,
    architecture=linear & householder & has_minus_one & one_factor,
    build=compile_polygon,
)
