from __future__ import annotations

import pytest

from nerode.core import InputError
from nerode.languages.alphabet import Alphabet
from nerode.languages.pastltl import (
    And,
    Atom,
    Constant,
    Historically,
    Once,
    Or,
    PastFormula,
    Since,
    conjunction,
    disjunction,
    parse,
    subformulas,
)

A, B, C = (Atom(symbol) for symbol in "abc")


@pytest.mark.parametrize("kind", [And, Or])
def test_associative_nodes_are_flat(kind: type[And | Or]) -> None:
    with pytest.raises(InputError, match="at least two parts"):
        kind((A,))
    with pytest.raises(InputError, match="none of them"):
        kind((kind((A, B)), C))


def test_constructors_flatten_and_unwrap() -> None:
    assert conjunction(conjunction(A, B), C) == And((A, B, C))
    assert disjunction(A, disjunction(B, C)) == Or((A, B, C))
    assert conjunction(A) == disjunction(A) == A
    assert conjunction() == Constant(True)
    assert disjunction() == Constant(False)


def test_a_formula_stays_inside_a_non_empty_alphabet() -> None:
    with pytest.raises(InputError, match="'c' of the formula is not in the alphabet"):
        PastFormula(formula=And((A, C)), alphabet=Alphabet(("a", "b")))
    with pytest.raises(InputError, match="at least one symbol"):
        PastFormula(formula=Constant(True), alphabet=Alphabet(()))


def test_subformulas_come_in_order_and_once() -> None:
    formula = parse("O (a & Y b) | (b S O (a & Y b))").formula
    found = subformulas(formula)
    assert found[-1] == formula
    assert len(found) == len(set(found)) == 7
    for i, node in enumerate(found):
        assert all(found.index(child) < i for child in node.children)


def test_equality_tells_operators_apart() -> None:
    assert Once(A) != Historically(A)
    assert Since(A, B) != Since(B, A)
    assert Constant(True) != Constant(False)
    assert "2 subformulas" in repr(Once(A))
