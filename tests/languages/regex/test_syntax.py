from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from nerode.core import InputError, PatternError
from nerode.languages.alphabet import Alphabet
from nerode.languages.regex import (
    MAX_REPEAT,
    Complement,
    Concat,
    EmptySet,
    Epsilon,
    Expression,
    Intersection,
    Letters,
    Regex,
    Repeat,
    Union,
    concat,
    intersection,
    parse,
    to_text,
    union,
)

A, B, C, D = (Letters((symbol,)) for symbol in "abcd")


@pytest.mark.parametrize("symbols", [(), ("b", "a"), ("a", "a")])
def test_letters_are_a_non_empty_sorted_set(symbols: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="sorted tuple"):
        Letters(symbols)


@pytest.mark.parametrize("kind", [Concat, Union, Intersection])
def test_associative_nodes_are_flat(kind: type[Concat | Union | Intersection]) -> None:
    with pytest.raises(InputError, match="at least two parts"):
        kind((A,))
    with pytest.raises(InputError, match="none of them"):
        kind((kind((A, B)), C))


@pytest.mark.parametrize(("low", "high"), [(-1, 2), (3, 2), (0, MAX_REPEAT + 1), (MAX_REPEAT + 1, None)])
def test_repeats_have_sensible_limits(low: int, high: int | None) -> None:
    with pytest.raises(InputError, match="not possible"):
        Repeat(A, low, high)


def test_constructors_flatten_and_unwrap() -> None:
    assert concat(concat(A, B), C) == Concat((A, B, C)) == concat(A, concat(B, C))
    assert union(A, union(B, C)) == Union((A, B, C))
    assert intersection(intersection(A, B), C) == Intersection((A, B, C))
    assert concat(A) == union(A) == intersection(A) == A
    assert concat() == Epsilon()
    assert union() == EmptySet()
    with pytest.raises(InputError, match="at least one"):
        intersection()


def test_a_regex_stays_inside_a_non_empty_alphabet() -> None:
    with pytest.raises(InputError, match="'c' of the expression is not in the alphabet"):
        Regex(expression=concat(A, C), alphabet=Alphabet(("a", "b")))
    with pytest.raises(InputError, match="at least one symbol"):
        Regex(expression=Epsilon(), alphabet=Alphabet(()))


def test_equality_looks_at_shape_and_labels() -> None:
    assert Repeat(A, 0, 1) != Repeat(A, 0, None)
    assert Complement(A) != A
    assert concat(A, B) != union(A, B)
    assert concat(A, B) != concat(B, A)
    assert hash(concat(A, B)) == hash(Concat((Letters(("a",)), Letters(("b",)))))
    assert A != "a"
    assert "3 subexpressions" in repr(concat(A, B))


AB = Letters(("a", "b"))

READINGS: list[tuple[str, Expression]] = [
    ("a", A),
    ("ab|c", union(concat(A, B), C)),
    ("a|b|c", union(A, B, C)),
    ("(a|b)|c", union(A, B, C)),
    ("a(bc)", concat(A, B, C)),
    ("ab&c|d", union(intersection(concat(A, B), C), D)),
    ("a|b&c", union(A, intersection(B, C))),
    ("~a*b", concat(Complement(Repeat(A, 0, None)), B)),
    ("(~a)*b", concat(Repeat(Complement(A), 0, None), B)),
    ("~~a", Complement(Complement(A))),
    ("a~b", concat(A, Complement(B))),
    ("~(ab)", Complement(concat(A, B))),
    ("~a&b", intersection(Complement(A), B)),
    ("a+?", Repeat(Repeat(A, 1, None), 0, 1)),
    ("a{3}", Repeat(A, 3, 3)),
    ("a{3,}", Repeat(A, 3, None)),
    ("a{3,5}", Repeat(A, 3, 5)),
    ("a{,5}", Repeat(A, 0, 5)),
    ("a{ 3 , 5 }", Repeat(A, 3, 5)),
    ("a{2}{3}", Repeat(Repeat(A, 2, 2), 3, 3)),
    ("ε|a", union(Epsilon(), A)),
    ("()a", concat(Epsilon(), A)),
    ("( )a", concat(Epsilon(), A)),
    ("∅a", concat(EmptySet(), A)),
    ("[]a", concat(EmptySet(), A)),
    ("[a-c]", Letters(("a", "b", "c"))),
    ("[ac]b", concat(Letters(("a", "c")), B)),
    ("[c a - b]", Letters(("a", "b", "c"))),
    ("[^a]b", concat(B, B)),
    ("[^ab]c", concat(C, C)),
    ("[^ab]", EmptySet()),
    ("[^]ab", concat(AB, A, B)),
    (".ab", concat(AB, A, B)),
    ("<a>", A),
    ("<close>a", concat(Letters(("close",)), A)),
    ("[a<close>]", Letters(("a", "close"))),
    ("a \t\n b", concat(A, B)),
    (r"\*\+", concat(Letters(("*",)), Letters(("+",)))),
    (r"[\]\-]", Letters(("-", "]"))),
    (r"[\+-\-]", Letters(("+", ",", "-"))),
    (r"<-\>>", Letters(("->",))),
    (r"<\<\\>", Letters(("<\\",))),
    (r"\ε", Letters(("ε",))),
    ("a-b,", concat(A, Letters(("-",)), B, Letters((",",)))),
    ("0é", concat(Letters(("0",)), Letters(("é",)))),
]


@pytest.mark.parametrize(("text", "expected"), READINGS, ids=[text for text, _ in READINGS])
def test_reading(text: str, expected: Expression) -> None:
    assert parse(text).expression == expected


ERRORS: list[tuple[str, int, str]] = [
    ("", 1, "the pattern is empty"),
    ("  ", 1, "the pattern is empty"),
    ("(ab", 1, "unclosed ("),
    ("a(b(c)", 2, "unclosed ("),
    ("((a", 2, "unclosed ("),
    ("(", 1, "unclosed ("),
    ("ab)", 3, "unmatched )"),
    (")", 1, "unmatched )"),
    ("(a))b", 4, "unmatched )"),
    ("|a", 1, "nothing to the left of |"),
    ("a|", 2, "nothing to the right of |"),
    ("a||b", 3, "nothing to the left of |"),
    ("(a|)b", 3, "nothing to the right of |"),
    ("(|a)", 2, "nothing to the left of |"),
    ("a&", 2, "nothing to the right of &"),
    ("&a", 1, "nothing to the left of &"),
    ("a~", 2, "nothing to the right of ~"),
    ("(~)", 2, "nothing to the right of ~"),
    ("~|a", 2, "nothing to the left of |"),
    ("*a", 1, "nothing to the left of the repeat"),
    ("a(+b)", 3, "nothing to the left of the repeat"),
    ("a|?", 3, "nothing to the left of the repeat"),
    ("{3}", 1, "nothing to the left of the repeat"),
    ("a(?:ab)*", 2, "(? has no meaning here"),
    ("a{3,2}", 2, "a repeat from 3 to 2"),
    ("a{10001}", 2, "a repeat of more than 10,000"),
    ("a{1,99999999999999999999}", 2, "a repeat of more than 10,000"),
    ("a{" + "9" * 5000 + "}", 2, "a repeat of more than 10,000"),
    ("a{}", 2, "a repeat that cannot be read"),
    ("a{,}", 2, "a repeat that cannot be read"),
    ("a{x}", 2, "a repeat that cannot be read"),
    ("a{1,2,3}", 2, "a repeat that cannot be read"),
    ("a{-1}", 2, "a repeat that cannot be read"),
    ("a{²}", 2, "a repeat that cannot be read"),
    ("a{3", 2, "unclosed {"),
    ("ab}", 3, "} has no meaning here"),
    ("ab<close", 3, "unclosed <"),
    ("a<>", 2, "a symbol without a name"),
    ("a<b c>", 2, "white space in a symbol"),
    ("a>", 2, "> has no meaning here"),
    (r"<a\b>", 3, "unknown escape inside < >"),
    ("<a\\", 3, "unknown escape inside < >"),
    ("a[bc", 2, "unclosed ["),
    ("a[", 2, "unclosed ["),
    ("a[^", 2, "unclosed ["),
    ("a]", 2, "] has no meaning here"),
    ("[c-a]", 2, "the range c-a is reversed"),
    ("[a-]", 3, "a range without an end"),
    ("[a-", 3, "a range without an end"),
    ("[-a]", 2, "- inside a class"),
    ("[a-c-e]", 5, "- inside a class"),
    ("[a[]", 3, "[ inside a class"),
    ("[aε]", 3, "ε inside a class"),
    ("[<up>-z]", 2, "a range between symbols of several characters"),
    ("[a-\U00010000]", 2, "more than 10,000 letters"),
    ("[!-~]", 2, "the symbol $"),
    (r"a\d", 2, "unknown escape \\d"),
    ("ab\\", 3, "nothing after the backslash"),
    ("a\\ b", 2, "white space in a symbol"),
    ("ab$", 3, "the symbol $"),
    (r"\$", 1, "the symbol $"),
    ("<$>", 1, "the symbol $"),
    ("^ab", 1, "^ has no meaning here"),
    (".*", 1, "the alphabet is unknown"),
    ("( .*)", 3, "the alphabet is unknown"),
    ("ε", 1, "the alphabet is unknown"),
    ("()", 1, "the alphabet is unknown"),
]


@pytest.mark.parametrize(("text", "column", "what"), ERRORS, ids=[text[:20] for text, _, _ in ERRORS])
def test_errors_name_the_column(text: str, column: int, what: str) -> None:
    with pytest.raises(PatternError) as caught:
        parse(text)
    assert what in caught.value.what
    assert caught.value.column == column


@pytest.mark.parametrize(
    ("text", "column", "what"),
    [
        ("abc", 3, "the letter 'c' is outside the alphabet {a, b}"),
        ("a<up>", 2, "the letter 'up' is outside"),
        ("a[^c]", 4, "the letter 'c' is outside"),
        ("a[x-z]", 3, "every letter of the range x-z is outside"),
    ],
)
def test_letters_must_be_in_a_given_alphabet(text: str, column: int, what: str) -> None:
    with pytest.raises(PatternError) as caught:
        parse(text, "ab")
    assert what in caught.value.what
    assert caught.value.column == column


def test_a_missing_alphabet_is_asked_for() -> None:
    with pytest.raises(PatternError, match="--alphabet"):
        parse(".*")
    with pytest.raises(InputError, match="the alphabet is empty"):
        parse(".*", "")


def test_the_alphabet_is_that_of_the_pattern_or_the_given_one() -> None:
    assert parse("b[x-z]a<go>[^q]").alphabet == Alphabet(("a", "b", "go", "q", "x", "y", "z"))
    assert parse(".", "ba").alphabet == Alphabet(("b", "a"))
    assert parse("[a-z]", "abc").expression == Letters(("a", "b", "c"))
    assert parse(".", ["open", "close"]).expression == Letters(("close", "open"))
    assert parse("ε", "a").expression == Epsilon()


def outcome_of(text: str) -> Regex | PatternError:
    try:
        return parse(text)
    except PatternError as error:
        return error


@given(st.text(alphabet="ab|&~*+?{}()[]<>.\\^$ε∅-,123 \t", max_size=30))
def test_every_text_parses_or_has_a_pattern_error_inside_it(text: str) -> None:
    outcome = outcome_of(text)
    if isinstance(outcome, PatternError):
        assert 1 <= outcome.column <= max(1, len(text))
    else:
        assert parse(to_text(outcome), outcome.alphabet) == outcome


def test_ten_thousand_parentheses() -> None:
    depth = 10_000
    assert parse("(" * depth + "a" + ")" * depth).expression == A
    with pytest.raises(PatternError, match=f"unclosed \\( at column {depth}"):
        parse("(" * depth + "a")
    with pytest.raises(PatternError, match=f"unmatched \\) at column {2 * depth + 2}"):
        parse("(" * depth + "a" + ")" * (depth + 1))
    nested = parse("(a|b" * depth + ")" * depth)
    assert parse(to_text(nested)) == nested


@pytest.mark.parametrize("text", ["(" * 100_000 + "a" + "b)" * 100_000, "(b" * 100_000 + "a" + ")" * 100_000])
def test_bracketed_chains_do_not_cost_the_square(text: str) -> None:
    assert len(parse(text).expression.children) == 100_001


@pytest.mark.slow
def test_a_million_characters() -> None:
    regex = parse("ab" * 500_000)
    assert len(regex.expression.children) == 1_000_000
    assert to_text(regex) == "ab" * 500_000
    with pytest.raises(PatternError) as caught:
        parse("ab" * 50_000 + "|")
    assert caught.value.column == 100_001
    assert len(str(caught.value)) < 300


def test_a_long_chain_of_operators() -> None:
    regex = parse("~" * 100_000 + "a" + "*" * 100_000)
    assert isinstance(regex, Regex)
    assert to_text(regex) == "~" * 100_000 + "a" + "*" * 100_000
