from __future__ import annotations

import pytest
from hypothesis import given

from nerode.core import Budget, BudgetExceeded
from nerode.languages.alphabet import Alphabet
from nerode.languages.dfa import Dfa
from nerode.languages.equivalence import (
    distinguishing_word,
    is_empty,
    is_equivalent,
    is_finite,
    is_subset,
    is_universal,
    shortest_word,
    subset_counterexample,
)
from nerode.languages.minimisation import minimise
from nerode.languages.operations import complement, difference, intersection, union
from tests.languages.automata_lib import to_automata_lib
from tests.strategies import all_words, dfas

AB = Alphabet(("a", "b"))


def chain(length: int) -> Dfa:
    """The words a^n with n at least `length`."""
    return Dfa.build("ab", lambda q, x: min(q + 1, length) if x == "a" else None, start=0, accept=[length])


@given(dfas(4, alphabet=AB), dfas(4, alphabet=AB))
def test_distinguishing_words_are_the_first_ones(left: Dfa, right: Dfa) -> None:
    # Two automata with 4 states each are told apart by a word of at most 6 letters, or never.
    candidates = (word for word in all_words(2, 6) if left.accepts(word) != right.accepts(word))
    assert distinguishing_word(left, right) == next(candidates, None)
    assert is_equivalent(left, right) == (distinguishing_word(left, right) is None)
    assert is_equivalent(left, right) == (to_automata_lib(left) == to_automata_lib(right))


@given(dfas(3, alphabet=AB), dfas(3, alphabet=AB))
def test_counterexamples_to_inclusion_are_the_first_ones(left: Dfa, right: Dfa) -> None:
    # A pair of states is reached by at most 3 * 3 - 1 letters.
    candidates = (word for word in all_words(2, 8) if left.accepts(word) and not right.accepts(word))
    assert subset_counterexample(left, right) == next(candidates, None)
    assert is_subset(left, right) == (to_automata_lib(left) <= to_automata_lib(right))


@given(dfas(), dfas())
def test_the_order_of_languages(left: Dfa, right: Dfa) -> None:
    assert is_subset(intersection(left, right), left)
    assert is_subset(left, union(left, right))
    assert is_subset(left, right) == is_empty(difference(left, right))
    assert (is_subset(left, right) and is_subset(right, left)) == is_equivalent(left, right)
    assert distinguishing_word(left, minimise(left)) is None


@given(dfas(5, 2, min_letters=0))
def test_questions_about_one_language(dfa: Dfa) -> None:
    oracle = to_automata_lib(dfa)
    accepted = [word for word in all_words(dfa.num_letters, 4) if dfa.accepts(word)]
    assert shortest_word(dfa) == (accepted[0] if accepted else None)
    assert is_empty(dfa) == (not accepted) == oracle.isempty()
    assert is_universal(dfa) == is_empty(complement(dfa))
    # With 5 states, a language is infinite exactly when it has a word of 5 to 9 letters.
    long_words = (word for word in all_words(dfa.num_letters, 9) if len(word) >= 5)
    assert is_finite(dfa) == (not any(dfa.accepts(word) for word in long_words)) == oracle.isfinite()


def test_alphabets_may_differ() -> None:
    only_a = Dfa.build("a", {0: {"a": 0}}, start=0, accept=[0])
    only_a_wider = Dfa.build("ab", {0: {"a": 0}}, start=0, accept=[0])
    everything = Dfa.build("ab", {0: {"a": 0, "b": 0}}, start=0, accept=[0])
    assert is_equivalent(only_a, only_a_wider)
    assert distinguishing_word(only_a, everything) == (1,)
    assert is_subset(only_a, everything)
    assert not is_subset(everything, only_a)


def test_long_witnesses() -> None:
    assert distinguishing_word(chain(3000), chain(3001)) == (0,) * 3000
    assert subset_counterexample(chain(3001), chain(3000)) is None
    assert shortest_word(chain(3000)) == (0,) * 3000


def test_the_search_stops_at_the_budget() -> None:
    with pytest.raises(BudgetExceeded, match="pairs_of_states_visited"):
        distinguishing_word(chain(300), chain(301), Budget(images=100))
