from __future__ import annotations

import pytest

from nerode.core import Budget, BudgetExceeded
from nerode.languages.determinise import BundledNfa
from nerode.languages.regex import Complement, concat, parse, regex_to_dfa, simplify
from nerode.languages.regex.positions import position_automaton


def automaton(text: str, budget: Budget | None = None) -> BundledNfa:
    budget = budget or Budget()
    simple = simplify(parse(text, "ab"), budget)
    return position_automaton(simple, {"a": 0, "b": 1}, num_letters=2, blocks={}, budget=budget)


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("ε", 1),
        ("∅", 1),
        ("a", 2),
        ("(a|b)*a", 3),
        ("a{5}", 6),
        ("(ab){2,4}", 9),
        ("(ab){3,}", 7),
        ("(ab)*", 3),
    ],
)
def test_one_state_for_each_occurrence_of_a_letter_and_the_start(text: str, states: int) -> None:
    assert automaton(text).num_states == states


def test_edges_that_are_shared_are_stored_once() -> None:
    # 200 words in a star: 200 x 200 edges lead from an end to a beginning, through one link.
    text = "(" + "|".join(f"a{'b' * i}a" for i in range(1, 201)) + ")*"
    found = automaton(text)
    assert sum(map(len, found.links)) + sum(map(len, found.out)) < 3 * found.num_states


def test_the_size_is_known_before_anything_is_built() -> None:
    with pytest.raises(BudgetExceeded) as caught:
        automaton("(ab){1000}", Budget(bytes=10_000))
    assert caught.value.resource == "bytes"
    assert caught.value.known_so_far == {"positions": 2000}


def test_edges_count_too() -> None:
    # Every prefix of the nullable parts can be left, so that the links have a quadratic number of sources.
    text = "(" * 1000 + "a" + "b|b)*a" * 1000
    with pytest.raises(BudgetExceeded) as caught:
        automaton(text, Budget(bytes=3_000_000))
    assert caught.value.resource == "bytes"


def test_blocks_take_the_place_of_their_node() -> None:
    block = Complement(parse("a").expression)
    expression = concat(block, parse("b").expression)
    dfa = regex_to_dfa("~a", "ab")
    found = position_automaton(
        expression, {"a": 0, "b": 1}, num_letters=2, blocks={id(block): dfa}, budget=Budget()
    )
    assert found.num_states == 1 + dfa.num_states + 1
