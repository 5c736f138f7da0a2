from __future__ import annotations

import pytest

from nerode.core import InputError
from nerode.languages.alphabet import Alphabet
from nerode.languages.regex import (
    MAX_REPEAT,
    Complement,
    Concat,
    EmptySet,
    Epsilon,
    Intersection,
    Letters,
    Regex,
    Repeat,
    Union,
    concat,
    intersection,
    union,
)

A, B, C = (Letters((symbol,)) for symbol in "abc")


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
