"""Any automaton by contractions alone: factors I - β v vᵀ/(vᵀ v) with β in [0,1], in exact arithmetic.

The state is a fading number times a point: the one-hot vector of the automaton's state, or a point of a group
representation. A letter is a product of swaps or reflections and of mergers of two states, each times some
number below 1; further factors shrink all directions until every letter has the same number.

A reflection along k is made together with a change of sign of one more coordinate z, which is always 0. In
the plane of k and z that is -1, and here is -1 as contractions: let Y be the product of three of them, along
k, k + n z and k - n z, with one β chosen such that the trace of Y is 0. Then Y² = -det Y · 1.

To merge the state i into j, project along e_i - e_j, which takes both to (e_i + e_j)/2, then along e_i.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from fractions import Fraction

from nerode.compiler.construction import Construction, Request
from nerode.compiler.forms import direction
from nerode.compiler.group_representations import whole_reflections
from nerode.compiler.layer_builder import DecoderBuilder
from nerode.compiler.network_builder import legal_sets, one_layer_network, point_decoder, state_layer
from nerode.compiler.rotations import reflection_factors
from nerode.core import NotCompilable, Reference, charge
from nerode.languages import Dfa
from nerode.network import ByChoice, Decoder, Factor, Network
from nerode.verdict import householder, input_dependent, linear, many_factors, nonnegative, regular

_SMALL = Fraction(1, 8)
"""The share that two of three contractions leave; the third is computed."""

_MOST_FACTORS = 200_000
"""Factors of all letters together."""

Whole = tuple[int, ...]


def compile_contractions(request: Request) -> Network:
    """Returns one layer of contractions for any automaton; correct in exact arithmetic.

    Implements: [NerodeTheory], [Ballantine1970]
    """
    dfa = request.automaton
    found = whole_reflections(dfa) if request.facts.is_group_language else None
    if found is not None and not found.on_states:
        names = [f"h{i + 1}" for i in range(found.dimension)]
        start: Sequence[int] = [int(v) for v in found.points[0] if isinstance(v, int)]
        letters = [_Product(found.dimension) for _ in found.matrices]
        for product, matrix in zip(letters, found.matrices, strict=True):
            for factor in reflection_factors(matrix):
                product.reflect(tuple(int(v) for v in factor.vector if isinstance(v, int)))
        decoder: Decoder = point_decoder(dfa, names, found.points, found.states)
        how = found.title
    else:
        names = [f"q={q}" for q in range(dfa.num_states)]
        start = [int(q == dfa.start) for q in range(dfa.num_states)]
        letters = [_Product(dfa.num_states) for _ in range(dfa.num_letters)]
        for product, column in zip(letters, dfa.transitions.T.tolist(), strict=True):
            product.move(column, request)
        decoder = _decoder(dfa, names)
        how = "swaps and mergers of states"
    share = min(product.share for product in letters)
    layer = state_layer(
        "contractions",
        [*names, "zero", "scale"],
        start=(*start, 0, 1),
        recurrence=ByChoice.from_factors(
            factors=tuple(product.shrunk_to(share) for product in letters),
            writes=((0,) * (len(names) + 2),) * dfa.num_letters,
        ),
    )
    most = layer.recurrence.most_factors
    return one_layer_network(
        request,
        layer,
        decoder,
        route=f"one layer with {how} as contractions, n_h = {most}; the state fades, its direction is read: "
        "correct in exact arithmetic",
        reference=Reference("NerodeTheory"),
    )


def _decoder(dfa: Dfa, names: Sequence[str]) -> Decoder:
    """The sum of what is legal in each state, compared with half of the number that fades."""
    legal = legal_sets(dfa)
    decoder = DecoderBuilder([*names, "scale"], dfa.num_letters)
    decoder.compare_with(direction("scale"))
    for name, answer in zip(names, legal, strict=True):
        decoder.add_legal(answer, direction(name))
    return decoder.build(legal[dfa.start])


class _Product:
    """The factors of one letter on n coordinates, a coordinate that is 0, and one that fades.

    Attributes:
        share: the number by which the n coordinates are multiplied beside what the letter does.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.share = Fraction(1)
        self._factors: list[Factor] = []

    def reflect(self, along: Whole) -> None:
        """Adds a reflection, and shrinks what is orthogonal to it alike."""
        three, share = minus_one(sum(v * v for v in along))
        for height, left in (*three, *three):
            self._contract((*along, height, 0), left)
        for vector in _orthogonal(along):
            self._contract((*vector, 0, 0), share)
        self.share *= share

    def merge(self, i: int, j: int) -> None:
        """Adds the map that takes the state i to j, and shrinks the others alike."""
        self._contract(tuple((k == i) - (k == j) for k in range(self.n + 2)), Fraction(0))
        self._contract(self._axis(i), Fraction(0))
        half = Fraction(1, 2)
        for k in range(self.n):
            if k not in (i, j):
                self._contract(self._axis(k), half)
        self.share *= half

    def move(self, images: Sequence[int], request: Request) -> None:
        """Adds mergers and swaps that take each state to its image.

        Raises:
            NotCompilable: if there are too many.
        """
        first: dict[int, int] = {}
        at = list(range(self.n))
        for q, image in enumerate(images):
            at[q] = first.setdefault(image, q)
            if at[q] != q:
                self.merge(q, at[q])
        # Where each representative is now, and a swap that brings it to its place.
        places = {q: q for q in first.values()}
        for image, q in first.items():
            charge()
            here = places[q]
            if here != image:
                self.reflect(tuple((k == here) - (k == image) for k in range(self.n)))
                moved = next((p for p, place in places.items() if place == image), None)
                places[q] = image
                if moved is not None:
                    places[moved] = here
            if len(self._factors) > _MOST_FACTORS // max(1, len(request.facts.language.alphabet)):
                raise NotCompilable(
                    request.target.name,
                    [f"a letter needs more factors than {_MOST_FACTORS:,} for all letters"],
                )

    def shrunk_to(self, share: Fraction) -> tuple[Factor, ...]:
        """Returns the factors, with some more so that the share is this one, and the scale has it too."""
        rest = share / self.share
        if rest != 1:
            for k in range(self.n):
                self._contract(self._axis(k), rest)
        self._contract(self._axis(self.n + 1), share)
        return tuple(self._factors)

    def _axis(self, k: int) -> Whole:
        return tuple(int(i == k) for i in range(self.n + 2))

    def _contract(self, vector: Whole, left: Fraction) -> None:
        """Adds the factor that leaves this share of a direction."""
        self._factors.append(Factor(beta=1 - left, vector=vector))


@functools.cache
def minus_one(square: int) -> tuple[tuple[tuple[int, Fraction], ...], Fraction]:
    """Returns three contractions of a plane whose product has a negative square.

    The plane is spanned by k, whose square is given, and an orthogonal z of length 1. A contraction is a pair
    of the height h, for the direction k + h z, and the share that is left of it.

    Returns:
        The three, and the number c such that all of them, twice, make -c.
    """
    height = math.isqrt(3 * square - 1) + 1  # about 60° between the directions
    others = ((height, _SMALL), (-height, _SMALL))
    right = _times(_plane(square, *others[0]), _plane(square, *others[1]))
    at = [_trace(_times(_plane(square, 0, Fraction(left)), right)) for left in (0, 1)]
    share = at[0] / (at[0] - at[1])
    return ((0, share), *others), share * _SMALL * _SMALL


_Plane = tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]


def _plane(square: int, height: int, left: Fraction) -> _Plane:
    """The contraction in coordinates of k and z."""
    norm = Fraction(square + height * height)
    rows = []
    for unit, dot in (((1, 0), square), ((0, 1), height)):
        amount = (1 - left) * dot / norm
        rows.append((unit[0] - amount, unit[1] - amount * height))
    (a, b), (c, d) = rows
    return (a, c), (b, d)


def _times(left: _Plane, right: _Plane) -> _Plane:
    (a, b), (c, d) = left
    (e, f), (g, h) = right
    return (a * e + b * g, a * f + b * h), (c * e + d * g, c * f + d * h)


def _trace(plane: _Plane) -> Fraction:
    return plane[0][0] + plane[1][1]


def _orthogonal(along: Whole) -> list[Whole]:
    """Orthogonal vectors of whole numbers that span what is orthogonal to a vector."""
    n, found = len(along), [along]
    for k in range(n):
        rest = [Fraction(int(i == k)) for i in range(n)]
        for vector in found:
            amount = Fraction(vector[k], sum(v * v for v in vector))
            rest = [r - amount * v for r, v in zip(rest, vector, strict=True)]
        if any(rest):
            size = math.lcm(*(r.denominator for r in rest))
            found.append(tuple(int(r * size) for r in rest))
    return found[1:]


CONTRACTIONS = Construction(
    name="contractions",
    title="products of contractions, in exact arithmetic",
    theorem="exact-products-of-contractions",
    language=regular,
    architecture=linear & householder & input_dependent & many_factors & nonnegative,
    build=compile_contractions,
)
