"""Orthogonal matrices for the letters of a group language: few reflections per letter, few dimensions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nerode.algebra import CosetAction, Subgroup, cycles
from nerode.compiler.rotations import (
    LanguageGroup,
    Matrix,
    Numbers,
    Piece,
    Vector,
    apply,
    block_diagonal,
    icosahedral_pieces,
    plane_pieces,
)
from nerode.core import BudgetExceeded, charge
from nerode.languages import Dfa

_MOST_NODES = 20_000

Cost = tuple[int, ...]
CostOf = Callable[[Sequence[Piece]], Cost]
"""The cost of a sum of blocks; a further block never makes it cheaper."""

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Representation:
    """Orthogonal matrices for the letters, and the vectors that they make of a start vector.

    Attributes:
        title: what it is, in words.
        matrices: one for each letter.
        points: the vectors that occur, the start vector first.
        states: the state of the automaton at each of them.
        num_factors: the largest number of reflections that one letter needs.
        on_states: whether the points are the one-hot vectors of the states.
    """

    title: str
    matrices: tuple[Matrix, ...]
    points: tuple[Vector, ...]
    states: tuple[int, ...]
    num_factors: int
    on_states: bool

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return len(self.points[0])


@functools.lru_cache(maxsize=32)
def fewest_reflections(dfa: Dfa) -> Representation:
    """Returns matrices for a permutation automaton whose letters need few reflections.

    Among those with the fewest, whole numbers are preferred, then few dimensions. All sums of the known
    blocks are compared: permutations and signed permutations on cosets, rotations of the plane with and
    without reflections, and of the icosahedron. For large groups the states themselves are permuted.
    """
    return _choose(dfa, _reflection_cost, integral=False)


@functools.lru_cache(maxsize=32)
def whole_reflections(dfa: Dfa) -> Representation:
    """Returns signed permutation matrices for a permutation automaton whose letters need few reflections."""
    return _choose(dfa, _reflection_cost, integral=True)


@functools.lru_cache(maxsize=32)
def fewest_dimensions(dfa: Dfa) -> Representation:
    """Returns signed permutation matrices for a permutation automaton on few coordinates."""
    return _choose(dfa, _dimension_cost, integral=True)


def _reflection_cost(pieces: Sequence[Piece]) -> Cost:
    ranks = sum(piece.ranks for piece in pieces)
    return (
        int(np.max(ranks)),
        int(not all(piece.integral for piece in pieces)),
        sum(piece.dimension for piece in pieces),
    )


def _dimension_cost(pieces: Sequence[Piece]) -> Cost:
    return (sum(piece.dimension for piece in pieces),)


def _choose(dfa: Dfa, cost_of: CostOf, *, integral: bool) -> Representation:
    try:
        group = LanguageGroup(dfa)
    except BudgetExceeded:
        return _on_states(dfa)
    pieces = list(coset_pieces(group, dfa.num_states))
    if not integral:
        pieces += [*plane_pieces(group), *icosahedral_pieces(group)]
    best = _search(_without_worse(pieces), group.table.order, cost_of)
    states = _on_states(dfa)
    if not best or cost_of(best) >= _cost_on_states(states, cost_of):
        return states
    return _sum_of(best, group, dfa)


def _cost_on_states(states: Representation, cost_of: CostOf) -> Cost:
    return (states.dimension,) if cost_of is _dimension_cost else (states.num_factors, 0, states.dimension)


def _without_worse(pieces: Iterable[Piece]) -> list[Piece]:
    """Drops every block for which another one sees as much and is nowhere more expensive."""
    kept: list[Piece] = []
    for piece in sorted(pieces, key=lambda p: (p.dimension, not p.integral, int(p.ranks.sum()))):
        if not any(_is_no_worse(other, piece) for other in kept):
            kept.append(piece)
    return kept


def _is_no_worse(piece: Piece, other: Piece) -> bool:
    return (
        piece.dimension <= other.dimension
        and piece.integral >= other.integral
        and bool((piece.ranks <= other.ranks).all())
        and not (piece.kernel & ~other.kernel).any()
    )


def _search(pieces: Sequence[Piece], order: int, cost_of: CostOf) -> list[Piece]:
    """The cheapest set of blocks that together see the whole group: branch and bound."""
    best: list[Piece] = []
    best_cost: Cost | None = None
    everything = np.ones(order, dtype=np.bool_)
    pending: list[tuple[list[Piece], np.ndarray, int]] = [([], everything, 0)]
    for _ in range(_MOST_NODES):
        if not pending:
            break
        chosen, kernel, first = pending.pop()
        for number in range(len(pieces) - 1, first - 1, -1):
            piece = pieces[number]
            smaller = kernel & piece.kernel
            if smaller.sum() == kernel.sum():
                continue
            larger = [*chosen, piece]
            cost = cost_of(larger)
            if best_cost is not None and cost >= best_cost:
                continue
            if smaller.sum() == 1:
                best, best_cost = larger, cost
            else:
                pending.append((larger, smaller, number + 1))
    return best


def _sum_of(pieces: Sequence[Piece], group: LanguageGroup, dfa: Dfa) -> Representation:
    matrices = tuple(
        block_diagonal(blocks) for blocks in zip(*(piece.matrices() for piece in pieces), strict=True)
    )
    start: Vector = tuple(e for piece in pieces for e in piece.start)
    vectors = group.reach(start, lambda vector, letter: apply(matrices[letter], vector))
    return Representation(
        title=" and ".join(piece.title for piece in pieces),
        matrices=matrices,
        points=tuple(vectors.values()),
        states=tuple(group.table.permutation(x)[dfa.start] for x in vectors),
        num_factors=_reflection_cost(pieces)[0],
        on_states=False,
    )


def _on_states(dfa: Dfa) -> Representation:
    n = dfa.num_states
    charge("bytes", 8 * n * n * dfa.num_letters)
    columns = dfa.transitions.T.tolist()
    matrices = []
    for images in columns:
        charge()
        rows = [[0] * n for _ in range(n)]
        for j, i in enumerate(images):
            rows[i][j] = 1
        matrices.append(tuple(map(tuple, rows)))
    points = tuple(tuple(int(i == q) for i in range(n)) for q in range(n))
    first = (dfa.start, *(q for q in range(n) if q != dfa.start))
    return Representation(
        title=f"permutations of the {n} states",
        matrices=tuple(matrices),
        points=tuple(points[q] for q in first),
        states=first,
        num_factors=max((n - len(cycles(tuple(images))) for images in columns), default=0),
        on_states=True,
    )


def coset_pieces(group: LanguageGroup, largest: int) -> Iterator[Piece]:
    """Yields the actions on cosets, plain and signed, of at most `largest` dimensions.

    A subgroup K' of index two in K makes the cosets of K the axes of a space and the cosets of K' their two
    ends: elements permute the axes and turn some of them round. The rotations of a cube (S4), of a
    tetrahedron (A4) and the quaternions (Q8) come this way, and with K = G the signs.
    """
    for subgroup in group.table.subgroup_classes:
        index = group.table.order // subgroup.order
        if index == 1 or index > 2 * largest:
            continue
        action = group.table.cosets(subgroup)
        if index <= largest:
            images = action.images[:, group.letters]
            yield _monomial(images, np.ones_like(images), action, f"permutations of {index} points")
        yield from _signed_pieces(group, subgroup, action)


def _signed_pieces(group: LanguageGroup, subgroup: Subgroup, action: CosetAction) -> Iterator[Piece]:
    axes = action.degree // 2
    for t in group.table.square_roots(subgroup):
        partner = action.number[group.table.products[t, action.representatives]]
        positive = np.flatnonzero(np.arange(action.degree) < partner)
        axis = np.empty(action.degree, dtype=np.intp)
        axis[positive] = axis[partner[positive]] = np.arange(axes)
        ends = action.images[positive][:, group.letters]
        signs = np.where(np.isin(ends, positive), 1, -1)
        title = "a sign" if axes == 1 else f"signed permutations of {axes} axes"
        yield _monomial(axis[ends], signs, action, title)


def _monomial(images: Numbers, signs: Integers, action: CosetAction, title: str) -> Piece:
    """The matrices whose column j, for a letter x, has signs[j, x] in row images[j, x]."""
    ranks = [_rank(images[:, x], signs[:, x]) for x in range(images.shape[1])]
    return Piece(
        title=title,
        dimension=len(images),
        integral=True,
        ranks=np.array(ranks, dtype=np.intp),
        kernel=action.kernel,
        matrices=functools.partial(_matrices, images, signs),
        start=tuple(range(1, len(images) + 1)),
    )


def _rank(images: Numbers, signs: Integers) -> int:
    """A cycle fixes one direction if its signs multiply to 1, and none otherwise."""
    charge()
    found = 0
    for cycle in cycles(tuple(images.tolist())):
        found += len(cycle) - (1 if signs[cycle].prod() > 0 else 0)
    return found


def _matrices(images: Numbers, signs: Integers) -> tuple[Matrix, ...]:
    found = []
    for x in range(images.shape[1]):
        rows = np.zeros((len(images), len(images)), dtype=np.int64)
        rows[images[:, x], np.arange(len(images))] = signs[:, x]
        found.append(tuple(tuple(row) for row in rows.tolist()))
    return tuple(found)
