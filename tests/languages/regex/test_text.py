from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from nerode.languages.alphabet import Alphabet
from nerode.languages.regex import Expression, Letters, Regex, concat, parse, to_text
from tests.languages.regex.strategies import expressions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("((a)((b)))", "ab"),
        ("(a|b)|(c)", "a|b|c"),
        ("(ab)|(c&d)", "ab|c&d"),
        ("(a|b)(c&d)", "(a|b)(c&d)"),
        ("(~a)b", "~ab"),
        ("~(a*)", "~a*"),
        ("(~a)*", "(~a)*"),
        ("~(ab)", "~(ab)"),
        ("(a*)*", "a**"),
        ("a{0,}b{1,}c{0,1}", "a*b+c?"),
        ("a{2,2}b{2,}c{,3}", "a{2}b{2,}c{0,3}"),
        ("()|[]", "ε|∅"),
        ("[ab]c", "[ab]c"),
        ("[abc]", "."),
        ("[abc]d", "[^d]d"),
        ("<a><b>", "ab"),
        ("<go>a", "<go>a"),
        (r"\(\)", r"\(\)"),
        (r"[\-\]]a", r"[\-\]]a"),
    ],
)
def test_text_is_short(text: str, expected: str) -> None:
    alphabet = None if text != "()|[]" else "a"
    assert to_text(parse(text, alphabet)) == expected


@given(expressions("abc", max_leaves=15))
def test_parsing_what_was_written_gives_the_same_tree(expression: Expression) -> None:
    regex = Regex(expression=expression, alphabet=Alphabet(("a", "b", "c")))
    assert parse(to_text(regex), regex.alphabet) == regex


NAMES = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=3).filter(
    lambda name: name != "$" and not any(map(str.isspace, name))
)


@given(st.lists(st.sets(NAMES, min_size=1, max_size=4), min_size=1, max_size=4))
def test_every_symbol_can_be_written(sets: list[set[str]]) -> None:
    expression = concat(*(Letters(tuple(sorted(names))) for names in sets))
    regex = Regex(expression=expression, alphabet=Alphabet.of({"zz"}.union(*sets)))
    assert parse(to_text(regex), regex.alphabet) == regex
