"""Small groups with a name of their own, and the proof that a group is one of them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from nerode.algebra.group_families import family_name
from nerode.algebra.permutation_groups import ElementTable, PermutationGroup
from nerode.algebra.permutations import Permutation, compose, permutation_order, random_elements

Matrix = tuple[tuple[int, ...], ...]

_PAIRS_TRIED = 64


def catalogue_name(table: ElementTable) -> str | None:
    """Returns the name of the group of the catalogue that this group is isomorphic to, None if none is.

    The catalogue has the families of `family_name`, the symmetric and alternating groups up to four points,
    and some linear and affine groups over small fields.
    """
    if (name := family_name(table)) is not None:
        return name
    for name, generators in _NAMED.get(table.order, ()):
        if is_isomorphic(table, _reference(name, tuple(generators))):
            return name
    return None


@functools.lru_cache(maxsize=256)
def _reference(name: str, generators: tuple[Permutation, ...]) -> ElementTable:
    """The elements of a group of the catalogue, from two generators."""
    group = PermutationGroup(generators)
    if len(group.generators) == 2:
        return ElementTable(group)
    sample = random_elements(group.generators, group.degree)
    for first, second in itertools.islice(zip(sample, sample, strict=False), _PAIRS_TRIED):
        smaller = group.subgroup([first, second])
        if smaller.order == group.order:
            return ElementTable(smaller)
    raise AssertionError(f"no two elements were found that generate {name}")


def is_isomorphic(table: ElementTable, reference: ElementTable) -> bool:
    """Whether two groups are isomorphic; the second one must have exactly two generators.

    After equal statistics of elements, an isomorphism is looked for as images of the two generators, the
    first of them up to conjugacy. Images give an isomorphism exactly when the pairs of generator and image,
    acting on both sets of points side by side, generate a group of the same order.
    """
    if table.order != reference.order or table.statistics != reference.statistics:
        return False
    a, b = reference.group.generators
    orders = [permutation_order(g) for g in (a, b, compose(a, b), compose(compose(a, b), b))]
    sizes = [int(reference.class_sizes[reference.index(g)]) for g in (a, b)]
    alike = (table.orders == orders[1]) & (table.class_sizes == sizes[1])
    seconds = np.flatnonzero(alike)
    for x in table.class_representatives.tolist():
        if table.orders[x] != orders[0] or table.class_sizes[x] != sizes[0]:
            continue
        once = table.products(np.array(x), seconds)
        twice = table.products(once, seconds)
        good = (table.orders[once] == orders[2]) & (table.orders[twice] == orders[3])
        for y in seconds[good].tolist():
            if _is_graph_of_isomorphism((a, b), (table.element(x), table.element(y)), table.order):
                return True
    return False


def _is_graph_of_isomorphism(
    sources: Sequence[Permutation], targets: Sequence[Permutation], order: int
) -> bool:
    n = len(sources[0])
    pairs = [s + tuple(n + image for image in t) for s, t in zip(sources, targets, strict=True)]
    if PermutationGroup(pairs).order != order:
        return False
    return PermutationGroup(targets).order == order


def linear_over(p: int, matrices: Iterable[Matrix]) -> list[Permutation]:
    """Returns matrices modulo p as permutations of the row vectors that are not zero."""
    return [tuple(i - 1 for i in images[1:]) for images in _on_vectors(p, matrices)]


def affine_over(p: int, matrices: Sequence[Matrix]) -> list[Permutation]:
    """Returns matrices modulo p and one translation as permutations of all row vectors."""
    vectors = list(itertools.product(range(p), repeat=len(matrices[0])))
    number = {v: i for i, v in enumerate(vectors)}
    translation = tuple(number[(*v[:-1], (v[-1] + 1) % p)] for v in vectors)
    return [*_on_vectors(p, matrices), translation]


def _on_vectors(p: int, matrices: Iterable[Matrix]) -> list[Permutation]:
    found = []
    for matrix in matrices:
        vectors = list(itertools.product(range(p), repeat=len(matrix)))
        number = {v: i for i, v in enumerate(vectors)}
        columns = list(zip(*matrix, strict=True))
        found.append(
            tuple(
                number[tuple(sum(x * c for x, c in zip(v, column, strict=True)) % p for column in columns)]
                for v in vectors
            )
        )
    return found


_SHEARS: tuple[Matrix, Matrix] = (((1, 1), (0, 1)), ((1, 0), (1, 1)))
_QUATERNIONS_OVER_3: tuple[Matrix, Matrix] = (((0, 1), (2, 0)), ((1, 1), (1, 2)))
_MINUS_ONE_OVER_3: Matrix = ((2, 0), (0, 1))
# Multiplication by a primitive element, and the Frobenius map, of the fields with 8 and with 9 elements.
_TIMES_OVER_8: Matrix = ((0, 1, 0), (0, 0, 1), (1, 1, 0))
_SQUARE_OVER_8: Matrix = ((1, 0, 0), (0, 0, 1), (0, 1, 1))
_TIMES_OVER_9: Matrix = ((0, 1), (1, 2))
_CUBE_OVER_9: Matrix = ((1, 0), (2, 2))
_INVERTIBLE_OVER_2: tuple[Matrix, Matrix] = (_TIMES_OVER_8, ((1, 1, 0), (0, 1, 0), (0, 0, 1)))

_NAMED: dict[int, list[tuple[str, list[Permutation]]]] = {
    6: [("S3", [(1, 2, 0), (1, 0, 2)])],
    12: [("A4", [(1, 2, 0, 3), (1, 0, 3, 2)])],
    24: [("S4", [(1, 2, 3, 0), (1, 0, 2, 3)]), ("SL(2,3)", linear_over(3, _SHEARS))],
    48: [("GL(2,3)", linear_over(3, [*_SHEARS, _MINUS_ONE_OVER_3]))],
    56: [("AGL(1,8)", affine_over(2, [_TIMES_OVER_8]))],
    72: [
        ("S3wrZ2", [(1, 2, 0, 3, 4, 5), (1, 0, 2, 3, 4, 5), (3, 4, 5, 0, 1, 2)]),
        ("AGL(1,9)", affine_over(3, [_TIMES_OVER_9])),
        ("PSU(3,2)", affine_over(3, _QUATERNIONS_OVER_3)),
    ],
    120: [("SL(2,5)", linear_over(5, _SHEARS))],
    144: [("AΓL(1,9)", affine_over(3, [_TIMES_OVER_9, _CUBE_OVER_9]))],
    168: [("AΓL(1,8)", affine_over(2, [_TIMES_OVER_8, _SQUARE_OVER_8]))],
    216: [("ASL(2,3)", affine_over(3, _SHEARS))],
    336: [("SL(2,7)", linear_over(7, _SHEARS))],
    432: [("AGL(2,3)", affine_over(3, [*_SHEARS, _MINUS_ONE_OVER_3]))],
    1344: [("AGL(3,2)", affine_over(2, _INVERTIBLE_OVER_2))],
}
