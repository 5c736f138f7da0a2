from __future__ import annotations

import pytest
from hypothesis import given

from nerode.core import BudgetExceeded
from nerode.languages import Dfa, is_equivalent
from nerode.languages.bestiary import find_language
from nerode.languages.regex import dfa_to_regex, regex_to_dfa, to_text
from tests.strategies import dfas


@given(dfas(max_states=5))
def test_the_expression_has_the_words_of_the_automaton(dfa: Dfa) -> None:
    regex = dfa_to_regex(dfa)
    assert is_equivalent(regex_to_dfa(regex), dfa)
    assert is_equivalent(regex_to_dfa(to_text(regex), dfa.alphabet), dfa)


@pytest.mark.parametrize(
    ("name", "expected"), [("ab-star", "(ab)*"), ("tomita-1", "1*"), ("tomita-2", "(10)*")]
)
def test_short_languages_have_short_expressions(name: str, expected: str) -> None:
    assert to_text(dfa_to_regex(find_language(name).dfa())) == expected


def test_an_expression_that_explodes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nerode.languages.regex.automaton.MAX_NODES", 2_000)
    with pytest.raises(BudgetExceeded, match="keep the language as an automaton"):
        dfa_to_regex(find_language("s4").dfa())
