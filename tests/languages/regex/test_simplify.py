from __future__ import annotations

import pytest
from hypothesis import given

from nerode.core import Budget
from nerode.languages.alphabet import Alphabet
from nerode.languages.notation import subtrees
from nerode.languages.regex import EmptySet, Epsilon, Expression, Regex, parse, simplify, to_text
from tests.languages.regex.oracles import matches
from tests.languages.regex.strategies import expressions, words

AB = Alphabet(("a", "b"))


@given(expressions("ab", max_leaves=10))
def test_the_language_stays(expression: Expression) -> None:
    before = Regex(expression=expression, alphabet=AB)
    after = Regex(expression=simplify(before, Budget()), alphabet=AB)
    for word in words("ab", 4):
        assert matches(before, word) == matches(after, word), word


@given(expressions("ab", boolean=False, max_leaves=12))
def test_empty_parts_disappear(expression: Expression) -> None:
    simple = simplify(Regex(expression=expression, alphabet=AB), Budget())
    below = [node for node in subtrees(simple) if node is not simple]
    assert not any(isinstance(node, EmptySet | Epsilon) for node in below)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a|b", "."),
        ("(a*|b)*", ".*"),
        ("((a?|b+)?)*", ".*"),
        ("(a*)*", "a*"),
        ("(a+)?", "a*"),
        ("(a+){2,5}", "a{2,}"),
        ("(a?){3}", "a{0,3}"),
        ("(a*b*){2,3}", "(a*b*){0,3}"),
        ("aε∅|b", "b"),
        ("~~a", "a"),
        ("~∅", ".*"),
        ("a&∅|b", "b"),
        ("a{0}b{1}", "b"),
        ("∅*", "ε"),
        ("∅+", "∅"),
        ("ε|ab|ε", "(ab)?"),
        ("(a*b*)?", "a*b*"),
    ],
)
def test_rules(text: str, expected: str) -> None:
    regex = parse(text, "ab")
    assert to_text(Regex(expression=simplify(regex, Budget()), alphabet=AB)) == expected
