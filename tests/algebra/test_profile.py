"""Profiles: everything at once, from theory where it is too large, and never failing."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from nerode.algebra import groups_inside, profile
from nerode.algebra.classes.table import CLASSES
from nerode.algebra.green_relations import green
from nerode.algebra.groups_inside import find_counter, is_counter
from nerode.algebra.monoid import transition_monoid
from nerode.algebra.profiles import ClassesOnDemand, family_profile, profile_automaton
from nerode.core import Budget
from nerode.languages.bestiary import BESTIARY, find_language
from nerode.languages.brackets import dyck
from nerode.languages.regex import regex_to_dfa
from tests.timing import within

SMALL = [name for name, row in BESTIARY.items() if (row.language().num_states() or 10**9) <= 40]


@pytest.mark.parametrize("name", SMALL)
def test_named_languages_have_a_whole_profile(name: str) -> None:
    language = find_language(name)
    found = profile(language)
    dfa = language.dfa()
    monoid = transition_monoid(dfa)
    assert found.regular
    assert found.num_states == dfa.num_states
    assert found.monoid_size == len(monoid)
    assert found.d_classes == green(monoid).num_d_classes
    assert found.incomplete == {}
    assert set(found.classes) == set(CLASSES)
    assert found.star_free == green(monoid).is_aperiodic == found.holds("star-free")
    assert (found.counter is None) == found.star_free
    assert bool(found.groups) == (not found.star_free)
    assert found.groups_complete
    assert found.solvable == found.holds("solvable")
    assert found.source == "computed"
    if found.counter is not None:
        assert is_counter(dfa, found.counter)


@pytest.mark.parametrize("budget", [Budget(), Budget(elements=3)])
def test_classes_on_demand_are_those_of_the_whole_profile(budget: Budget) -> None:
    for name in SMALL:
        language = find_language(name)
        # The clock of a budget runs from the moment it is made, here when the tests were collected.
        whole, lazy = profile(language, budget.start()), profile(language, budget.start(), on_demand=True)
        assert isinstance(lazy.classes, ClassesOnDemand)
        assert lazy.star_free == whole.star_free
        assert lazy.groups == whole.groups
        assert "definite" not in lazy.classes.decided or whole.holds("star-free") is None
        assert {c: lazy.holds(c) for c in CLASSES} == {c: whole.holds(c) for c in CLASSES}
        assert lazy.classes.get("no such class") is None


def test_small_profiles_are_quick() -> None:
    languages = [find_language(name) for name in ("tomita-3", "ab-star", "flip-flop", "d-4", "parity", "t3")]
    for language in languages:
        within(0.05, lambda language=language: profile(language))


def test_nothing_heavy_is_imported_for_a_small_profile() -> None:
    code = (
        "import sys; from nerode.languages.bestiary import find_language; "
        "from nerode.algebra import profile; profile(find_language('flip-flop')); "
        "print([m for m in ('scipy', 'sympy', 'torch', 'networkx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["dyck-1", "anbn", "shuffle-2", "dyck-2"])
def test_languages_that_are_not_regular_say_so(name: str) -> None:
    found = profile(find_language(name))
    assert not found.regular
    assert found.star_free is None
    assert "not regular" in found.source
    assert found.classes == {}


@pytest.mark.parametrize(("k", "depth"), [(1, 1), (1, 6), (2, 1), (2, 3), (2, 5), (3, 3), (4, 2)])
def test_theory_and_computation_agree_on_bounded_dyck_languages(k: int, depth: int) -> None:
    language = dyck(k, depth)
    theory, computed = family_profile(language), profile(language)
    assert theory is not None
    assert computed.source == "computed"
    assert theory.num_states == computed.num_states
    assert theory.star_free is computed.star_free is True
    for name, membership in theory.classes.items():
        assert membership.holds == computed.holds(name)
    assert set(theory.classes) | set(theory.incomplete) - {"monoid"} == set(CLASSES)
    assert theory.solvable is computed.solvable is True
    assert find_counter(language.dfa()) is None


def test_large_bounded_dyck_languages_come_from_theory_at_once() -> None:
    found = within(0.25, lambda: profile(find_language("dyck-8-10")))
    huge = within(0.25, lambda: profile(dyck(1000, 1000)))
    assert found.regular
    assert found.star_free is True
    assert found.num_states == 1227133514
    assert "star-free" in found.source
    assert found.holds("quasi-aperiodic") is True
    assert found.holds("definite") is None
    assert "definite" in found.incomplete
    assert "monoid" in found.incomplete
    assert "10^3000" in huge.incomplete["monoid"]


def test_theory_speaks_of_no_other_family() -> None:
    assert family_profile(find_language("tomita-1")) is None


def test_a_monoid_that_is_too_large_is_left_out_and_nothing_fails() -> None:
    language = find_language("d-12")
    found = profile(language, monoid_limit=100)
    whole = profile(language)
    assert found.monoid_size is None
    assert "monoid" in found.incomplete
    assert whole.monoid_size is not None
    assert whole.monoid_size > 100
    assert found.star_free is True
    for name, membership in found.classes.items():
        assert membership.holds in (None, whole.holds(name)), name
        assert (membership.holds is None) == (name in found.incomplete)


def test_no_time_at_all_gives_an_incomplete_profile_not_an_error() -> None:
    found = profile_automaton(find_language("flip-flop").dfa(), Budget(seconds=1e-9))
    assert found.star_free is None
    assert found.counter is None
    assert not found.groups_complete
    assert found.solvable is None
    assert {"star-free", "groups", "monoid"} <= set(found.incomplete)


def test_star_freeness_that_follows_from_a_smaller_class_settles_the_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Without its short cuts the search for counters needs more images than there are in the budget.
    monkeypatch.setattr(groups_inside, "_STAGES", ())
    found = profile_automaton(regex_to_dfa("(a|b)*abaab(a|b)*"), Budget(images=1, elements=1))
    assert found.star_free is True
    assert found.classes["star-free"].method == "inclusion"
    assert found.groups == ()
    assert found.groups_complete
    assert found.solvable is True
    assert "groups" not in found.incomplete


def test_an_automaton_that_does_not_fit_gives_an_incomplete_profile() -> None:
    assert profile(dyck(2, 3), Budget(states=3)).star_free is True  # from theory
    found = profile(replace(dyck(2, 3), family="without a theorem"), Budget(states=3))
    assert found.regular
    assert found.num_states == 16
    assert found.star_free is None
    assert found.solvable is None
    assert "states" in found.incomplete["automaton"]
