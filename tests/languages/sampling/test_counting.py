from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from nerode.core import InputError
from nerode.languages.dfa import Dfa
from nerode.languages.sampling.shares import count_words, nearest_lengths, no_word_of_length
from tests.languages.automata_lib import to_automata_lib
from tests.strategies import all_words, dfas


@given(dfas(5, min_letters=0))
def test_counts_are_those_of_brute_force(dfa: Dfa) -> None:
    expected = [0] * 6
    for word in all_words(dfa.num_letters, 5):
        expected[len(word)] += dfa.accepts(word)
    assert [count_words(dfa, length) for length in range(6)] == expected


@given(dfas(6))
def test_counts_of_longer_words_are_those_of_automata_lib(dfa: Dfa) -> None:
    assert count_words(dfa, 40) == to_automata_lib(dfa).count_words_of_length(40)


def test_counts_have_no_upper_limit() -> None:
    even = Dfa.build("ab", lambda q, x: q ^ (x == "a"), start=0, accept=[0])
    assert count_words(even, 3000) == 2**2999
    fibonacci = Dfa.build("ab", {0: {"a": 0, "b": 1}, 1: {"a": 0}}, start=0, accept=[0, 1])
    counts = [count_words(fibonacci, length) for length in range(80)]
    assert counts[:3] == [1, 2, 3]
    assert all(c == a + b for a, b, c in zip(counts, counts[1:], counts[2:], strict=False))
    assert all(type(count) is int for count in counts)


@given(dfas(5, 2, min_letters=0), st.integers(0, 9))
def test_nearest_lengths_are_those_of_brute_force(dfa: Dfa, length: int) -> None:
    # With 5 states every gap above a length ends after at most 5 more letters.
    counts = [count_words(dfa, length) for length in range(15)]
    below = max((i for i in range(length) if counts[i]), default=None)
    above = min((i for i in range(length + 1, 15) if counts[i]), default=None)
    assert nearest_lengths(dfa, length) == (below, above)


def test_the_error_names_the_nearest_lengths() -> None:
    multiples = Dfa.build("a", lambda q, _: (q + 1) % 10, start=0, accept=[0])
    assert "nearest lengths that have one are 10 and 20" in str(no_word_of_length(multiples, 15))
    assert str(no_word_of_length(multiples, 3)).endswith("are 0 and 10")
    two = Dfa.build("a", {0: {"a": 1}, 1: {"a": 2}}, start=0, accept=[2])
    assert str(no_word_of_length(two, 7)).endswith("the nearest length that has one is 2")
    nothing = Dfa.build("a", {}, start=0, accept=[])
    assert str(no_word_of_length(nothing, 7)).endswith("the language is empty")


@pytest.mark.parametrize(
    ("length", "message"), [(-1, "negative"), (2.0, "not an integer"), ("3", "not an int")]
)
def test_a_length_that_is_none_is_refused(length: object, message: str) -> None:
    dfa = Dfa.build("a", {}, start=0, accept=[])
    with pytest.raises(InputError, match=message):
        count_words(dfa, length)  # type: ignore[arg-type]
