"""Exact matrices: products, inverses, reflections; and the blocks of representations made of them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt

from nerode.algebra import IDENTITY, CosetAction, Members, PermutationGroup, ProductTable
from nerode.core import Exact, InputError, charge, cosine, exact_sum, inverse, simplify, sine, square_root
from nerode.languages import Dfa
from nerode.network import Factor

E = TypeVar("E", bound=Exact)
T = TypeVar("T")

Vector = tuple[Exact, ...]
Matrix = tuple[Vector, ...]
"""Rows of entries."""


def identity(size: int) -> Matrix:
    """Returns the identity matrix."""
    return tuple(tuple(int(i == j) for j in range(size)) for i in range(size))


def apply(matrix: Matrix, vector: Sequence[Exact]) -> Vector:
    """Returns the product of a matrix and a vector."""
    return tuple(_dot(row, vector) for row in matrix)


def multiply(left: Sequence[Sequence[E]], right: Sequence[Sequence[E]]) -> tuple[tuple[E, ...], ...]:
    """Returns the product of two matrices."""
    columns = list(zip(*right, strict=True))
    return tuple(tuple(cast("E", _dot(row, column)) for column in columns) for row in left)


def invert(matrix: Sequence[Sequence[Fraction | int]]) -> list[list[Fraction]] | None:
    """Returns the inverse of a square matrix of rational numbers, None if it has none."""
    n = len(matrix)
    rows = [
        [Fraction(v) for v in row] + [Fraction(int(i == j)) for j in range(n)] for i, row in enumerate(matrix)
    ]
    for column in range(n):
        charge()
        pivot = next((i for i in range(column, n) if rows[i][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        scale = rows[column][column]
        rows[column] = [v / scale for v in rows[column]]
        for i in range(n):
            factor = rows[i][column]
            if i != column and factor:
                rows[i] = [v - factor * p for v, p in zip(rows[i], rows[column], strict=True)]
    return [row[n:] for row in rows]


def independent_rows(rows: Sequence[Sequence[Fraction | int]], wanted: int) -> list[int]:
    """Returns the first `wanted` rows (by number) that are linearly independent; fewer if there are fewer."""
    basis: list[tuple[int, list[Fraction]]] = []
    found: list[int] = []
    for number, row in enumerate(rows):
        if len(found) == wanted:
            break
        charge()
        rest = [Fraction(v) for v in row]
        for pivot, vector in basis:
            if rest[pivot]:
                factor = rest[pivot] / vector[pivot]
                rest = [a - factor * b for a, b in zip(rest, vector, strict=True)]
        pivot_at = next((j for j, v in enumerate(rest) if v), None)
        if pivot_at is not None:
            basis.append((pivot_at, rest))
            found.append(number)
    return found


def block_diagonal(blocks: Sequence[Matrix]) -> Matrix:
    """Returns the matrix with these blocks on its diagonal."""
    width = sum(map(len, blocks))
    rows: list[Vector] = []
    for block in blocks:
        before = len(rows)
        after = width - before - len(block)
        rows.extend(((0,) * before + row + (0,) * after) for row in block)
    return tuple(rows)


def reflection_factors(matrix: Matrix) -> tuple[Factor, ...]:
    """Returns the fewest reflections whose product, first factor first, is an orthogonal matrix.

    A vector that the matrix moves from x to y is brought back by the reflection along y - x, which moves
    nothing that the matrix fixes; so the fixed space grows by one dimension each time, and the number of
    reflections is the dimension of the moved space.

    Raises:
        InputError: if the matrix is not orthogonal.

    Implements: [Grazzi2025]
    """
    size = len(matrix)
    if multiply(matrix, tuple(zip(*matrix, strict=True))) != identity(size):
        raise InputError("the matrix is not orthogonal, so it is not a product of reflections")
    found: list[Factor] = []
    rest = [list(column) for column in zip(*matrix, strict=True)]
    for i in range(size):
        charge()
        vector = tuple(simplify(e - int(i == j)) for j, e in enumerate(rest[i]))
        if not any(e != 0 for e in vector):
            continue
        found.append(Factor(beta=2, vector=vector))
        scale = 2 * inverse(_dot(vector, vector))
        for column in rest:
            amount = scale * _dot(vector, column)
            for j, e in enumerate(vector):
                if e != 0:
                    column[j] = column[j] - amount * e
    return tuple(reversed(found))


def _dot(left: Sequence[Exact], right: Sequence[Exact]) -> Exact:
    charge()
    return exact_sum(a * b for a, b in zip(left, right, strict=True) if a != 0 and b != 0)


Numbers = npt.NDArray[np.intp]

ICOSAHEDRAL_START: tuple[Exact, ...] = (2, 4, 3)
"""A vector far from all axes of the icosahedron, so that its 60 images are well apart."""

MOST_TURNS = 120
"""Rotations by 1/m of a turn are offered up to this m; beyond it exact arithmetic is slow."""


class LanguageGroup:
    """The group that the letters of a permutation automaton generate, with all its products.

    Attributes:
        table: the products.
        letters: the number of each letter's element.

    Args:
        dfa: an automaton whose letters permute the states.

    Raises:
        BudgetExceeded: if the group is too large for a table of products.
    """

    def __init__(self, dfa: Dfa) -> None:
        permutations = [tuple(column) for column in dfa.transitions.T.tolist()]
        self.table = ProductTable(PermutationGroup(permutations, dfa.num_states))
        self.letters: Numbers = np.array([self.table.index(p) for p in permutations], dtype=np.intp)

    def reach(self, start: T, move: Callable[[T, int], T]) -> dict[int, T]:
        """Returns for each element what its words make of a start, given what a letter makes of something."""
        found = {IDENTITY: start}
        queue = [IDENTITY]
        for x in queue:
            for letter, y in enumerate(self.after(x)):
                if y not in found:
                    found[y] = move(found[x], letter)
                    queue.append(y)
        return found

    def after(self, x: int) -> list[int]:
        """Returns the products of an element and each letter."""
        found: list[int] = self.table.products[x, self.letters].tolist()
        return found

    def quotients(self) -> list[CosetAction]:
        """Returns the regular actions of the groups G/N, one for each normal subgroup N other than G."""
        return [
            self.table.cosets(n)
            for n in self.table.subgroup_classes
            if n.order < self.table.order and self.table.is_normal(n.members)
        ]


@dataclass(frozen=True, kw_only=True, eq=False)
class Piece:
    """One block of a representation: an orthogonal matrix for each letter.

    Attributes:
        title: what it is, in words.
        dimension: size of the matrices.
        integral: whether all entries are 0, 1 or -1.
        ranks: for each letter the number of reflections that its matrix needs.
        kernel: the elements of the group that it does not see.
        matrices: makes the matrices of the letters, which take the vector of a prefix to that of the next.
        start: a vector that only the kernel fixes.
    """

    title: str
    dimension: int
    integral: bool
    ranks: Numbers
    kernel: Members
    matrices: Callable[[], tuple[Matrix, ...]]
    start: Vector


def rotation(k: int, m: int) -> Matrix:
    """Returns the rotation of the plane by k/m of a turn."""
    c, s = cosine(k, m), sine(k, m)
    return ((c, -1 * s), (s, c))


def reflection(k: int, m: int) -> Matrix:
    """Returns the reflection of the plane that takes the direction of angle 0 to k/m of a turn."""
    c, s = cosine(k, m), sine(k, m)
    return ((c, s), (s, -1 * c))


def plane_pieces(group: LanguageGroup) -> Iterator[Piece]:
    """Yields the rotations, and rotations with reflections, of the plane that the group maps onto."""
    for action in group.quotients():
        turns = cyclic_turns(action)
        if turns is not None and 3 <= action.degree <= MOST_TURNS:
            yield _cyclic(group, action, turns)
        found = dihedral_turns(action)
        if found is not None and action.degree // 2 <= MOST_TURNS:
            yield _dihedral(group, action, *found)


def cyclic_turns(action: CosetAction) -> Numbers | None:
    """Returns, for a regular action of a cyclic group of m elements, the k of each element's turn k/m."""
    for x in range(action.images.shape[1]):
        orbit = _orbit(action.images[:, x])
        if len(orbit) == action.degree:
            turns = np.empty(action.degree, dtype=np.intp)
            turns[orbit] = np.arange(action.degree)
            found: Numbers = turns[action.images[IDENTITY]]
            return found
    return None


def dihedral_turns(action: CosetAction) -> tuple[Numbers, np.ndarray] | None:
    """Returns, for a regular action of a dihedral group of 2m elements, m > 2, what each element is.

    The k of its turn k/m, and whether it is the reflection that takes angle 0 to k/m of a turn.
    """
    m, odd = divmod(action.degree, 2)
    images = action.images
    if odd or m < 3:
        return None
    for x in range(images.shape[1]):
        orbit = _orbit(images[:, x])
        if len(orbit) != m:
            continue
        outside = np.flatnonzero(~np.isin(np.arange(action.degree), orbit))
        mirror = int(action.representatives[outside[0]])
        turns = np.empty(action.degree, dtype=np.intp)
        mirrored = np.zeros(action.degree, dtype=np.bool_)
        turns[orbit] = np.arange(m)
        # Words act from the left: first the mirror, then k turns.
        after = _orbit(images[:, x], int(images[IDENTITY, mirror]))
        turns[after] = np.arange(m)
        mirrored[after] = True
        squares = images[outside, action.representatives[outside]]
        if (squares == IDENTITY).all():
            element = images[IDENTITY]
            return turns[element], mirrored[element]
    return None


def _orbit(images: Numbers, start: int = IDENTITY) -> list[int]:
    orbit = [start]
    while (following := int(images[orbit[-1]])) != start:
        orbit.append(following)
    return orbit


def _cyclic(group: LanguageGroup, action: CosetAction, turns: Numbers) -> Piece:
    m = action.degree
    letters = turns[group.letters].tolist()
    return Piece(
        title=f"rotations of the plane by multiples of 1/{m} of a turn",
        dimension=2,
        integral=False,
        ranks=np.array([2 if k else 0 for k in letters], dtype=np.intp),
        kernel=action.kernel,
        matrices=lambda: tuple(rotation(k, m) for k in letters),
        start=(1, 0),
    )


def _dihedral(group: LanguageGroup, action: CosetAction, turns: Numbers, mirrored: np.ndarray) -> Piece:
    m = action.degree // 2
    letters = list(zip(turns[group.letters].tolist(), mirrored[group.letters].tolist(), strict=True))
    return Piece(
        title=f"the symmetries of a regular polygon with {m} corners",
        dimension=2,
        integral=False,
        ranks=np.array([1 if mirror else 2 if k else 0 for k, mirror in letters], dtype=np.intp),
        kernel=action.kernel,
        matrices=lambda: tuple(reflection(k, m) if mirror else rotation(k, m) for k, mirror in letters),
        start=(cosine(1, 4 * m), sine(1, 4 * m)),
    )


@functools.cache
def icosahedral_generators() -> tuple[Matrix, Matrix]:
    """Returns a half turn a and a third of a turn b of the icosahedron with (ab)⁵ = 1.

    The corners are (0, ±1, ±φ) and what cyclic shifts of the axes make of them; a turns about the middle of
    an edge, b shifts the axes.
    """
    golden = (1 + square_root(5)) * Fraction(1, 2)
    axis = tuple(e * Fraction(1, 2) for e in (1, golden, golden - 1))
    half_turn = tuple(tuple(2 * u * v - int(i == j) for j, v in enumerate(axis)) for i, u in enumerate(axis))
    return half_turn, ((0, 0, 1), (1, 0, 0), (0, 1, 0))


def icosahedral_pieces(group: LanguageGroup) -> Iterator[Piece]:
    """Yields the 60 rotations of the icosahedron for each way in which the group maps onto A5.

    Two elements a, b with a² = b³ = (ab)⁵ = 1 that generate a group of 60 elements define an isomorphism to
    the rotations with the same relations, since these present A5.
    """
    for action in group.quotients():
        if action.degree == 60:
            pair = _find_pair(action)
            if pair is not None:
                yield _icosahedral(group, action, *pair)


def _find_pair(action: CosetAction) -> tuple[int, int] | None:
    elements = [int(x) for x in action.representatives]
    orders = {x: len(_orbit(action.images[:, x])) for x in elements}
    twos = [x for x in elements if orders[x] == 2]
    threes = [x for x in elements if orders[x] == 3]
    for a, b in itertools.product(twos, threes):
        product = int(action.representatives[action.images[action.images[IDENTITY, a], b]])
        if orders[product] == 5 and len(_words(action, a, b)) == 60:
            return a, b
    return None


def _words(action: CosetAction, a: int, b: int) -> dict[int, tuple[int, ...]]:
    """For each coset that the two elements reach from the start, a word in 0 (a) and 1 (b)."""
    words: dict[int, tuple[int, ...]] = {IDENTITY: ()}
    queue = [IDENTITY]
    for coset in queue:
        for which, x in enumerate((a, b)):
            image = int(action.images[coset, x])
            if image not in words:
                words[image] = (*words[coset], which)
                queue.append(image)
    return words


def _icosahedral(group: LanguageGroup, action: CosetAction, a: int, b: int) -> Piece:
    cosets = action.images[IDENTITY, group.letters].tolist()
    return Piece(
        title="the 60 rotations of the icosahedron",
        dimension=3,
        integral=False,
        ranks=np.array([0 if coset == IDENTITY else 2 for coset in cosets], dtype=np.intp),
        kernel=action.kernel,
        matrices=functools.partial(_icosahedral_matrices, _words(action, a, b), tuple(cosets)),
        start=ICOSAHEDRAL_START,
    )


def _icosahedral_matrices(words: dict[int, tuple[int, ...]], cosets: tuple[int, ...]) -> tuple[Matrix, ...]:
    generators = icosahedral_generators()
    known: dict[tuple[int, ...], Matrix] = {(): identity(3)}
    for word in words.values():
        if word:
            # The first letter of a word acts first, so it stands on the right of the product.
            known[word] = multiply(generators[word[-1]], known[word[:-1]])
    return tuple(known[words[coset]] for coset in cosets)
