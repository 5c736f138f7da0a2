"""The exact form of a representation that is known in floats: its irreducible parts, in roots of unity.

A part is known by its character, and each value of the character is a sum of roots of unity that floats are
close enough to name. If some element h has an eigenvalue λ once only, its eigenvector v is unique, and the
character gives φ(g) = ⟨v, ρ(g) v⟩ = mean over j of λ⁻ʲ χ(g hʲ) exactly. In the basis g₁v, g₂v, … of
translates of v, the matrix of g is Γ⁻¹ N(g) with Γ = (φ(gᵢ⁻¹ gⱼ)) and N(g) = (φ(gᵢ⁻¹ g gⱼ)).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from nerode.analysis.polish.learned import Floats, LetteredGroup
from nerode.core import Exact, NerodeError, exact_sum, inverse, root_of_unity

Complexes = npt.NDArray[np.complex128]
ExactMatrix = tuple[tuple[Exact, ...], ...]

CLOSE = 1e-6
"""Distance up to which an eigenvalue counts as a root of unity, or as equal to another eigenvalue."""


class NoExactForm(NerodeError):
    """The exact form of a block was not found."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ExactPart:
    """An irreducible part of a block.

    Attributes:
        degree: its dimension over the complex numbers.
        matrices: E of each letter; E(gh) = E(h) E(g).
        basis: the vectors of its basis in the coordinates of the block (n, degree), in floats.
    """

    degree: int
    matrices: tuple[ExactMatrix, ...]
    basis: Complexes


def exact_parts(block: Floats, lettered: LetteredGroup) -> tuple[ExactPart, ...]:
    """Returns the irreducible parts of a representation in floats.

    Args:
        block: M of each element (elements, n, n) with M(gh) = M(h) M(g), orthogonal up to rounding.
        lettered: the group.

    Raises:
        NoExactForm: if an eigenvalue is no root of unity, or no element has a simple eigenvalue.
    """
    # Of inverses, so that it multiplies in the order of the group.
    direct = block[lettered.inverses].astype(np.complex128)
    return tuple(_exact_part(direct, subspace, lettered) for subspace in invariant_subspaces(direct))


def invariant_subspaces(direct: Complexes) -> list[Complexes]:
    """Returns orthonormal bases (n, degree) of irreducible invariant subspaces whose sum is everything.

    They are the eigenspaces of the mean over the group of a Hermitian matrix drawn at random: it commutes
    with the group, so by Schur's lemma it is a number on each part, another one for each.
    """
    n = direct.shape[-1]
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n))
    mean = np.mean(direct @ (drawn + drawn.conj().T) @ direct.conj().swapaxes(-1, -2), axis=0)
    values, vectors = np.linalg.eigh(mean)
    cuts = np.flatnonzero(np.diff(values) > CLOSE) + 1
    return np.split(vectors, cuts, axis=1)


def _exact_part(direct: Complexes, subspace: Complexes, lettered: LetteredGroup) -> ExactPart:
    part = subspace.conj().T @ direct @ subspace
    turns = [eigenvalue_turns(matrix, lettered, g) for g, matrix in enumerate(part)]
    h, turn = _simple_eigenvalue(turns)
    vector = _eigenvector(part[h], turn)
    chosen = _independent_translates(part, vector)
    coefficient = Coefficient(turns, h, turn, lettered)
    products, inverses = lettered.products, lettered.inverses

    def pairings(g: int) -> ExactMatrix:
        rows = [products[inverses[i], g] for i in chosen]
        return tuple(tuple(coefficient(int(products[row, j])) for j in chosen) for row in rows)

    inverse_gram = invert(pairings(lettered.group.identity))
    matrices = tuple(multiply(inverse_gram, pairings(int(inverses[element]))) for element in lettered.letters)
    basis = np.stack([subspace @ part[g] @ vector for g in chosen], axis=1)
    return ExactPart(degree=subspace.shape[1], matrices=matrices, basis=basis)


def eigenvalue_turns(matrix: Complexes, lettered: LetteredGroup, element: int) -> tuple[Fraction, ...]:
    """Returns t for each eigenvalue exp(2πi t), sorted; the order of the element is a multiple of each.

    Raises:
        NoExactForm: if an eigenvalue is not near such a root of unity.
    """
    order = element_order(lettered, element)
    found = []
    for value in np.linalg.eigvals(matrix):
        step = round(float(np.angle(value)) / (2 * np.pi) * order) % order
        if abs(value - np.exp(2j * np.pi * step / order)) > CLOSE:
            name = lettered.group.element_names[element]
            raise NoExactForm(
                f"an eigenvalue of {name} is {value:.6f}, which is no root of unity of order {order}"
            )
        found.append(Fraction(step, order))
    return tuple(sorted(found))


def element_order(lettered: LetteredGroup, element: int) -> int:
    """Returns the least n > 0 for which the n-th power of the element is the identity."""
    power, order = element, 1
    while power != lettered.group.identity:
        power, order = int(lettered.products[power, element]), order + 1
    return order


def _simple_eigenvalue(turns: Sequence[tuple[Fraction, ...]]) -> tuple[int, Fraction]:
    """An element and one of its eigenvalues that is simple; those that need small fields come first."""
    simple = [
        (turn.denominator, turn, max(t.denominator for t in row), g)
        for g, row in enumerate(turns)
        for turn in row
        if row.count(turn) == 1
    ]
    if not simple:
        raise NoExactForm("no element has a simple eigenvalue, so no vector is known exactly")
    _, turn, _, g = min(simple)
    return g, turn


def _eigenvector(matrix: Complexes, turn: Fraction) -> Complexes:
    values, vectors = np.linalg.eig(matrix)
    vector = vectors[:, np.argmin(np.abs(values - np.exp(2j * np.pi * float(turn))))]
    return np.asarray(vector / np.linalg.norm(vector))


def _independent_translates(part: Complexes, vector: Complexes) -> list[int]:
    """Elements whose images of the vector are a basis, each as far as can be from those before."""
    rest = (part @ vector).T
    chosen: list[int] = []
    for _ in range(len(vector)):
        sizes = np.linalg.norm(rest, axis=0)
        # The first of those that are equal up to rounding.
        g = int(np.argmax(sizes > sizes.max() - CLOSE))
        chosen.append(g)
        direction = rest[:, g] / sizes[g]
        rest = rest - np.outer(direction, direction.conj() @ rest)
    return chosen


class Coefficient:
    """φ(g) = ⟨v, ρ(g) v⟩, exactly."""

    def __init__(
        self, turns: Sequence[tuple[Fraction, ...]], h: int, turn: Fraction, lettered: LetteredGroup
    ) -> None:
        self._turns = turns
        self._powers = [lettered.group.identity]
        while (power := int(lettered.products[self._powers[-1], h])) != lettered.group.identity:
            self._powers.append(power)
        self._turn = turn
        self._products = lettered.products
        self._known: dict[int, Exact] = {}

    def __call__(self, g: int) -> Exact:
        """Returns φ(g)."""
        if g not in self._known:
            terms = (
                _root(-self._turn * j) * character(self._turns[self._products[g, power]])
                for j, power in enumerate(self._powers)
            )
            self._known[g] = exact_sum(terms) * Fraction(1, len(self._powers))
        return self._known[g]


def character(turns: tuple[Fraction, ...]) -> Exact:
    """Returns the sum of the roots of unity exp(2πi t)."""
    return exact_sum(_root(turn) for turn in turns)


@functools.lru_cache(maxsize=4096)
def _root(turn: Fraction) -> Exact:
    return root_of_unity(turn.numerator, turn.denominator)


def multiply(left: ExactMatrix, right: ExactMatrix) -> ExactMatrix:
    """Returns the product of two matrices."""
    columns = list(zip(*right, strict=True))
    return tuple(
        tuple(exact_sum(a * b for a, b in zip(row, column, strict=True)) for column in columns)
        for row in left
    )


def invert(matrix: ExactMatrix) -> ExactMatrix:
    """Returns the inverse, or raises NoExactForm if there is none."""
    n = len(matrix)
    rows: list[list[Exact]] = [[*row, *(int(i == j) for j in range(n))] for i, row in enumerate(matrix)]
    for column in range(n):
        pivot = next((i for i in range(column, n) if rows[i][column] != 0), None)
        if pivot is None:
            raise NoExactForm("the translates of the vector are dependent")
        rows[column], rows[pivot] = rows[pivot], rows[column]
        scale = inverse(rows[column][column])
        rows[column] = [value * scale for value in rows[column]]
        for i in range(n):
            factor = rows[i][column]
            if i != column and factor != 0:
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[column], strict=True)]
    return tuple(tuple(row[n:]) for row in rows)
