"""What is stated about the rows of the bestiary, against libsemigroups and sympy."""

from __future__ import annotations

import contextlib
from collections import Counter

import pytest
from sympy.combinatorics import Permutation, PermutationGroup
from sympy.combinatorics.named_groups import (
    AbelianGroup,
    AlternatingGroup,
    CyclicGroup,
    DihedralGroup,
    SymmetricGroup,
)

from nerode.core import InputError, stream
from nerode.languages.bestiary import BESTIARY, find_language, suite
from nerode.languages.determinise import minimise
from nerode.languages.dfa import Dfa
from tests.languages.bestiary.facts import FACTS, _bounded_dyck
from tests.languages.bestiary.transition_monoid import (
    GroupProfile,
    is_aperiodic,
    maximal_subgroups,
    monoid_elements,
    monoid_size,
)


def test_every_row_has_facts_and_every_fact_a_reason() -> None:
    assert set(FACTS) == set(BESTIARY)
    for name, facts in FACTS.items():
        stated = [facts.num_states, facts.monoid_size, facts.star_free, facts.groups]
        assert all(fact is None for fact in stated) != facts.regular.value, name
        assert all(fact.why for fact in stated if fact is not None), name
        if facts.star_free is not None and facts.groups is not None:
            assert facts.star_free.value == (not facts.groups.value), name


def small_automaton(name: str) -> Dfa | None:
    """The automaton of a row, if it is regular and libsemigroups can take it."""
    language = BESTIARY[name].language()
    if not language.regular or (language.num_states() or 0) > 600:
        return None
    return language.dfa()


SMALL = [name for name in BESTIARY if small_automaton(name) is not None]


@pytest.mark.parametrize("name", SMALL)
def test_sizes_are_those_stated(name: str) -> None:
    facts = FACTS[name]
    automaton = small_automaton(name)
    assert automaton is not None
    assert facts.num_states is not None
    assert facts.monoid_size is not None
    assert minimise(automaton).num_states == automaton.num_states == facts.num_states.value
    assert monoid_size(automaton) == facts.monoid_size.value


@pytest.mark.parametrize("name", SMALL)
def test_star_freeness_and_groups_are_those_stated(name: str) -> None:
    facts = FACTS[name]
    automaton = small_automaton(name)
    assert automaton is not None
    assert facts.star_free is not None
    assert facts.groups is not None
    elements = monoid_elements(automaton)
    assert is_aperiodic(elements) == facts.star_free.value
    if not facts.star_free.value:
        assert maximal_subgroups(elements) == {profile(group) for group in facts.groups.value}


def profile(name: str) -> GroupProfile:
    """The order of a group and of its elements, by sympy."""
    by_name = {
        "Q8": PermutationGroup(Permutation([1, 4, 3, 6, 5, 0, 7, 2]), Permutation([2, 7, 4, 1, 6, 3, 0, 5])),
        "F20": PermutationGroup(Permutation([1, 2, 3, 4, 0]), Permutation([0, 2, 4, 1, 3])),
        "Z2xZ2": AbelianGroup(2, 2),
        "A4xZ5": PermutationGroup(
            Permutation(0, 1, 2, size=9), Permutation(1, 2, 3, size=9), Permutation(4, 5, 6, 7, 8)
        ),
    }
    families = {"Z": CyclicGroup, "S": SymmetricGroup, "A": AlternatingGroup, "D": DihedralGroup}
    group = by_name[name] if name in by_name else families[name[0]](int(name[1:]))
    orders = Counter(element.order() for element in group.elements)
    return sum(orders.values()), tuple(sorted(orders.items()))


def test_oracle_tells_groups_apart() -> None:
    assert profile("Q8") == (8, ((1, 1), (2, 1), (4, 6)))
    assert profile("F20")[0] == 20
    assert profile("A4xZ5")[0] == profile("A5")[0] == 60
    assert profile("A4xZ5") != profile("A5")
    assert not is_aperiodic(monoid_elements(find_language("parity").dfa()))
    assert is_aperiodic(monoid_elements(find_language("ab-star").dfa()))


def test_facts_about_bounded_dyck_languages_follow_the_formula() -> None:
    # algebra.md gives 348,552 for D_100; with more kinds the formula is compared above and here.
    hundred = _bounded_dyck(1, 100).monoid_size
    assert hundred is not None
    assert hundred.value == 348_552
    for k, depth in [(1, 1), (2, 1), (2, 2), (3, 2), (4, 2)]:
        facts = _bounded_dyck(k, depth)
        assert facts.monoid_size is not None
        assert monoid_size(find_language(f"dyck-{k}-{depth}").dfa()) == facts.monoid_size.value
    states = FACTS["dyck-8-10"].num_states
    assert states is not None
    assert find_language("dyck-8-10").num_states() == states.value


def test_tags_of_star_free_rows_are_right() -> None:
    for row in suite("star-free"):
        facts = FACTS[row.name]
        assert facts.star_free is not None
        assert facts.star_free.value, row.name


@pytest.mark.parametrize("name", SMALL)
def test_words_of_regular_rows_can_be_sampled(name: str) -> None:
    language = BESTIARY[name].language()
    rng = stream(0, "bestiary", name)
    words = []
    for length in range(30):
        with contextlib.suppress(InputError):
            words.append((length, language.sample(length, rng)))
    assert words
    for length, word in words:
        assert len(word) == length
        assert language.accepts(word)
