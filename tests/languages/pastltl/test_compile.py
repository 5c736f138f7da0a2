from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given

from nerode.core import Budget, BudgetExceeded
from nerode.languages.alphabet import Alphabet
from nerode.languages.determinise import minimise
from nerode.languages.pastltl import Formula, PastFormula, formula_language, formula_to_dfa, parse
from nerode.languages.regex import regex_to_dfa
from tests.languages.pastltl.oracle import holds
from tests.languages.pastltl.strategies import formulas

WORDS = ["".join(word) for n in range(7) for word in itertools.product("ab", repeat=n)]


@given(formulas("ab", max_leaves=10))
def test_it_agrees_with_the_evaluator(formula: Formula) -> None:
    parsed = PastFormula(formula=formula, alphabet=Alphabet(("a", "b")))
    dfa = formula_to_dfa(parsed)
    assert minimise(dfa) == dfa
    for word in WORDS:
        assert dfa.accepts(word) == holds(parsed, word), word


@pytest.mark.parametrize(
    ("formula", "pattern"),
    [
        ("H ((a -> Z b) & (b -> Y a)) & !a", "(ab)*"),
        ("O a", ".*a.*"),
        ("H a", "a*"),
        ("a", ".*a"),
        ("Y Y a", ".*a.."),
        ("Z false", ".?"),
        ("true", ".*"),
        ("false", "∅"),
        ("!(a | b | c)", "ε"),
        ("b S a", ".*ab*"),
        ("O (a & Y O (b & Y O c))", ".*c.*b.*a.*"),
        ("H !(a & Y a)", "~(.*aa.*)"),
        ("O (Z false & a)", "a.*"),
        ("H (a -> Z H a) & H (b -> Z H (a | b))", "a*b*c*"),
    ],
)
def test_languages_that_have_both_a_formula_and_a_pattern(formula: str, pattern: str) -> None:
    alphabet = "ab" if "(ab)" in pattern else "abc"
    assert formula_to_dfa(formula, alphabet) == regex_to_dfa(pattern, alphabet)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("O a", "!H !a"),
        ("H a", "!O !a"),
        ("Z a", "!Y !a"),
        ("O a", "true S a"),
        ("a S b", "b | a & Y (a S b)"),
        ("O a", "a | Y O a"),
        ("H a", "a & Z H a | !(a | b)"),
        ("P a", "O a"),
        ("a -> b", "!a | b"),
        ("a <-> b", "(a -> b) & (b -> a)"),
    ],
)
def test_laws_hold_for_all_words_the_empty_one_included(left: str, right: str) -> None:
    assert formula_to_dfa(left, "ab") == formula_to_dfa(right, "ab")


def test_letters_that_the_formula_does_not_name() -> None:
    dfa = formula_to_dfa("O c", "zbcay")
    assert dfa.alphabet.symbols == tuple("zbcay")
    assert minimise(dfa) == dfa
    assert dfa.accepts("zcz")
    assert not dfa.accepts("zz")


def test_a_language_says_what_it_does_with_the_empty_word() -> None:
    language = formula_language("H (a -> Z b)", "ab")
    assert language.name == "H (a -> Z b)"
    assert language.accepts("")
    assert "the empty word belongs to it" in language.convention
    assert "the empty word does not belong to it" in formula_language("O a").convention
    assert formula_language("O <up>", name="rose").name == "rose"


def test_a_too_large_automaton_stops_early() -> None:
    started = time.process_time()
    with pytest.raises(BudgetExceeded) as caught:
        formula_to_dfa("Y" * 24 + "a", "ab")
    assert time.process_time() - started < 5
    assert caught.value.resource == "states"
    reached = caught.value.known_so_far["states_reached"]
    assert isinstance(reached, int)
    assert 20_000 < reached <= 2**25
    with pytest.raises(BudgetExceeded):
        formula_to_dfa("Y Y Y a", "ab", Budget(states=5))


def test_deep_nesting_compiles() -> None:
    depth = 10_000
    assert formula_to_dfa("(" * depth + "a" + ")" * depth) == formula_to_dfa("a")
    assert formula_to_dfa("O" * depth + "a", "ab") == formula_to_dfa("O a", "ab")
    assert formula_to_dfa("!" * (depth + 1) + "a") == formula_to_dfa("!a")
    with pytest.raises(BudgetExceeded):
        formula_to_dfa("Y" * 2000 + "a", "ab", Budget(states=1000))


def test_equal_subformulas_share_their_memory() -> None:
    formula = parse(" | ".join(["a & Y Y Y (a S b)"] * 50))
    assert formula_to_dfa(formula) == formula_to_dfa("a & Y Y Y (a S b)")


def test_formulas_of_one_language_have_one_automaton() -> None:
    language = formula_language("a S b", "ab")
    assert language.automaton == formula_to_dfa("a S b", "ab")

    other = formula_language("b | (a & Y (a S b))", "ab", name="a S b")
    assert other.automaton == language.automaton
