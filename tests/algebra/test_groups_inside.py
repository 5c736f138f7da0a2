"""Groups inside the monoid, found on images."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st
from libsemigroups_pybind11 import FroidurePin, ReportGuard, Transf

from nerode.algebra.components import component_actions
from nerode.algebra.groups_inside import (
    find_counter,
    groups_inside,
    is_counter,
    is_orderly,
    pair_labels,
    search_groups,
    swapped_pair,
)
from nerode.algebra.permutation_groups import PermutationGroup
from nerode.algebra.records import CounterWitness
from nerode.core import Budget, BudgetExceeded, InputError
from nerode.languages import Alphabet, Dfa, minimise
from nerode.languages.regex import regex_to_dfa
from tests.algebra.semigroups import Semigroup, random_dfa, semigroup
from tests.strategies import all_words, dfas
from tests.timing import within


def full_transformations(n: int) -> Dfa:
    """An automaton whose monoid is that of all maps of n points."""
    rows = [[(q + 1) % n, {0: 1, 1: 0}.get(q, q), 1 if q == 0 else q] for q in range(n)]
    return Dfa(alphabet=Alphabet(("a", "b", "c")), transitions=rows, start=0, accepting=np.arange(n) == 0)


def maximal_subgroup_orders(s: Semigroup) -> set[int]:
    """Orders of the maximal subgroups, counted element by element around each idempotent."""
    inside = range(s.size)
    return {
        sum(
            s.table[e, g] == g
            and s.table[g, e] == g
            and any(s.table[g, h] == e == s.table[h, g] for h in inside)
            for g in inside
        )
        for e in s.idempotents
    }


@given(dfas(max_states=4, max_letters=2).map(minimise))
def test_orders_are_those_of_the_maximal_subgroups(dfa: Dfa) -> None:
    s = semigroup(dfa, 200)
    if s is None:
        return
    found = groups_inside(dfa)
    assert {g.structure.order for g in found} == maximal_subgroup_orders(s) - {1}
    assert all(g.scope == "monoid" for g in found)
    orders = [g.structure.order for g in found]
    assert orders == sorted(orders, reverse=True)


@given(dfas(max_states=6, max_letters=3).map(minimise))
def test_the_words_permute_the_points_and_generate_the_group(dfa: Dfa) -> None:
    for group in groups_inside(dfa):
        permutations = []
        for word in group.generators:
            action = dfa.action(word)
            assert {int(action[q]) for q in group.points} == set(group.points)
            permutations.append([group.points.index(int(action[q])) for q in group.points])
        assert PermutationGroup(permutations).order == group.structure.order > 1
        for some in itertools.combinations(permutations, len(permutations) - 1):
            assert PermutationGroup(some, len(group.points)).order < group.structure.order


def test_all_maps_of_ten_points_in_two_seconds() -> None:
    found = within(2, lambda: groups_inside(full_transformations(10)))
    assert [g.structure.name for g in found] == ["S10", "S9", "S8", "S7", "S6", "S5", "S4", "S3", "Z2"]


def test_components_stand_in_where_the_whole_has_too_many_images() -> None:
    # Ten independent swaps of two states each, and a letter that resets inside each component: the images
    # of all states are many, those of one component are few.
    width = 14
    rows = []
    for i in range(width):
        for q in (0, 1):
            row = [2 * i + q] * (2 * width)
            row[2 * i] = 2 * i + 1 - q
            row[2 * i + 1] = 2 * i
            rows.append(row)
    start = [2 * i for i in range(width)] * 2
    rows.append(start)
    dfa = Dfa(
        alphabet=Alphabet(tuple(f"a{j}" for j in range(2 * width))),
        transitions=rows,
        start=2 * width,
        accepting=[q % 2 == 0 for q in range(2 * width)] + [False],
    )
    search = search_groups(dfa, Budget(images=200))
    assert search.complete
    assert [(g.structure.name, g.scope) for g in search.groups] == [("Z2", "component")]


def test_a_search_that_stops_says_what_it_found() -> None:
    dfa = full_transformations(10)
    search = search_groups(dfa, Budget(images=30))
    assert not search.complete
    with pytest.raises(BudgetExceeded, match="groups") as caught:
        groups_inside(dfa, Budget(images=30))
    assert "groups" in caught.value.known_so_far


def test_a_star_free_language_has_no_groups() -> None:
    dfa = Dfa.build("ab", {0: {"a": 1}, 1: {"b": 0}}, start=0, accept=[0])
    assert groups_inside(dfa) == ()


def check(dfa: Dfa, witness: CounterWitness) -> None:
    """Runs the words themselves: no shortcut shared with the code under test."""
    assert witness.period >= 2
    answers = [dfa.accepts(witness.word(n)) for n in range(4 * witness.period + 1)]
    period = answers[: witness.period]
    assert len(set(period)) == 2
    assert all(answer == period[n % witness.period] for n, answer in enumerate(answers))


def is_aperiodic_by_libsemigroups(dfa: Dfa) -> bool:
    """x^(m+1) = x^m for every element, with m the number of elements: from the definition, on their table."""
    ReportGuard(False)
    if dfa.num_states == 1:
        return True
    monoid = FroidurePin([Transf(column) for column in dfa.transitions.T.tolist()])
    for x in monoid:
        seen, power = [], x
        while power not in seen:
            seen.append(power)
            power = power * x
        if power != seen[-1]:
            return False
    return True


def test_agrees_with_libsemigroups_on_random_automata() -> None:
    rng = np.random.default_rng(3)
    answers = []
    while len(answers) < 300:
        dfa = random_dfa(rng, most_states=5, most_letters=3)
        witness = find_counter(dfa)
        assert (witness is None) == is_aperiodic_by_libsemigroups(dfa)
        if witness is not None:
            check(dfa, witness)
        answers.append(witness is None)
    assert 50 < sum(answers) < 250


def test_agrees_with_libsemigroups_on_all_automata_with_two_letters_and_three_states() -> None:
    seen = set()
    for n in (1, 2, 3):
        for cells in itertools.product(range(n), repeat=2 * n):
            for accepting in itertools.product((False, True), repeat=n):
                dfa = minimise(
                    Dfa(
                        alphabet=Alphabet(("a", "b")),
                        transitions=np.array(cells).reshape(n, 2),
                        start=0,
                        accepting=np.array(accepting),
                    )
                )
                if dfa in seen:
                    continue
                seen.add(dfa)
                witness = find_counter(dfa)
                assert (witness is None) == is_aperiodic_by_libsemigroups(dfa)
                if witness is not None:
                    check(dfa, witness)
    # 2 of one state, 24 of two and 1028 of three states: the number of regular languages over two letters
    # by state complexity.
    assert [sum(d.num_states == n for d in seen) for n in (1, 2, 3)] == [2, 24, 1028]


@given(dfas(max_states=6, max_letters=3).map(minimise))
def test_the_pair_graph_never_contradicts_the_images(dfa: Dfa) -> None:
    labels = [pair_labels(action) for action in component_actions(dfa)]
    star_free = find_counter(dfa) is None
    if any(swapped_pair(component) for component in labels):
        assert not star_free
    if all(map(is_orderly, labels)):
        assert star_free


def order_preserving(n: int) -> Dfa:
    """All order-preserving maps of n points: 2ⁿ images, but the pairs show that there is no counter."""
    table = np.empty((n, 2 * n - 2), dtype=int)
    for i in range(n - 1):
        table[:, 2 * i] = [i + 1 if q == i else q for q in range(n)]
        table[:, 2 * i + 1] = [i if q == i + 1 else q for q in range(n)]
    return Dfa(
        alphabet=Alphabet(tuple(f"a{j}" for j in range(2 * n - 2))),
        transitions=table,
        start=0,
        accepting=np.arange(n) == 0,
    )


def test_order_preserving_automata_need_no_images() -> None:
    assert find_counter(order_preserving(40), Budget(images=1000)) is None


def test_a_counter_that_only_long_words_show() -> None:
    """Three points rotate only through a detour: no letter turns, no two points are swapped."""
    dfa = Dfa.build(
        "abc",
        {
            0: {"a": 3},
            1: {"a": 4},
            2: {"a": 5},
            3: {"b": 4},
            4: {"b": 5},
            5: {"b": 3, "c": 0},
        },
        start=0,
        accept=[0],
    )
    assert find_counter(minimise(dfa)) is not None
    rotating = Dfa.build(
        "ab",
        {0: {"a": 3}, 1: {"a": 4}, 2: {"a": 5}, 3: {"b": 1}, 4: {"b": 2}, 5: {"b": 0}},
        start=0,
        accept=[0],
    )
    witness = find_counter(minimise(rotating))
    assert witness is not None
    assert (len(witness.prefix), len(witness.loop), len(witness.suffix), witness.period) == (0, 2, 0, 3)


@pytest.mark.parametrize("order", [2, 3, 5, 7])
def test_modular_counters(order: int) -> None:
    dfa = Dfa.build("ab", lambda i, s: (i + (s == "a")) % order, start=0, accept=[0])
    witness = find_counter(dfa)
    assert witness == CounterWitness(prefix=(), loop=(0,), suffix=(), period=order)


def test_an_automaton_that_is_not_minimal_is_refused() -> None:
    dfa = Dfa(alphabet=Alphabet(("a",)), transitions=[[1], [0]], start=0, accepting=[True, True])
    with pytest.raises(InputError, match="minimal"):
        find_counter(dfa)


def test_a_small_budget_raises() -> None:
    dfa = regex_to_dfa("(a|b)*abaab(a|b)*")
    with pytest.raises(BudgetExceeded, match="seconds"):
        find_counter(dfa, Budget(seconds=1e-9))


def test_the_loop_of_a_witness_is_as_short_as_can_be() -> None:
    rng = np.random.default_rng(8)
    compared = 0
    while compared < 100:
        dfa = random_dfa(rng, most_states=5, most_letters=2)
        witness = find_counter(dfa)
        if witness is None:
            continue
        compared += 1
        turning = (
            w for w in all_words(dfa.num_letters, 8) if w and not settles(tuple(dfa.action(w).tolist()))
        )
        assert len(witness.loop) == len(next(turning))


def settles(x: tuple[int, ...]) -> bool:
    """Whether iterating a map brings every point to a fixed point."""
    for q in range(len(x)):
        for _ in range(len(x)):
            q = x[q]
        if x[q] != q:
            return False
    return True


def test_a_long_chain_is_seen_to_keep_the_order_of_its_states() -> None:
    depth = 3000
    dfa = Dfa.build(
        "ab",
        lambda d, s: d + 1 if s == "a" and d < depth else d - 1 if s == "b" and d > 0 else None,
        start=0,
        accept=[0],
    )
    assert find_counter(minimise(dfa), Budget(images=10)) is None


@given(dfas(max_states=6, max_letters=2).map(minimise), st.data())
def test_a_wrong_witness_is_refused(dfa: Dfa, data: st.DataObject) -> None:
    """`is_counter` says yes exactly when the words behave, for witnesses drawn at random."""
    letters = st.lists(st.integers(0, dfa.num_letters - 1), max_size=3).map(tuple)
    witness = CounterWitness(
        prefix=data.draw(letters),
        loop=data.draw(letters.filter(bool)),
        suffix=data.draw(letters),
        period=data.draw(st.integers(2, 6)),
    )
    answers = [dfa.accepts(witness.word(n)) for n in range(40)]
    states = [dfa.run(witness.prefix + witness.loop * n) for n in range(40)]
    behaves = (
        states[0] in states[1:]
        and len(set(answers)) == 2
        and min(d for d in range(1, 20) if all(answers[i] == answers[i + d] for i in range(20)))
        == witness.period
    )
    assert is_counter(dfa, witness) == behaves
