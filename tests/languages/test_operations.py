from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nerode.core import Budget, BudgetExceeded, InputError
from nerode.languages.alphabet import Alphabet, Word
from nerode.languages.determinise import minimise
from nerode.languages.dfa import Dfa
from nerode.languages.operations import (
    complement,
    concatenate,
    difference,
    intersection,
    prefix_closure,
    reverse,
    shared_alphabet,
    star,
    union,
    with_alphabet,
)
from tests.languages.automata_lib import to_automata_lib
from tests.strategies import all_words, dfas, random_dfa

AB = Alphabet(("a", "b"))
ABC = Alphabet(("a", "b", "c"))
BINARY = {
    intersection: (lambda x, y: x and y, operator.and_),
    union: (lambda x, y: x or y, operator.or_),
    difference: (lambda x, y: x and not y, operator.sub),
}


def pairs(max_states: int = 5) -> st.SearchStrategy[tuple[Dfa, Dfa]]:
    return st.sampled_from([AB, Alphabet(("a",)), ABC]).flatmap(
        lambda letters: st.tuples(dfas(max_states, alphabet=letters), dfas(max_states, alphabet=letters))
    )


def language(dfa: Dfa, max_length: int = 6) -> set[Word]:
    return {word for word in all_words(dfa.num_letters, max_length) if dfa.accepts(word)}


def one_word(text: str, alphabet: Alphabet = AB) -> Dfa:
    table = {i: {symbol: i + 1} for i, symbol in enumerate(text)}
    return minimise(Dfa.build(alphabet.symbols, table, start=0, accept=[len(text)]))


def counter(modulus: int, residue: int = 0) -> Dfa:
    return Dfa.build("a", lambda q, _: (q + 1) % modulus, start=0, accept=[residue])


@pytest.mark.parametrize("operation", BINARY, ids=lambda f: f.__name__)
@given(operands=pairs())
def test_boolean_operations_are_word_by_word(
    operation: Callable[[Dfa, Dfa], Dfa], operands: tuple[Dfa, Dfa]
) -> None:
    left, right = operands
    by_word, by_oracle = BINARY[operation]
    result = operation(left, right)
    assert result == minimise(result)
    for word in all_words(left.num_letters, 6 if left.num_letters < 3 else 4):
        assert result.accepts(word) == by_word(left.accepts(word), right.accepts(word))
    assert to_automata_lib(result) == by_oracle(to_automata_lib(left), to_automata_lib(right))


@given(dfas(min_letters=0))
def test_complement_swaps_acceptance(dfa: Dfa) -> None:
    result = complement(dfa)
    assert result == minimise(result)
    assert all(result.accepts(word) != dfa.accepts(word) for word in all_words(dfa.num_letters, 5))
    assert complement(result) == minimise(dfa)


@pytest.mark.parametrize("operation", BINARY, ids=lambda f: f.__name__)
def test_large_products_agree_with_automata_lib(operation: Callable[[Dfa, Dfa], Dfa]) -> None:
    left, right = random_dfa(1, 60, 4), random_dfa(2, 70, 4)
    expected = BINARY[operation][1](to_automata_lib(left), to_automata_lib(right)).minify()
    result = operation(left, right)
    assert result.num_states == len(expected.states)
    assert to_automata_lib(result) == expected


def test_a_product_stops_at_the_budget() -> None:
    with pytest.raises(BudgetExceeded, match="states_reached") as caught:
        intersection(counter(101), counter(103), Budget(states=1000))
    assert caught.value.known_so_far["states_reached"] > 1000
    assert intersection(counter(101), counter(103), Budget(states=101 * 103)).num_states == 101 * 103


@given(dfas(4, alphabet=AB), dfas(4, alphabet=Alphabet(("c", "b"))))
def test_operands_over_different_alphabets_are_read_over_the_union(left: Dfa, right: Dfa) -> None:
    assert shared_alphabet(left, right) == ABC
    both = union(left, right)
    assert both == union(right, left)
    assert both.alphabet == ABC
    for word in all_words(3, 4):
        text = [ABC.symbols[i] for i in word]
        in_left = "c" not in text and left.accepts(text)
        in_right = "a" not in text and right.accepts(text)
        assert both.accepts(word) == (in_left or in_right)


@given(dfas(4, alphabet=AB))
def test_with_alphabet_adds_letters_that_no_word_has(dfa: Dfa) -> None:
    wider = with_alphabet(dfa, Alphabet(("c", "b", "a")))
    assert wider == minimise(wider)
    for word in all_words(3, 4):
        text = ["cba"[i] for i in word]
        assert wider.accepts(word) == ("c" not in text and dfa.accepts(text))
    assert with_alphabet(dfa, AB) == minimise(dfa)
    with pytest.raises(InputError, match="has no b"):
        with_alphabet(dfa, Alphabet(("a", "c")))


@given(pairs(4))
def test_concatenation_by_all_ways_to_cut(operands: tuple[Dfa, Dfa]) -> None:
    left, right = operands
    result = concatenate(left, right)
    assert result == minimise(result)
    for word in all_words(left.num_letters, 6 if left.num_letters < 3 else 4):
        cut = any(left.accepts(word[:i]) and right.accepts(word[i:]) for i in range(len(word) + 1))
        assert result.accepts(word) == cut


def is_in_star(dfa: Dfa, word: Word) -> bool:
    good = [True] + [False] * len(word)
    for end in range(1, len(word) + 1):
        good[end] = any(good[i] and dfa.accepts(word[i:end]) for i in range(end))
    return good[-1]


@given(dfas(4, 2, min_letters=0))
def test_star_by_all_ways_to_cut(dfa: Dfa) -> None:
    result = star(dfa)
    assert result == minimise(result)
    for word in all_words(dfa.num_letters, 6):
        assert result.accepts(word) == is_in_star(dfa, word)
    assert star(result) == result


@given(dfas(5, 2, min_letters=0))
def test_reversal_reads_backwards(dfa: Dfa) -> None:
    result = reverse(dfa)
    assert result == minimise(result)
    for word in all_words(dfa.num_letters, 6):
        assert result.accepts(word[::-1]) == dfa.accepts(word)
    assert reverse(result) == minimise(dfa)


@given(dfas(5, 2))
def test_prefixes_are_what_can_be_continued(dfa: Dfa) -> None:
    result = prefix_closure(dfa)
    assert result == minimise(result)
    futures = list(all_words(dfa.num_letters, 4))
    for word in all_words(dfa.num_letters, 4):
        assert result.accepts(word) == any(dfa.accepts(word + future) for future in futures)


def test_operations_by_hand() -> None:
    ab, ba = one_word("ab"), one_word("ba")
    assert concatenate(ab, ba) == one_word("abba")
    assert reverse(ab) == ba
    both = {(0, 1), (1, 0)}
    assert language(star(union(ab, ba)), 4) == {(), *both, *(u + v for u in both for v in both)}
    nothing = difference(ab, ab)
    assert (nothing.num_states, language(nothing)) == (1, set())
    assert language(star(nothing)) == {()}
    assert concatenate(nothing, ab) == nothing


def test_the_subset_construction_stops_at_the_budget() -> None:
    # Letter number 30 is an a; read backwards this needs 2^30 states.
    table = {i: {"a": i + 1, "b": i + 1} for i in range(29)} | {29: {"a": 30}, 30: {"a": 30, "b": 30}}
    dfa = Dfa.build("ab", table, start=0, accept=[30])
    with pytest.raises(BudgetExceeded, match="states_reached") as caught:
        reverse(dfa, Budget(states=5000))
    assert caught.value.known_so_far["states_reached"] > 5000


def test_no_letters_at_all() -> None:
    alphabet = Alphabet(())
    empty = Dfa(alphabet=alphabet, transitions=np.zeros((1, 0), int), start=0, accepting=np.array([False]))
    only_empty_word = complement(empty)
    assert union(empty, only_empty_word) == only_empty_word
    assert concatenate(only_empty_word, only_empty_word) == only_empty_word
    assert star(empty) == only_empty_word
    assert reverse(empty) == empty
    assert union(only_empty_word, one_word("ab")).accepts("")
