from __future__ import annotations

import pytest
from hypothesis import given

from nerode.core import Budget, BudgetExceeded
from nerode.languages.alphabet import Alphabet
from nerode.languages.determinise import minimise
from nerode.languages.dfa import Dfa
from nerode.languages.operations import (
    difference,
    distinguishing_word,
    intersection,
    is_empty,
    is_equivalent,
    union,
)
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


@given(dfas(), dfas())
def test_the_order_of_languages(left: Dfa, right: Dfa) -> None:
    assert is_empty(difference(intersection(left, right), left))
    assert is_empty(difference(left, union(left, right)))
    inside = is_empty(difference(left, right))
    assert (inside and is_empty(difference(right, left))) == is_equivalent(left, right)
    assert distinguishing_word(left, minimise(left)) is None


@given(dfas(5, 2, min_letters=0))
def test_a_language_is_empty_when_no_short_word_belongs_to_it(dfa: Dfa) -> None:
    accepted = [word for word in all_words(dfa.num_letters, 4) if dfa.accepts(word)]
    assert is_empty(dfa) == (not accepted) == to_automata_lib(dfa).isempty()


def test_alphabets_may_differ() -> None:
    only_a = Dfa.build("a", {0: {"a": 0}}, start=0, accept=[0])
    only_a_wider = Dfa.build("ab", {0: {"a": 0}}, start=0, accept=[0])
    everything = Dfa.build("ab", {0: {"a": 0, "b": 0}}, start=0, accept=[0])
    assert is_equivalent(only_a, only_a_wider)
    assert distinguishing_word(only_a, everything) == (1,)


def test_long_witnesses() -> None:
    assert distinguishing_word(chain(3000), chain(3001)) == (0,) * 3000


def test_the_search_stops_at_the_budget() -> None:
    with pytest.raises(BudgetExceeded, match="pairs_of_states_visited"):
        distinguishing_word(chain(300), chain(301), Budget(images=100))
