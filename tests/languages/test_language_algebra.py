"""Languages as values: operators, quotients, equality and forms, against lists of words."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import nerode as nr
from nerode.core import InputError
from nerode.languages import Alphabet, Dfa, RegularLanguage
from tests.cli.runner import run

WORDS = ["".join(word) for length in range(6) for word in itertools.product("ab", repeat=length)]


@st.composite
def languages(draw: st.DrawFn) -> RegularLanguage:
    states = draw(st.integers(1, 4))
    number = st.integers(0, states - 1)
    table = draw(st.lists(st.tuples(number, number), min_size=states, max_size=states))
    accepting = draw(st.lists(st.booleans(), min_size=states, max_size=states))
    dfa = Dfa(
        alphabet=Alphabet(("a", "b")),
        transitions=np.array(table),
        start=draw(number),
        accepting=np.array(accepting),
    )
    return RegularLanguage(name="drawn", automaton=dfa, convention="drawn")


@given(left=languages(), right=languages())
def test_operators_are_those_of_sets_of_words(left: RegularLanguage, right: RegularLanguage) -> None:
    first, second = ({word for word in WORDS if word in language} for language in (left, right))
    for made, expected in (
        (left & right, first & second),
        (left | right, first | second),
        (left - right, first - second),
        (~left, set(WORDS) - first),
        (left.reverse(), {word[::-1] for word in first}),
    ):
        assert {word for word in WORDS if word in made} == expected
    joined = left + right
    for word in WORDS:
        splits = (word[:i] in left and word[i:] in right for i in range(len(word) + 1))
        assert (word in joined) == any(splits)


@given(left=languages(), right=languages(), word=st.sampled_from(WORDS[:15]))
def test_quotients_are_what_stands_after_and_before(
    left: RegularLanguage, right: RegularLanguage, word: str
) -> None:
    after, before = left.left_quotient(word), left.right_quotient(word)
    assert all((other in after) == (word + other in left) for other in WORDS)
    assert all((other in before) == (other + word in left) for other in WORDS)
    # Words of 3 letters reach each of at most 4 states, and 16 pairs are reached by 15 letters.
    many = [
        w for length in range(8) for w in map("".join, itertools.product("ab", repeat=length)) if w in right
    ]
    whole = left.left_quotient(right)
    assert all(other in whole for other in WORDS[:31] if any(w + other in left for w in many))
    assert left.left_quotient(right).reverse() == left.reverse().right_quotient(right.reverse())


@given(left=languages(), right=languages())
def test_equality_is_that_of_words_and_the_difference_is_a_shortest_one(
    left: RegularLanguage, right: RegularLanguage
) -> None:
    word = left.difference_from(right)
    assert (left == right) == (word is None)
    assert (left <= right) == (left - right == nr.language("∅", regex=True, alphabet="ab"))
    if word is None:
        assert hash(left) == hash(right)
    else:
        word = "" if word == "ε" else word
        assert (word in left) != (word in right)
        shorter = [w for w in WORDS if len(w) < len(word)]
        assert all((w in left) == (w in right) for w in shorter)


def test_a_language_is_its_words_and_not_its_name_or_unused_letters() -> None:
    ab = nr.language("(ab)*")
    assert ab == nr.language("a(ba)*b|()")
    assert ab == nr.language("(ab)*", alphabet=["c", "b", "a"])
    assert len({ab, nr.language("a(ba)*b|()")}) == 1
    assert ab != nr.language("(ba)*")
    assert ab != nr.language("dyck-1")
    assert ab != "(ab)*"


def test_words_come_by_length_also_of_languages_without_automaton() -> None:
    assert list(itertools.islice(nr.language("a*b").words(), 3)) == ["b", "ab", "aab"]
    assert list(nr.language("dyck-1").words(longest=4)) == ["ε", "()", "(())", "()()"]
    assert "(())" in nr.language("dyck-1")


def test_forms_of_a_language(tmp_path: Path) -> None:
    ab = nr.language("(ab)*")
    assert nr.language(ab.to_regex()) == ab
    assert nr.language(ab.to_ltl(), ltl=True) == ab
    assert len(ab.monoid) == 6
    ab.draw(tmp_path / "ab.svg")
    assert (tmp_path / "ab.svg").read_text().startswith("<?xml")
    assert "<svg" in (ab | nr.language("b")).star()._repr_svg_()


def test_what_has_no_automaton_or_is_no_language_is_refused() -> None:
    with pytest.raises(InputError, match="dyck-1 is not regular"):
        _ = nr.language("dyck-1") & nr.language("a*")
    with pytest.raises(InputError, match=r"joins two languages; nerode.language\(…\) makes one of 'b\*'"):
        _ = nr.language("a*") & "b*"
    with pytest.raises(InputError, match="the symbol 'c'"):
        nr.language("a*").left_quotient("c")


def test_convert_takes_quotients_and_reads_backwards() -> None:
    outcome = run("convert", "ab*c", "--before", "c", "--reverse", "--as", "regex")
    assert (outcome.code, outcome.out.strip()) == (0, "b*a")
    outcome = run("convert", "ab*c", "--after", "a(b)", "--as", "regex")
    assert outcome.out.strip() == "b*c"
    assert run("convert", "ab*c", "--after", "dyck-1", "--as", "regex").code == 2
