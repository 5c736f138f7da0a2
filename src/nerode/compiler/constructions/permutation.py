"""Any automaton in one permutation-diagonal layer (the PD-SSM form); group languages on few coordinates."""

from __future__ import annotations

from nerode.compiler.answers import automaton_of, one_hot_decoder, point_decoder
from nerode.compiler.construction import Construction, Request, construction
from nerode.compiler.representations.choice import fewest_dimensions
from nerode.compiler.representations.matrices import Matrix
from nerode.compiler.state_layers import one_layer_network, state_layer
from nerode.core import NotCompilable, Reference
from nerode.network import ByChoice, Network
from nerode.verdict import group_language, linear, permutation_diagonal, regular

POINTS = "permutation-points"
STATES = "permutation-diagonal"


def compile_points(request: Request) -> Network:
    """Returns the network whose letters permute, and may turn round, a few coordinates.

    The coordinates of the start vector differ in size, so its images under the group all differ.

    Implements: [Grazzi2025, Theorem 3]
    """
    dfa = automaton_of(request)
    found = fewest_dimensions(dfa)
    if found.on_states:
        raise NotCompilable(request.target.name, ["no smaller set of points than the states was found"])
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
        construction=POINTS,
        route=f"every letter permutes the states; one layer with {found.title}",
        reference=Reference("Grazzi2025", "Theorem 3"),
    )


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

    Implements: [Terzic2025PdSsm, Proposition 2]
    """
    dfa = automaton_of(request)
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
        construction=STATES,
        route=f"one layer holds the one-hot vector of the {n} states; the diagonal is 1",
        reference=Reference("Terzic2025PdSsm", "Proposition 2"),
    )


construction(
    Construction(
        name=POINTS,
        title="signed permutations of a few coordinates",
        theorem="regular-by-permutation-diagonal",
        language=group_language,
        architecture=linear & permutation_diagonal,
        build=compile_points,
    )
)

construction(
    Construction(
        name=STATES,
        title="one-hot state, column-one-hot matrices",
        theorem="regular-by-permutation-diagonal",
        language=regular,
        architecture=linear & permutation_diagonal,
        build=compile_states,
    )
)
