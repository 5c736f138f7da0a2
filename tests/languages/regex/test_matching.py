from __future__ import annotations

import pytest
from hypothesis import given, settings

from nerode.languages.alphabet import Alphabet
from nerode.languages.regex import Complement, Expression, Regex, intersection, parse
from tests.languages.regex.oracles import matches, to_python
from tests.languages.regex.strategies import expressions, words

AB = Alphabet(("a", "b"))


@given(expressions("ab", boolean=False))
def test_it_agrees_with_pythons_own_matcher(expression: Expression) -> None:
    pattern = to_python(expression)
    regex = Regex(expression=expression, alphabet=AB)
    for word in words("ab", 4):
        assert matches(regex, word) == (pattern.fullmatch(word) is not None)


@given(expressions("ab"), expressions("ab"))
@settings(max_examples=30)
def test_complement_and_intersection_are_those_of_sets(left: Expression, right: Expression) -> None:
    def accepts(expression: Expression, word: str) -> bool:
        return matches(Regex(expression=expression, alphabet=AB), word)

    for word in words("ab", 3):
        assert accepts(Complement(left), word) is not accepts(left, word)
        assert accepts(intersection(left, right), word) == (accepts(left, word) and accepts(right, word))


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("~(.*aa.*)", ["", "a", "ba", "abab"], ["aa", "baab"]),
        ("(~b)a", ["a", "aa", "bba"], ["", "ba", "ab"]),
        ("a{2,3}{2}", ["aaaa", "aaaaa", "aaaaaa"], ["aaa", "aaaaaaa"]),
        ("a{10000}|b", ["b"], ["", "a"]),
        ("(ε|a){10000}b", ["b", "aaab"], ["", "a"]),
    ],
)
def test_examples(pattern: str, inside: list[str], outside: list[str]) -> None:
    regex = parse(pattern, "ab")
    assert all(matches(regex, word) for word in inside)
    assert not any(matches(regex, word) for word in outside)
