"""Named groups as permutations, built without the library under test."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

Images = tuple[int, ...]
Generators = list[Images]


def after(g: Images, h: Images) -> Images:
    """Returns first g, then h."""
    return tuple(h[x] for x in g)


def cycles(n: int, *moved: Sequence[int]) -> Images:
    images = list(range(n))
    for cycle in moved:
        for x, y in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
            images[x] = y
    return tuple(images)


def cyclic(n: int) -> Generators:
    return [cycles(n, range(n))]


def symmetric(n: int) -> Generators:
    return [cycles(n, range(n)), cycles(n, (0, 1))]


def alternating(n: int) -> Generators:
    return [cycles(n, (0, 1, i)) for i in range(2, n)]


def affine(n: int, *factors: int) -> Generators:
    """The maps x + 1 and ax for each factor a, modulo n."""
    return [tuple((x + 1) % n for x in range(n)), *(tuple(a * x % n for x in range(n)) for a in factors)]


def dihedral(n: int) -> Generators:
    return affine(n, n - 1)


def dicyclic(n: int) -> Generators:
    """a and x on the elements aⁱxʲ, by multiplication on the right; x² = aⁿ, xa = a⁻¹x."""
    m = 2 * n
    by_a = [(i + 1) % m for i in range(m)] + [m + (i - 1) % m for i in range(m)]
    by_x = [m + i for i in range(m)] + [(i + n) % m for i in range(m)]
    return [tuple(by_a), tuple(by_x)]


def product(*groups: Generators) -> Generators:
    """The direct product on the disjoint union of the points."""
    total = sum(len(group[0]) for group in groups)
    found, start = [], 0
    for group in groups:
        end = start + len(group[0])
        found += [(*range(start), *(start + x for x in g), *range(end, total)) for g in group]
        start = end
    return found


def wreath(group: Generators, top: Generators) -> Generators:
    """Copies of a group, permuted by the top group."""
    m, n = len(group[0]), len(top[0])
    inner = [(*g, *range(m, m * n)) for g in group]
    outer = [tuple(m * t[i] + x for i in range(n) for x in range(m)) for t in top]
    return inner + outer


def matrices_on_vectors(p: int, matrices: Sequence[Sequence[Sequence[int]]]) -> Generators:
    """Matrices modulo p as permutations of the row vectors other than zero."""
    dimension = len(matrices[0])
    vectors = [v for v in itertools.product(range(p), repeat=dimension) if any(v)]
    number = {v: i for i, v in enumerate(vectors)}
    return [
        tuple(
            number[tuple(sum(v[i] * a[i][j] for i in range(dimension)) % p for j in range(dimension))]
            for v in vectors
        )
        for a in matrices
    ]


SHEARS = [((1, 1), (0, 1)), ((1, 0), (1, 1))]


def invertible_over_2(dimension: int) -> Generators:
    """All invertible matrices of zeros and ones on the vectors other than zero."""
    identity = [[int(i == j) for j in range(dimension)] for i in range(dimension)]
    shear = [[1, 1, *identity[0][2:]], *identity[1:]]
    cycle = [*identity[1:], identity[0]]
    return matrices_on_vectors(2, [shear, cycle])


def projective_line(p: int, *, with_squares_only: bool) -> Generators:
    """PSL(2,p) or PGL(2,p) on the points 0 … p-1 and ∞ = p, for an odd prime p."""
    root = next(a for a in range(2, p) if len({pow(a, k, p) for k in range(p - 1)}) == p - 1)
    factor = root * root % p if with_squares_only else root
    shift = (*((x + 1) % p for x in range(p)), p)
    scale = (*(factor * x % p for x in range(p)), p)
    turn = (p, *((-pow(x, -1, p)) % p for x in range(1, p)), 0)
    return [shift, scale, turn]


def mathieu_11() -> Generators:
    return [cycles(11, range(11)), cycles(11, (2, 6, 10, 7), (3, 9, 4, 5))]


def mathieu_12() -> Generators:
    swap = cycles(12, (0, 11), (1, 10), (2, 5), (3, 7), (4, 8), (6, 9))
    return [*((*g, 11) for g in mathieu_11()), swap]


def elements(generators: Generators) -> list[Images]:
    """All elements, by brute force."""
    identity = tuple(range(len(generators[0])))
    found = {identity: None}
    queue = [identity]
    for g in queue:
        for h in generators:
            if (p := after(g, h)) not in found:
                found[p] = None
                queue.append(p)
    return queue


def regular(generators: Generators) -> Generators:
    """The group acting on itself by multiplication on the right."""
    everything = elements(generators)
    number = {g: i for i, g in enumerate(everything)}
    return [tuple(number[after(g, h)] for g in everything) for h in generators]


def on_subsets(generators: Generators, size: int) -> Generators:
    """The action on the subsets of a size."""
    subsets = list(itertools.combinations(range(len(generators[0])), size))
    number = {frozenset(s): i for i, s in enumerate(subsets)}
    return [tuple(number[frozenset(g[x] for x in s)] for s in subsets) for g in generators]


def relabelled(generators: Generators, seed: int) -> Generators:
    """The same group on shuffled points, with three fixed points more and other generators."""
    shuffler = random.Random(seed)
    n = len(generators[0]) + 3
    names = list(range(n))
    shuffler.shuffle(names)
    moved = []
    for g in generators:
        images = list(range(n))
        for x, y in enumerate(g):
            images[names[x]] = names[y]
        moved.append(tuple(images))
    mixed = list(moved)
    for _ in range(4):
        mixed.append(after(shuffler.choice(mixed), shuffler.choice(mixed)))
    return [mixed[-1], mixed[-2], *moved]
