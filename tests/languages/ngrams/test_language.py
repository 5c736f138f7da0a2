from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nerode.core import Budget, BudgetExceeded, InputError
from nerode.languages.ngrams import (
    NgramLanguage,
    ngram_language,
    parse_arpa,
    parse_rules,
    seed_ngram_language,
    seed_ngram_model,
)
from tests.languages.ngrams.arpa_texts import GOOD
from tests.languages.ngrams.counted import model_from_sentences


def language(rules: str) -> NgramLanguage:
    return ngram_language(parse_rules(rules), name="toy")


def test_a_model_that_does_not_say_how_sentences_begin_is_refused() -> None:
    with pytest.raises(InputError, match="3 given words"):
        NgramLanguage(name="x", model=seed_ngram_model(), convention="")


def test_a_word_that_leads_nowhere_is_not_legal() -> None:
    # c has positive probability, but after c no sentence ever ends.
    found = language("<s> -> a\na -> b : 1/2\na -> c : 1/2\nb -> $\nc -> c")
    assert found.legal_along("a")[-1].names(found.alphabet) == ["b"]
    assert found.accepts("ab")
    assert not found.accepts("ac")
    assert found.dfa().num_states == 4


def test_an_empty_language() -> None:
    found = language("<s> -> a\na -> a")
    assert found.dfa().num_states == 1
    assert not found.accepts("")
    assert found.legal_along("aa")[-1].names(found.alphabet) == []
    with pytest.raises(InputError, match="no sentence of 3"):
        found.sample(3, np.random.default_rng(0))


def test_the_empty_sentence() -> None:
    found = language("<s> -> $ : 1/2\n<s> -> a : 1/2\na -> $")
    assert found.accepts("")
    assert found.sample(0, np.random.default_rng(0)) == ()


def test_a_rule_into_an_unlisted_context_ends_the_sentence() -> None:
    found = language("<s> -> a\na -> b")
    assert found.accepts("ab")
    assert found.legal_along("ab")[-1].end


def test_conventions() -> None:
    assert "any context" in language("a -> b").convention
    assert "any context" not in language("<s> -> b").convention
    said = ngram_language(parse_rules("a -> b"), name="x", convention="as told", starts={(0,): Fraction(1)})
    assert said.convention == "as told"


def test_budgets() -> None:
    found = seed_ngram_language()
    with pytest.raises(BudgetExceeded, match="contexts: 170"):
        found.dfa(Budget(states=100))
    with pytest.raises(BudgetExceeded, match="words: 79"):
        found.dfa(Budget(bytes=1000))


def test_a_back_off_model_as_a_language() -> None:
    found = NgramLanguage(name="x", model=parse_arpa(GOOD), convention="")
    # Nothing has probability zero, so every sentence is possible.
    assert found.dfa().num_states == 1
    assert dict(found.parameters) == {"n": 3, "contexts": 4}
    bare = NgramLanguage(
        name="x", model=parse_arpa(GOOD.replace("-0.9\tb </s>", "-99\tb </s>")), convention=""
    )
    assert not bare.accepts("a b")
    assert bare.accepts("b a")
    assert bare.dfa().num_states == 2


@given(
    st.lists(st.lists(st.sampled_from("abc"), max_size=5), min_size=1, max_size=5),
    st.integers(1, 3),
    st.lists(st.sampled_from("abc"), max_size=6),
)
def test_membership_is_positive_probability(text: list[list[str]], order: int, word: list[str]) -> None:
    model = model_from_sentences([*text, list("abc")], order)
    found = NgramLanguage(name="x", model=model, convention="")
    assert found.accepts(word) == (model.probability(word) > 0) == found.dfa().accepts(word)


@given(st.lists(st.lists(st.sampled_from("ab"), max_size=4), min_size=1, max_size=4), st.integers(1, 3))
def test_legal_words_agree_with_the_automaton(text: list[list[str]], order: int) -> None:
    found = NgramLanguage(name="x", model=model_from_sentences([*text, ["a", "b"]], order), convention="")
    dfa = found.dfa()
    for word in itertools.chain.from_iterable(itertools.product(range(2), repeat=n) for n in range(5)):
        legal = found.legal_along(word)[-1]
        state = dfa.run(word)
        assert legal.symbols == set(np.flatnonzero(dfa.legal[state]).tolist())
        assert legal.end == dfa.accepting[state]


def test_configurations_are_hashable_and_total() -> None:
    found = seed_ngram_language()
    state = found.initial()
    for symbol in range(79):
        hash(found.advance(state, symbol))
    dead = found.advance(state, found.alphabet.index("bed"))
    assert found.advance(dead, 0) == dead
