from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from nerode.languages.alphabet import Alphabet
from nerode.languages.pastltl import Atom, Formula, PastFormula, parse, to_text
from tests.languages.pastltl.strategies import formulas


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("((a)&((b)))", "a & b"),
        ("(a S b) S c", "a S b S c"),
        ("a S (b S c)", "a S (b S c)"),
        ("a -> (b -> c)", "a -> b -> c"),
        ("(a -> b) -> c", "(a -> b) -> c"),
        ("a <-> (b <-> c)", "a <-> (b <-> c)"),
        ("P(a)", "O a"),
        ("!(Y(a))", "!Y a"),
        ("Y (a & b)", "Y (a & b)"),
        ("(Y a) & b", "Y a & b"),
        ("(a & b) | true", "a & b | true"),
        ("<S> S <a>", "<S> S a"),
        (r"\- | <go>", r"\- | <go>"),
    ],
)
def test_text_is_short(text: str, expected: str) -> None:
    assert to_text(parse(text)) == expected


@given(formulas("abc", max_leaves=15))
def test_parsing_what_was_written_gives_the_same_tree(formula: Formula) -> None:
    parsed = parse(to_text(formula), "abc")
    assert parsed == PastFormula(formula=formula, alphabet=Alphabet(("a", "b", "c")))


@given(
    st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=3).filter(lambda s: s != "$")
)
def test_every_symbol_can_be_written(symbol: str) -> None:
    assert parse(to_text(Atom(symbol))).formula == Atom(symbol)
