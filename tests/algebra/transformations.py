"""Lists of letters as maps, and what libsemigroups says about the semigroup that they generate."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass

import libsemigroups_pybind11 as ls

Letters = list[list[int]]


def full(n: int) -> Letters:
    """All maps of n ≥ 3 points."""
    return [[1, 0, *range(2, n)], [*range(1, n), 0], [0, 0, *range(2, n)]]


def order_preserving(n: int) -> Letters:
    """All order-preserving maps of n points."""
    found = []
    for i in range(n - 1):
        found += [[i + 1 if x == i else x for x in range(n)], [i if x == i + 1 else x for x in range(n)]]
    return found


def counter(n: int) -> Letters:
    """Up and down on 0 … n, with a dead point n + 1."""
    up = [*range(1, n + 1), n + 1, n + 1]
    down = [n + 1, *range(n), n + 1]
    return [up, down]


def every_pair(n: int) -> Iterator[Letters]:
    """Every automaton with n states and two letters."""
    maps = list(itertools.product(range(n), repeat=n))
    for first, second in itertools.product(maps, repeat=2):
        yield [list(first), list(second)]


def some(count: int, seed: int, *, points: tuple[int, int], letters: tuple[int, int]) -> Iterator[Letters]:
    """Random letters; half of them permutations, to have groups, or of small steps, to have few of them."""
    random_numbers = random.Random(seed)
    for _ in range(count):
        n = random_numbers.randint(*points)
        found = []
        for _ in range(random_numbers.randint(*letters)):
            kind = random_numbers.random()
            if kind < 0.25:
                images = random_numbers.sample(range(n), n)
            elif kind < 0.5:
                images = [min(n - 1, max(0, x + random_numbers.randint(-1, 1))) for x in range(n)]
            else:
                images = [random_numbers.randrange(n) for _ in range(n)]
            found.append(images)
        yield found


@dataclass(frozen=True)
class Opinion:
    """What libsemigroups counts; of the semigroup, without an identity that no product gives."""

    size: int
    idempotents: int
    has_identity: bool
    r_classes: int
    l_classes: int
    d_classes: int
    h_classes: int
    regular_d_classes: int


def opinion(letters: Letters) -> Opinion:
    quiet = ls.ReportGuard(False)
    generators = [ls.Transf(list(images)) for images in letters]
    enumerated = ls.FroidurePin(*generators)
    structure = ls.Konieczny(*generators)
    structure.run()
    assert structure.size() == enumerated.size()
    found = Opinion(
        size=enumerated.size(),
        idempotents=enumerated.number_of_idempotents(),
        has_identity=enumerated.contains(ls.Transf(list(range(len(letters[0]))))),
        r_classes=structure.number_of_R_classes(),
        l_classes=structure.number_of_L_classes(),
        d_classes=structure.number_of_D_classes(),
        h_classes=structure.number_of_H_classes(),
        regular_d_classes=structure.number_of_regular_D_classes(),
    )
    del quiet  # as long as it lives, nothing is printed
    return found
