"""Permutations and signed permutations: the actions of a group on cosets, and on pairs of cosets."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from nerode.algebra import CosetAction, Subgroup, cycles
from nerode.compiler.representations.matrices import Matrix
from nerode.compiler.representations.pieces import LanguageGroup, Numbers, Piece

Integers = npt.NDArray[np.int64]


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
