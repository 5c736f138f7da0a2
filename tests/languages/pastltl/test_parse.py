from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from nerode.core import InputError, PatternError
from nerode.languages.alphabet import Alphabet
from nerode.languages.pastltl import (
    Atom,
    Constant,
    Formula,
    Historically,
    Iff,
    Implies,
    Not,
    Once,
    PastFormula,
    Since,
    WeakYesterday,
    Yesterday,
    conjunction,
    disjunction,
    parse,
    subformulas,
    to_text,
)

A, B, C = (Atom(symbol) for symbol in "abc")

READINGS: list[tuple[str, Formula]] = [
    ("a", A),
    ("!a & b", conjunction(Not(A), B)),
    ("!(a & b)", Not(conjunction(A, B))),
    ("a & b | c", disjunction(conjunction(A, B), C)),
    ("a & (b | c)", conjunction(A, disjunction(B, C))),
    ("(a & b) & c", conjunction(A, B, C)),
    ("a -> b -> c", Implies(A, Implies(B, C))),
    ("(a -> b) -> c", Implies(Implies(A, B), C)),
    ("a <-> b <-> c", Iff(Iff(A, B), C)),
    ("a -> b <-> c", Iff(Implies(A, B), C)),
    ("a | b -> c", Implies(disjunction(A, B), C)),
    ("a S b S c", Since(Since(A, B), C)),
    ("a S (b S c)", Since(A, Since(B, C))),
    ("a S b & c", conjunction(Since(A, B), C)),
    ("a & b S c", conjunction(A, Since(B, C))),
    ("!a S Y b", Since(Not(A), Yesterday(B))),
    ("Y a S b", Since(Yesterday(A), B)),
    ("Y Z O H a", Yesterday(WeakYesterday(Once(Historically(A))))),
    ("P a", Once(A)),
    ("YZa", Yesterday(WeakYesterday(A))),
    ("aSb", Since(A, B)),
    ("!!a", Not(Not(A))),
    ("true S a | false", disjunction(Since(Constant(True), A), Constant(False))),
    ("t & r", conjunction(Atom("t"), Atom("r"))),
    ("<close> S <S>", Since(Atom("close"), Atom("S"))),
    ("<true>", Atom("true")),
    (r"\( | \-", disjunction(Atom("("), Atom("-"))),
    ("0 & 1", conjunction(Atom("0"), Atom("1"))),
    ("  a\n", A),
]


@pytest.mark.parametrize(("text", "expected"), READINGS, ids=[text for text, _ in READINGS])
def test_reading(text: str, expected: Formula) -> None:
    assert parse(text).formula == expected


ERRORS: list[tuple[str, int, str]] = [
    ("", 1, "the formula is empty"),
    ("(a & b", 1, "unclosed ("),
    ("a & (b", 5, "unclosed ("),
    ("a)", 2, "unmatched )"),
    ("()", 2, "nothing between the parentheses"),
    ("a &", 3, "nothing to the right of &"),
    ("| a", 1, "nothing to the left of |"),
    ("a & | b", 5, "nothing to the left of |"),
    ("a S", 3, "nothing to the right of S"),
    ("S a", 1, "nothing to the left of S"),
    ("Y", 1, "nothing to the right of Y"),
    ("(a & !)", 6, "nothing to the right of !"),
    ("a ->", 3, "nothing to the right of ->"),
    ("a <-> -> b", 7, "nothing to the left of ->"),
    ("open", 2, "an operator is missing"),
    ("a b", 3, "an operator is missing"),
    ("a (b)", 3, "an operator is missing"),
    ("a O b", 3, "an operator is missing"),
    ("true a", 6, "an operator is missing"),
    ("a - b", 3, "- has no meaning here"),
    ("a > b", 3, "> has no meaning here"),
    ("<open", 1, "unclosed <"),
    ("a & <>", 5, "a symbol without a name"),
    ("$", 1, "the symbol $"),
    (r"\S", 1, "unknown escape \\S"),
    ("a & \\", 5, "nothing after the backslash"),
    ("true", 1, "the alphabet is unknown"),
    ("Y true", 1, "the alphabet is unknown"),
]


@pytest.mark.parametrize(("text", "column", "what"), ERRORS, ids=[text for text, _, _ in ERRORS])
def test_errors_name_the_column(text: str, column: int, what: str) -> None:
    with pytest.raises(PatternError) as caught:
        parse(text)
    assert what in caught.value.what
    assert caught.value.column == column


def test_the_alphabet_is_that_of_the_formula_or_the_given_one() -> None:
    assert parse("b S a | <go>").alphabet == Alphabet(("a", "b", "go"))
    assert parse("a", "cab").alphabet == Alphabet(("c", "a", "b"))
    assert parse("true", "a").formula == Constant(True)
    with pytest.raises(PatternError, match=r"the letter 'b' is outside the alphabet \{a\} at column 5"):
        parse("a S b", "a")
    with pytest.raises(PatternError) as caught:
        parse("H (ack -> Y req)", Alphabet(("req", "ack")))
    assert caught.value.hint.endswith("in angle brackets: <req>")
    with pytest.raises(InputError, match="the alphabet is empty"):
        parse("true", "")


def outcome_of(text: str) -> PastFormula | PatternError:
    try:
        return parse(text)
    except PatternError as error:
        return error


@given(st.text(alphabet="abYZOPHS!&|<->()\\ true$", max_size=25))
def test_every_text_parses_or_has_a_pattern_error_inside_it(text: str) -> None:
    outcome = outcome_of(text)
    if isinstance(outcome, PatternError):
        assert 1 <= outcome.column <= max(1, len(text))
    else:
        assert parse(to_text(outcome), outcome.alphabet) == outcome


def test_ten_thousand_parentheses() -> None:
    depth = 10_000
    assert parse("(" * depth + "a" + ")" * depth).formula == A
    with pytest.raises(PatternError, match=f"unclosed \\( at column {depth}"):
        parse("(" * depth + "a")
    nested = parse("Y (a S " * depth + "b" + ")" * depth)
    assert len(subformulas(nested.formula)) == 2 * depth + 2
    assert parse(to_text(nested)) == nested


def test_half_a_million_characters() -> None:
    formula = parse("a" + " & b" * 125_000)
    assert len(formula.formula.children) == 125_001
    assert to_text(formula) == "a" + " & b" * 125_000
