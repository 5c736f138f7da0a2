from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

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
    Or,
    PastFormula,
    Since,
    WeakYesterday,
    Yesterday,
    parse,
)
from tests.languages.pastltl.oracle import holds, truth_along
from tests.languages.pastltl.strategies import formulas


def true_at(node: Formula, word: str, t: int) -> bool:
    """The semantics, clause by clause, at position t of 1 … len(word); 0 is the empty word."""
    match node:
        case Constant(value):
            return value
        case Atom(symbol):
            return t > 0 and word[t - 1] == symbol
        case Not(f):
            return not true_at(f, word, t)
        case Or(parts):
            return any(true_at(f, word, t) for f in parts)
        case Implies(f, g):
            return not true_at(f, word, t) or true_at(g, word, t)
        case Iff(f, g):
            return true_at(f, word, t) is true_at(g, word, t)
        case Yesterday(f):
            return t > 1 and true_at(f, word, t - 1)
        case WeakYesterday(f):
            return t <= 1 or true_at(f, word, t - 1)
        case Once(f):
            return any(true_at(f, word, s) for s in range(1, t + 1))
        case Historically(f):
            return all(true_at(f, word, s) for s in range(1, t + 1))
        case Since(f, g):
            return any(
                true_at(g, word, s) and all(true_at(f, word, r) for r in range(s + 1, t + 1))
                for s in range(1, t + 1)
            )
        case _:
            return all(true_at(f, word, t) for f in node.children)


@given(formulas("ab", max_leaves=6), st.text("ab", max_size=6))
def test_it_is_the_definition(formula: Formula, word: str) -> None:
    parsed = PastFormula(formula=formula, alphabet=Alphabet(("a", "b")))
    expected = [true_at(formula, word, t) for t in range(len(word) + 1)]
    assert truth_along(parsed, word) == expected
    assert holds(parsed, word) == expected[-1]


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("a", ["a", "ba"], ["", "b", "ab"]),
        ("Y a", ["ab", "aa"], ["", "a", "ba"]),
        ("Z a", ["", "a", "b", "ab"], ["ba"]),
        ("Z false", ["", "a", "b"], ["ab"]),
        ("O a", ["a", "ab", "abbb"], ["", "b"]),
        ("H a", ["", "a", "aaa"], ["b", "aba"]),
        ("a S b", ["b", "ba", "baa", "abb"], ["", "a", "aa"]),
        ("false S b", ["b", "ab"], ["", "ba"]),
        ("a <-> b", [""], ["a", "b"]),
    ],
)
def test_examples(text: str, inside: list[str], outside: list[str]) -> None:
    formula = parse(text, "ab")
    assert all(holds(formula, word) for word in inside)
    assert not any(holds(formula, word) for word in outside)


def test_long_words_take_linear_time() -> None:
    formula = parse("H (a S (b S Y O a))")
    assert len(truth_along(formula, "ab" * 50_000)) == 100_001
