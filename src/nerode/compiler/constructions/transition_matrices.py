"""Any automaton in one layer of 0/1 matrices: permutation-diagonal (PD-SSM) or dense (IDS4).

The state is the one-hot vector of the automaton's state; group languages need fewer coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from nerode.compiler.construction import Construction, Request
from nerode.compiler.group_representations import Representation, fewest_dimensions
from nerode.compiler.network_builder import one_hot_decoder, one_layer_network, point_decoder, state_layer
from nerode.compiler.rotations import Matrix
from nerode.core import Reference, charge
from nerode.languages import Dfa
from nerode.network import ByChoice, Network, Row
from nerode.verdict import (
    can_fade,
    dense,
    group_language,
    input_dependent,
    linear,
    permutation_diagonal,
    regular,
    unit_gates,
)


def _points(request: Request, found: Representation) -> Network:
    """The network whose letters permute, and may turn round, a few coordinates.

    The coordinates of the start vector differ in size, so its images under the group all differ.

    Implements: [Grazzi2025, Theorem 3]
    """
    dfa = request.automaton
    names = [f"h{i}" for i in range(1, found.dimension + 1)]
    columns = [_columns(matrix) for matrix in found.matrices]
    layer = state_layer(
        "points",
        names,
        start=found.points[0],
        recurrence=ByChoice.from_images(
            images=tuple(images for images, _ in columns),
            diagonals=tuple(signs for _, signs in columns),
            writes=((0,) * found.dimension,) * dfa.num_letters,
        ),
    )
    return one_layer_network(
        request,
        layer,
        point_decoder(dfa, names, found.points, found.states),
        route=f"every letter permutes the states; one layer with {found.title}",
        reference=Reference("Grazzi2025", "Theorem 3"),
    )


def compile_rotations(request: Request) -> Network:
    """Returns the network whose letters permute coordinates, by matrices of determinant 1.

    The last coordinate is 0 and changes its sign where the others are permuted oddly.

    Implements: [NerodeTheory]
    """
    dfa = request.automaton
    found = fewest_dimensions(dfa)
    n = found.dimension
    names = [f"q={i}" if found.on_states else f"h{i + 1}" for i in range(n)]
    columns = [_columns(matrix) for matrix in found.matrices]
    layer = state_layer(
        "rotations",
        [*names, "balance"],
        start=(*found.points[0], 0),
        recurrence=ByChoice.from_images(
            images=tuple((*images, n) for images, _ in columns),
            diagonals=tuple((*signs, _determinant(images, signs)) for images, signs in columns),
            writes=((0,) * (n + 1),) * dfa.num_letters,
        ),
    )
    return one_layer_network(
        request,
        layer,
        point_decoder(dfa, names, found.points, found.states),
        route=f"every letter permutes the states; one layer with {found.title}, made rotations",
        reference=Reference("NerodeTheory"),
    )


def _determinant(images: Sequence[int], signs: Sequence[int]) -> int:
    """The determinant of a signed permutation matrix."""
    cycles, seen = 0, set[int]()
    for first in range(len(images)):
        cycles += first not in seen
        while first not in seen:
            seen.add(first)
            first = images[first]
    odd = (len(images) - cycles) % 2 == 1
    return -math.prod(signs) if odd else math.prod(signs)


def _columns(matrix: Matrix) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """For each column of a signed permutation matrix the row of its entry, and the entry."""
    images, signs = [], []
    for column in zip(*matrix, strict=True):
        row = next(i for i, e in enumerate(column) if e != 0)
        images.append(row)
        signs.append(1 if column[row] == 1 else -1)
    return tuple(images), tuple(signs)


def compile_states(request: Request) -> Network:
    """Returns the network whose column-one-hot matrices are those of the automaton, with diagonals of ones.

    For a group language the matrices permute fewer coordinates than states, where such are found.

    Implements: [Terzic2025PdSsm, Proposition 2]
    """
    dfa = request.automaton
    if request.facts.is_group_language and not (found := fewest_dimensions(dfa)).on_states:
        return _points(request, found)
    n = dfa.num_states
    names = [f"q={q}" for q in range(n)]
    layer = state_layer(
        "automaton",
        names,
        start=[int(q == dfa.start) for q in range(n)],
        recurrence=ByChoice.from_images(
            images=tuple(tuple(column) for column in dfa.transitions.T.tolist()),
            diagonals=((1,) * n,) * dfa.num_letters,
            writes=((0,) * n,) * dfa.num_letters,
        ),
    )
    return one_layer_network(
        request,
        layer,
        one_hot_decoder(dfa, names),
        route=f"one layer holds the one-hot vector of the {n} states; the diagonal is 1",
        reference=Reference("Terzic2025PdSsm", "Proposition 2"),
    )


ROTATIONS = Construction(
    name="rotations",
    title="signed permutations of determinant 1",
    theorem="orthogonal-groups",
    language=group_language,
    architecture=linear & dense & input_dependent & unit_gates,
    build=compile_rotations,
)

PERMUTATION_DIAGONAL = Construction(
    name="permutation-diagonal",
    title="one-hot state, column-one-hot matrices",
    theorem="regular-by-permutation-diagonal",
    language=regular,
    architecture=linear & permutation_diagonal,
    build=compile_states,
)


def compile_dense(request: Request) -> Network:
    """Returns the network whose transition matrices are those of the automaton.

    The start state is the start vector; the theorem writes it with a start symbol instead.

    Implements: [Merrill2024, Theorem 5.2]
    """
    dfa = request.automaton
    names = [f"q={q}" for q in range(dfa.num_states)]
    nothing = (0,) * dfa.num_states
    layer = state_layer(
        "automaton",
        names,
        start=[int(q == dfa.start) for q in range(dfa.num_states)],
        recurrence=ByChoice.from_rows(
            matrices=tuple(_matrix(dfa, letter) for letter in range(dfa.num_letters)),
            writes=(nothing,) * dfa.num_letters,
        ),
    )
    return one_layer_network(
        request,
        layer,
        one_hot_decoder(dfa, names),
        route=f"one layer holds the one-hot vector of the {dfa.num_states} states",
        reference=Reference("Merrill2024", "Theorem 5.2"),
    )


def _matrix(dfa: Dfa, letter: int) -> tuple[Row, ...]:
    charge()
    rows: list[list[tuple[int, int]]] = [[] for _ in range(dfa.num_states)]
    for q, image in enumerate(dfa.transitions[:, letter].tolist()):
        rows[image].append((q, 1))
    return tuple(map(tuple, rows))


DENSE_ONE_HOT = Construction(
    name="dense-one-hot",
    title="one-hot state, 0/1 matrices",
    theorem="regular-by-dense-matrices",
    language=regular,
    architecture=linear & dense & input_dependent & can_fade,
    build=compile_dense,
)
