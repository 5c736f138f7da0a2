"""Groups and monoids by name against sympy, libsemigroups and direct multiplication."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings, strategies as st
from sympy.combinatorics import Permutation, PermutationGroup
from sympy.combinatorics.named_groups import (
    AbelianGroup,
    AlternatingGroup,
    CyclicGroup,
    DihedralGroup,
    SymmetricGroup,
)

from nerode.core import Budget, BudgetExceeded, InputError, UnknownName
from nerode.languages import groups
from nerode.languages.groups import canonical_name, direct_product, is_monoid_name, monoid_order
from nerode.languages.groups.families import FiniteMonoid, _cycles
from tests.languages.bestiary.transition_monoid import maximal_subgroups, monoid_elements, monoid_size
from tests.languages.brute_force import assert_language_is

# Hypothesis asks for the same few again and again.
finite_monoid = functools.cache(groups.finite_monoid)
word_problem = functools.cache(groups.word_problem)

ORDERS = {
    "Z2": 2,
    "Z60": 60,
    "S2": 2,
    "S3": 6,
    "S5": 120,
    "A3": 3,
    "A4": 12,
    "A5": 60,
    "D3": 6,
    "D4": 8,
    "Q8": 8,
    "A4xZ5": 60,
    "Z2xZ2": 4,
    "Z2xZ2xZ3": 12,
    "T2": 4,
    "T3": 27,
    "U1": 2,
    "U2": 3,
    "C(2,3)": 5,
    "C(1,1)": 2,
}

SYMPY = {
    "Z12": CyclicGroup(12),
    "S2": SymmetricGroup(2),
    "S4": SymmetricGroup(4),
    "S5": SymmetricGroup(5),
    "A4": AlternatingGroup(4),
    "A5": AlternatingGroup(5),
    "D4": DihedralGroup(4),
    "D5": DihedralGroup(5),
    "Z2xZ2": AbelianGroup(2, 2),
    "Z4xZ2": AbelianGroup(4, 2),
    "S3xZ2": DihedralGroup(6),
    "Q8": PermutationGroup(
        Permutation([1, 4, 3, 6, 5, 0, 7, 2]),
        Permutation([2, 7, 4, 1, 6, 3, 0, 5]),
    ),
}

GROUPS = [name for name in ORDERS if finite_monoid(name).is_group]


def element_orders(monoid: FiniteMonoid) -> Counter[int]:
    orders: Counter[int] = Counter()
    for x in range(monoid.order):
        power, k = x, 1
        while power != monoid.identity:
            power, k = monoid.product(power, x), k + 1
        orders[k] += 1
    return orders


@pytest.mark.parametrize(("name", "order"), ORDERS.items())
def test_order_is_known_before_and_after_building(name: str, order: int) -> None:
    monoid = finite_monoid(name)
    assert monoid_order(name) == order == monoid.order == len(monoid.element_names)
    assert monoid.name == name


@pytest.mark.parametrize(("name", "group"), SYMPY.items())
def test_group_has_as_many_elements_of_each_order_as_in_sympy(name: str, group: PermutationGroup) -> None:
    assert element_orders(finite_monoid(name)) == Counter(p.order() for p in group.elements)


def test_q8_and_d4_are_told_apart() -> None:
    assert element_orders(finite_monoid("Q8")) == {1: 1, 2: 1, 4: 6}
    assert element_orders(finite_monoid("D4")) == {1: 1, 2: 5, 4: 2}


@pytest.mark.parametrize("name", ORDERS)
def test_generators_generate(name: str) -> None:
    monoid = finite_monoid(name)
    reached, frontier = {monoid.identity}, {monoid.identity}
    while frontier:
        frontier = {monoid.product(x, g) for x in frontier for g in monoid.generators} - reached
        reached |= frontier
    assert len(reached) == monoid.order


@pytest.mark.parametrize("name", ORDERS)
@settings(max_examples=25)
@given(data=st.data())
def test_multiplication_is_associative_with_identity(name: str, data: st.DataObject) -> None:
    monoid = finite_monoid(name)
    element = st.integers(0, monoid.order - 1)
    x, y, z = (data.draw(element) for _ in range(3))
    assert monoid.product(monoid.product(x, y), z) == monoid.product(x, monoid.product(y, z))
    assert monoid.product(x, y, z) == monoid.product(monoid.product(x, y), z)
    assert monoid.product(monoid.identity, x) == x == monoid.product(x, monoid.identity)
    assert monoid.product() == monoid.identity


@pytest.mark.parametrize("name", ORDERS)
def test_exactly_the_groups_have_inverses(name: str) -> None:
    monoid = finite_monoid(name)
    everything = range(monoid.order)
    invertible = [
        any(monoid.product(x, y) == 0 == monoid.product(y, x) for y in everything) for x in everything
    ]
    assert all(invertible) == monoid.is_group


@pytest.mark.parametrize("name", ["S4", "A5"])
@settings(max_examples=25)
@given(data=st.data())
def test_permutations_multiply_as_in_sympy(name: str, data: st.DataObject) -> None:
    group = finite_monoid(name)
    x, y = (data.draw(st.integers(0, group.order - 1)) for _ in range(2))
    # sympy, too, applies the left factor first.
    product = Permutation(list(group.values[x])) * Permutation(list(group.values[y]))
    assert list(group.values[group.product(x, y)]) == product.array_form


def test_elements_have_readable_names() -> None:
    assert set(finite_monoid("S3").element_names) == {"e", "(12)", "(13)", "(23)", "(123)", "(132)"}
    assert finite_monoid("Z60").element_names == tuple(map(str, range(60)))
    assert finite_monoid("D4").element_names == ("e", "r", "r2", "r3", "s", "rs", "r2s", "r3s")
    assert finite_monoid("Z2xZ2").element_names == ("0,0", "0,1", "1,0", "1,1")
    assert finite_monoid("U2").element_names == ("hold", "set", "reset")
    assert _cycles((1, 2, 3, 4, 5, 6, 7, 8, 9, 0)) == "(1,2,3,4,5,6,7,8,9,10)"


def test_elements_are_found_by_name() -> None:
    s3 = finite_monoid("S3")
    assert s3.element_names[s3.product(s3.element("(12)"), s3.element("(13)"))] == "(123)"
    with pytest.raises(InputError, match=r"S3 has no element '\(45\)'"):
        s3.element("(45)")


@pytest.mark.parametrize(
    ("name", "letters"),
    [
        ("S5", ("(12)", "(12345)")),
        ("S2", ("(12)",)),
        ("A5", ("(123)", "(12345)")),
        ("A4", ("(123)", "(234)")),
        ("Z60", ("1",)),
        ("D4", ("r", "s")),
        ("Q8", ("i", "j")),
        ("A4xZ5", ("(123),0", "(234),0", "e,1")),
        ("T3", ("[213]", "[231]", "[113]")),
    ],
)
def test_generators_are_the_letters_of_the_short_form(name: str, letters: tuple[str, ...]) -> None:
    language = word_problem(name, over="generators")
    assert language.alphabet.symbols == letters
    assert language.name == f"{name}:generators"


def test_names_are_read_in_any_case_and_printed_in_one() -> None:
    assert canonical_name("a4XZ5") == "A4xZ5"
    assert canonical_name(" s5:Generators ") == "S5:generators"
    assert canonical_name("flip-flop-monoid") == "U2"
    assert canonical_name("cyclic-monoid-2-3") == canonical_name("c(2,3)") == "C(2,3)"
    assert all(map(is_monoid_name, ["z60", "Q8", "a5:generators", "A4xZ5"]))
    assert not any(map(is_monoid_name, ["", "x", "d-4", "q16", "z", "parity", "s3x"]))


@pytest.mark.parametrize("name", ["Z1", "S1", "S21", "D2", "A2", "C(0,3)"])
def test_numbers_out_of_range_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="outside"):
        finite_monoid(name)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownName, match="unknown group or monoid 'M11'"):
        finite_monoid("M11")
    with pytest.raises(InputError, match="products are taken of groups only"):
        finite_monoid("T3xZ2")
    with pytest.raises(InputError, match="products are taken of groups only"):
        direct_product([finite_monoid("Z2"), finite_monoid("U1")])


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("over", ["elements", "generators"])
@settings(max_examples=25)
@given(data=st.data())
def test_word_problem_accepts_exactly_the_products_that_are_the_identity(
    name: str, over: str, data: st.DataObject
) -> None:
    group = finite_monoid(name)
    language = word_problem(name, over="elements" if over == "elements" else "generators")
    letters = range(group.order) if over == "elements" else group.generators
    word = data.draw(st.lists(st.integers(0, len(letters) - 1), max_size=8))
    product = group.product(*(letters[a] for a in word))
    assert language.accepts(word) == (product == group.identity)
    # Any word becomes a member when the inverse of its product is appended.
    if over == "elements":
        inverse = next(x for x in range(group.order) if group.product(product, x) == group.identity)
        assert language.accepts([*word, inverse])


@given(st.lists(st.sampled_from(["(12)", "(12345)"]), max_size=40))
def test_s5_by_generators_agrees_with_sympy(word: list[str]) -> None:
    images = {"(12)": Permutation([1, 0, 2, 3, 4]), "(12345)": Permutation([1, 2, 3, 4, 0])}
    product = Permutation(4)
    for letter in word:
        product *= images[letter]
    assert word_problem("S5", over="generators").accepts(word) == product.is_Identity


@pytest.mark.parametrize("name", GROUPS)
def test_word_problem_has_one_state_for_each_element(name: str) -> None:
    for language in (word_problem(name), word_problem(name, over="generators")):
        assert language.num_states() == ORDERS[name]
        assert language.family == "group-word-problem"
        assert language.parameters == {"order": ORDERS[name]}
        assert monoid_size(language.dfa()) == ORDERS[name]


@pytest.mark.parametrize("name", ["T2", "T3", "U1", "U2", "C(2,3)", "C(1,1)", "C(3,1)", "C(1,4)"])
def test_the_language_of_a_monoid_has_that_monoid(name: str) -> None:
    language = word_problem(name)
    assert language.family == "monoid-word-problem"
    assert monoid_size(language.dfa()) == monoid_order(name)
    if name != "U1":
        assert monoid_size(word_problem(name, over="generators").dfa()) == monoid_order(name)


def test_group_of_a_cyclic_monoid_is_its_cycle() -> None:
    elements = monoid_elements(word_problem("C(2,3)", over="generators").dfa())
    assert maximal_subgroups(elements) == {(3, ((1, 1), (3, 2)))}


def test_monoid_languages_are_what_their_conventions_say() -> None:
    u2 = word_problem("U2")
    assert_language_is(
        u2, lambda w: next((a == "set" for a in reversed(w) if a != "hold"), False), longest=6, prefixes=4
    )
    assert_language_is(word_problem("U1"), lambda w: "0" not in w, longest=6, prefixes=5)
    powers = word_problem("C(2,3)", over="generators")
    assert [powers.accepts("x" * n) for n in range(12)] == [n in (4, 7, 10) for n in range(12)]

    def returns(word: Sequence[str]) -> bool:
        point = 1
        for letter in word:
            point = int(letter[point])
        return point == 1

    assert_language_is(word_problem("T3", over="generators"), returns, longest=6, prefixes=4)


def test_large_groups_are_refused_with_what_is_known() -> None:
    with pytest.raises(BudgetExceeded) as states:
        word_problem("S8", over="generators")
    assert states.value.resource == "states"
    assert states.value.known_so_far == {"order": 40_320}
    with pytest.raises(BudgetExceeded, match="ask for S7:generators") as elements:
        word_problem("S7")
    assert elements.value.known_so_far["order"] == 5040
    with pytest.raises(BudgetExceeded):
        finite_monoid("S20")
    with pytest.raises(BudgetExceeded):
        finite_monoid("S4").times(tuple(range(24)), Budget(bytes=100))
    assert word_problem("S7", over="generators").num_states() == 5040


def broken(**changes: object) -> FiniteMonoid:
    right: dict[str, object] = {
        "name": "Z2",
        "values": (0, 1),
        "element_names": ("0", "1"),
        "multiply": lambda x, y: (x + y) % 2,
        "generators": (1,),
        "is_group": True,
    }
    return FiniteMonoid(**(right | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": (0, 0)}, "not distinct"),
        ({"element_names": ("0", "0")}, "not distinct"),
        ({"element_names": ("0",)}, "not named one by one"),
        ({"generators": ()}, "generators"),
        ({"generators": (2,)}, "generators"),
        ({"values": (1, 0), "generators": (0,)}, "not its identity"),
        ({"is_group": False}, "needs a route"),
        ({"route": (0, 0)}, "needs a route"),
    ],
)
def test_a_monoid_that_is_none_is_refused(changes: dict[str, object], message: str) -> None:
    assert broken().order == 2
    with pytest.raises(InputError, match=message):
        broken(**changes)


def test_a_product_outside_the_elements_is_refused() -> None:
    not_closed = broken(multiply=lambda x, y: x + y)
    with pytest.raises(InputError, match="not closed"):
        not_closed.product(1, 1)


def test_tables_are_the_products() -> None:
    group = finite_monoid("D5")
    table = group.times(group.generators)
    assert table.tolist() == [[group.product(x, g) for g in group.generators] for x in range(10)]
    everything = group.times(tuple(range(10)))
    for x, y in itertools.product(range(10), repeat=2):
        assert everything[x, y] == group.product(x, y)
