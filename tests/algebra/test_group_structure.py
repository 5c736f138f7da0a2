"""Names and structure of groups: one name for each type, in every representation; facts against sympy."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter

import pytest
import sympy.combinatorics as sc

from nerode.algebra import group_structure as module
from nerode.algebra.group_structure import composition_factors, describe_group
from nerode.algebra.permutation_groups import PermutationGroup, prime_multiplicities
from nerode.algebra.permutations import permutation_order, power
from tests.algebra import named_groups as build
from tests.timing import within

SMALL: dict[str, build.Generators] = {
    "Z2": build.symmetric(2),
    "Z3": build.alternating(3),
    "Z4": build.cyclic(4),
    "Z60": build.product(build.cyclic(3), build.cyclic(4), build.cyclic(5)),
    "Z2xZ2": build.product(build.cyclic(2), build.cyclic(2)),
    "Z2xZ4": build.product(build.cyclic(4), build.cyclic(2)),
    "Z2xZ2xZ2": build.product(*[build.cyclic(2)] * 3),
    "Z3xZ3": build.product(build.cyclic(3), build.cyclic(3)),
    "Z2xZ6": build.product(build.cyclic(2), build.cyclic(2), build.cyclic(3)),
    "Z2xZ2xZ12": build.product(build.cyclic(4), build.cyclic(6), build.cyclic(2)),
    "S3": build.dihedral(3),
    "D4": build.wreath(build.cyclic(2), build.cyclic(2)),
    "D5": build.dihedral(5),
    "D6": build.product(build.symmetric(3), build.cyclic(2)),
    "D7": build.dihedral(7),
    "D10": build.product(build.dihedral(5), build.cyclic(2)),
    "D12": build.dihedral(12),
    "D15": build.dihedral(15),
    "Q8": build.dicyclic(2),
    "Q16": build.dicyclic(4),
    "Q32": build.dicyclic(8),
    "Dic3": build.dicyclic(3),
    "Dic5": build.dicyclic(5),
    "Dic6": build.dicyclic(6),
    "Dic15": build.dicyclic(15),
    "F20": build.affine(5, 2),
    "F21": build.affine(7, 2),
    "F42": build.affine(7, 3),
    "F55": build.affine(11, 3),
    "A4": build.alternating(4),
    "S4": build.symmetric(4),
    "A5": build.projective_line(5, with_squares_only=True),
    "S5": build.projective_line(5, with_squares_only=False),
    "A4xZ5": build.product(build.alternating(4), build.cyclic(5)),
    "A4xZ2": build.product(build.cyclic(2), build.alternating(4)),
    "S4xZ2": build.wreath(build.cyclic(2), build.symmetric(3)),
    "S3xZ3": build.wreath(build.cyclic(3), build.cyclic(2)),
    "S3xS3": build.product(build.symmetric(3), build.symmetric(3)),
    "S3xZ4": build.product(build.symmetric(3), build.cyclic(4)),
    "S3xZ2xZ2": build.product(build.dihedral(6), build.cyclic(2)),
    "S3xZ6": build.product(build.dihedral(6), build.cyclic(3)),
    "D4xZ2": build.product(build.dihedral(4), build.cyclic(2)),
    "Q8xZ3": build.product(build.dicyclic(2), build.cyclic(3)),
    "D4xS3": build.product(build.symmetric(3), build.dihedral(4)),
    "A5xZ2": build.product(build.alternating(5), build.cyclic(2)),
    "PSL(2,7)": build.invertible_over_2(3),
}

LARGER: dict[str, build.Generators] = {
    "A6": build.alternating(6),
    "S6": build.symmetric(6),
    "A7": build.on_subsets(build.alternating(7), 2),
    "S7": build.on_subsets(build.symmetric(7), 3),
    "S8": build.on_subsets(build.symmetric(8), 2),
    "A8": build.on_subsets(build.alternating(8), 2),
    "PSL(2,11)": build.projective_line(11, with_squares_only=True),
    "PSL(2,13)": build.projective_line(13, with_squares_only=True),
    "PSL(2,19)": build.projective_line(19, with_squares_only=True),
    "S12": build.symmetric(12),
    "A20": build.alternating(20),
    "S12xS5": build.product(build.symmetric(5), build.symmetric(12)),
    "A5xS3": build.product(build.alternating(5), build.symmetric(3)),
    "S4xS4": build.product(build.symmetric(4), build.symmetric(4)),
    "A9xA5xZ6": build.product(build.alternating(5), build.cyclic(6), build.alternating(9)),
    "D100": build.dihedral(100),
}


def order_statistics(generators: build.Generators) -> Counter[int]:
    """How many elements have which order, by brute force."""
    found: Counter[int] = Counter()
    for g in build.elements(generators):
        order, power = 1, g
        while power != tuple(range(len(g))):
            power = build.after(power, g)
            order += 1
        found[order] += 1
    return found


@pytest.mark.parametrize("name", SMALL)
def test_a_name_does_not_depend_on_the_representation(name: str) -> None:
    generators = SMALL[name]
    natural = describe_group(PermutationGroup(generators))
    assert natural.name == name
    for other in (
        build.regular(generators),
        build.relabelled(generators, 1),
        build.relabelled(generators, 2),
    ):
        structure = describe_group(PermutationGroup(other))
        assert structure.name == name
        assert structure.order == natural.order
        assert structure.exponent == natural.exponent
        assert structure.factors == natural.factors
        assert structure.derived_length == natural.derived_length
    both = [g + tuple(len(g) + x for x in g) for g in generators]
    assert describe_group(PermutationGroup(both)).name == name


@pytest.mark.parametrize("name", SMALL)
def test_facts_agree_with_sympy_and_brute_force(name: str) -> None:
    generators = SMALL[name]
    structure = describe_group(PermutationGroup(generators))
    oracle = sc.PermutationGroup([sc.Permutation(list(g)) for g in generators])
    statistics = order_statistics(generators)
    assert structure.order == oracle.order()
    assert structure.degree == len(generators[0])
    assert structure.abelian == oracle.is_abelian
    assert structure.nilpotent == oracle.is_nilpotent
    assert structure.solvable == oracle.is_solvable
    assert structure.cyclic == (structure.order in statistics)
    assert structure.exponent == math.lcm(*statistics)
    if oracle.is_solvable:
        assert structure.derived_length == len(oracle.derived_series()) - 1
        primes = sorted(p for p, k in prime_multiplicities(structure.order).items() for _ in range(k))
        assert structure.factors == tuple(f"Z{p}" for p in primes)
    else:
        assert structure.derived_length is None
    assert structure.simple == (len(structure.factors) == 1)


@pytest.mark.parametrize("name", LARGER)
def test_larger_groups_are_named_too(name: str) -> None:
    group = PermutationGroup(LARGER[name])
    assert describe_group(group).name == name
    assert describe_group(PermutationGroup(build.relabelled(LARGER[name], 5))).name == name


def test_different_small_groups_never_share_a_name() -> None:
    # Groups of permutations of 8 points, many of them isomorphic and many not.
    shuffler = random.Random(7)
    seen: dict[str, set[tuple[object, ...]]] = {}
    for _ in range(400):
        generators = []
        for _ in range(shuffler.randint(1, 3)):
            images = list(range(8))
            shuffler.shuffle(images)
            order = permutation_order(tuple(images))
            generators.append(
                power(tuple(images), order // shuffler.choice([*prime_multiplicities(order), order]))
            )
        group = PermutationGroup(generators)
        if group.order > 400:
            continue
        structure = describe_group(group)
        invariants = (
            structure.order,
            tuple(sorted(order_statistics(generators).items())),
            tuple(g.order for g in group.derived_series),
        )
        seen.setdefault(structure.name, set()).add(invariants)
    named = {name: kinds for name, kinds in seen.items() if not name.startswith("group")}
    assert len(named) > 25
    assert {name: kinds for name, kinds in named.items() if len(kinds) > 1} == {}


def test_every_group_of_order_below_16_has_a_name() -> None:
    # How many groups there are of each order, and one of each.
    expected = {
        8: {"Z8", "Z2xZ4", "Z2xZ2xZ2", "D4", "Q8"},
        9: {"Z9", "Z3xZ3"},
        10: {"Z10", "D5"},
        12: {"Z12", "Z2xZ6", "A4", "D6", "Dic3"},
        14: {"Z14", "D7"},
    }
    groups = [
        *(build.cyclic(n) for n in range(2, 16)),
        *(build.dihedral(n) for n in (3, 4, 5, 6, 7)),
        *SMALL.values(),
    ]
    found: dict[int, set[str]] = {}
    for generators in groups:
        structure = describe_group(PermutationGroup(generators))
        found.setdefault(structure.order, set()).add(structure.name)
    for order, names in expected.items():
        assert found[order] == names
    assert found[15] == {"Z15"}


@pytest.mark.parametrize(
    ("name", "factors"),
    [
        ("Z1", [("Z", 1)]),
        ("Z2xZ6", [("Z", 2), ("Z", 6)]),
        ("D4xS3", [("D", 4), ("S", 3)]),
        ("Q8xZ3", [("Q", 8), ("Z", 3)]),
        ("A4xZ5", [("A", 4), ("Z", 5)]),
        ("PSL(2,7)", [("PSL", 7)]),
    ],
)
def test_a_name_is_the_product_of_its_direct_factors(name: str, factors: list[tuple[str, int]]) -> None:
    group = PermutationGroup(SMALL.get(name, []), None if name in SMALL else 3)
    found = describe_group(group).direct_factors
    assert [(factor.family, factor.number) for factor in found] == factors
    assert "x".join(map(str, found)) == name


def test_only_the_groups_of_polygons_are_dihedral() -> None:
    dihedral = {name for name in SMALL if describe_group(PermutationGroup(SMALL[name])).is_dihedral}
    assert dihedral == {"S3", "D4", "D5", "D6", "D7", "D10", "D12", "D15"}


@pytest.mark.parametrize(
    "generators",
    [
        build.matrices_on_vectors(3, build.SHEARS),
        build.wreath(build.symmetric(3), build.cyclic(2)),
        build.projective_line(7, with_squares_only=False),
        build.mathieu_11(),
    ],
)
def test_a_group_of_no_known_family_has_no_direct_factors(generators: build.Generators) -> None:
    structure = describe_group(PermutationGroup(generators))
    assert structure.direct_factors == ()
    assert structure.name == f"group of order {structure.order}"


def test_groups_without_a_name_say_their_order() -> None:
    modular = describe_group(PermutationGroup(build.affine(8, 5)))
    assert modular.name == "group of order 16"
    assert modular.nilpotent
    wreath = describe_group(PermutationGroup(build.wreath(build.symmetric(3), build.symmetric(4))))
    assert wreath.name == "group of order 31104"
    assert wreath.solvable
    assert wreath.exponent is None
    perfect = describe_group(PermutationGroup(build.wreath(build.symmetric(5), build.cyclic(2))))
    assert perfect.factors == ("Z2", "Z2", "Z2", "A5", "A5")
    assert not perfect.simple


def test_the_trivial_group() -> None:
    structure = describe_group(PermutationGroup([], 4))
    assert (structure.name, structure.order, structure.factors) == ("Z1", 1, ())
    assert structure.cyclic
    assert structure.abelian
    assert structure.nilpotent
    assert structure.solvable
    assert not structure.simple
    assert structure.exponent == 1
    assert structure.derived_length == 0


def test_the_three_groups_above_a6() -> None:
    # Affine maps of the field with nine elements and x → -1/x give PGL(2,9) on ten points.
    nine = [(a, b) for a in range(3) for b in range(3)]

    def times(x: tuple[int, int], y: tuple[int, int]) -> tuple[int, int]:
        # (a, b) is a + b·i with i² = -1.
        return (x[0] * y[0] - x[1] * y[1]) % 3, (x[0] * y[1] + x[1] * y[0]) % 3

    def permutation(f: object) -> build.Images:
        return tuple(f(k) for k in range(10))  # type: ignore[operator]

    root = (1, 1)
    shift = permutation(lambda k: 9 if k == 9 else nine.index(((nine[k][0] + 1) % 3, nine[k][1])))
    scale = permutation(lambda k: 9 if k == 9 else nine.index(times(nine[k], root)))
    square = build.after(scale, scale)
    frobenius = permutation(lambda k: 9 if k == 9 else nine.index((nine[k][0], -nine[k][1] % 3)))
    inverse = {k: next(j for j in range(1, 9) if times(nine[k], nine[j]) == (2, 0)) for k in range(1, 9)}
    turn = (9, *(inverse[k] for k in range(1, 9)), 0)
    names = {
        "A6": [shift, square, turn],
        "S6": [shift, square, turn, frobenius],
    }
    for name, generators in names.items():
        assert describe_group(PermutationGroup(generators)).name == name
    # PGL(2,9) and M10 have a trivial centre and A6 with index 2, too.
    for other in ([shift, scale, turn], [shift, square, turn, build.after(scale, frobenius)]):
        assert describe_group(PermutationGroup(other)).name == "group of order 720"


@pytest.mark.parametrize(
    "generators",
    [
        build.symmetric(12),
        build.alternating(20),
        build.wreath(build.symmetric(10), build.cyclic(2)),
        build.mathieu_12(),
    ],
)
def test_large_groups_are_described_without_listing_them(generators: build.Generators) -> None:
    structure = within(0.5, lambda: describe_group(PermutationGroup(build.relabelled(generators, 9))))
    assert structure.order > 10_000


def test_composition_factors_multiply_to_the_order() -> None:
    orders = {"A5": 60, "A6": 360, "A7": 2520, "PSL(2,7)": 168}
    cases = [
        build.wreath(build.symmetric(5), build.symmetric(3)),
        build.wreath(build.symmetric(6), build.cyclic(2)),
        build.product(build.symmetric(7), build.symmetric(5), build.cyclic(6)),
        build.wreath(build.cyclic(3), build.alternating(5)),
        build.wreath(build.invertible_over_2(3), build.cyclic(2)),
    ]
    for generators in cases:
        group = PermutationGroup(generators)
        factors = composition_factors(group)
        assert math.prod(orders.get(f) or int(f[1:]) for f in factors) == group.order


def test_a_primitive_group_that_is_not_simple_is_cut() -> None:
    # Affine maps of the space with 16 vectors: perfect, primitive, 322,560 elements, one translation class.
    vectors = [tuple(k >> i & 1 for i in range(4)) for k in range(16)]
    shift = tuple(k ^ 1 for k in range(16))
    cycle = tuple(vectors.index((v[3], v[0], v[1], v[2])) for v in vectors)
    shear = tuple(vectors.index(((v[0] + v[1]) % 2, v[1], v[2], v[3])) for v in vectors)
    group = PermutationGroup([shift, cycle, shear])
    assert group.order == 322_560
    assert composition_factors(group) == ("Z2", "Z2", "Z2", "Z2", "A8")


def test_two_simple_groups_of_order_20160() -> None:
    field = [(0, 0), (0, 1), (1, 0), (1, 1)]

    def times(x: tuple[int, int], y: tuple[int, int]) -> tuple[int, int]:
        # The field with four elements: (a, b) is a·w + b with w² = w + 1.
        high = x[0] * y[0]
        return (x[0] * y[1] + x[1] * y[0] + high) % 2, (x[1] * y[1] + high) % 2

    points = [
        p for p in itertools.product(field, repeat=3) if next((x for x in p if x != (0, 0)), None) == (0, 1)
    ]
    number = {p: i for i, p in enumerate(points)}

    def act(matrix: list[list[tuple[int, int]]]) -> build.Images:
        images = []
        for p in points:
            moved = []
            for column in range(3):
                total = (0, 0)
                for row in range(3):
                    part = times(p[row], matrix[row][column])
                    total = ((total[0] + part[0]) % 2, (total[1] + part[1]) % 2)
                moved.append(total)
            lead = next(x for x in moved if x != (0, 0))
            inverse = next(x for x in field if times(x, lead) == (0, 1))
            images.append(number[tuple(times(x, inverse) for x in moved)])
        return tuple(images)

    o, i, w = (0, 0), (0, 1), (1, 0)
    psl = PermutationGroup(
        [
            act([[i, i, o], [o, i, o], [o, o, i]]),
            act([[i, w, o], [o, i, o], [o, o, i]]),
            act([[o, i, o], [o, o, i], [i, o, o]]),
        ]
    )
    assert psl.order == 20160
    structure = describe_group(psl)
    assert structure.simple
    assert structure.name == "group of order 20160"
    assert structure.factors == ("simple group of order 20160",)
    assert composition_factors(PermutationGroup(build.on_subsets(build.alternating(8), 2))) == ("A8",)


@pytest.mark.parametrize(
    ("generators", "name"),
    [
        (build.mathieu_11(), "simple group of order 7920"),
        (build.mathieu_12(), "simple group of order 95040"),
        (build.projective_line(23, with_squares_only=True), "PSL(2,23)"),
        (build.projective_line(31, with_squares_only=True), "PSL(2,31)"),
        (build.invertible_over_2(5), "simple group of order 9999360"),
    ],
)
def test_large_simple_groups_are_proved_simple(generators: build.Generators, name: str) -> None:
    assert composition_factors(PermutationGroup(generators)) == (name,)


def test_what_is_not_resolved_is_not_called_simple(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TRIALS", 0)
    structure = describe_group(PermutationGroup(build.relabelled(build.mathieu_11(), 77)))
    assert structure.factors == ("perfect group of order 7920",)
    assert structure.name == "group of order 7920"
    assert not structure.simple
    assert not structure.solvable
