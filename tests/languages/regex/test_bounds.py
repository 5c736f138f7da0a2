from __future__ import annotations

import pytest
from hypothesis import given

from nerode.core import Budget
from nerode.languages.alphabet import Alphabet
from nerode.languages.regex import Expression, Regex, least_states, parse, regex_to_dfa, simplify
from tests.languages.regex.strategies import expressions


@given(expressions("ab", max_leaves=10))
def test_the_bound_is_never_above_the_truth(expression: Expression) -> None:
    regex = Regex(expression=expression, alphabet=Alphabet(("a", "b")))
    assert least_states(simplify(regex, Budget())) <= regex_to_dfa(regex).num_states


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("a{30}", 32),
        ("(ab){3,4}", 10),
        ("a{30}b*", 31),
        ("(a{1000}){1000}", 1_000_002),
        ("~a{30}", 1),
        ("∅a", 1),
    ],
)
def test_examples(text: str, states: int) -> None:
    assert least_states(simplify(parse(text), Budget())) == states
