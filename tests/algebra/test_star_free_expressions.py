"""Expressions without a star, against the automata that they are made of."""

from __future__ import annotations

import pytest

from nerode.algebra import dfa_to_star_free, star_free_expressions
from nerode.core import BudgetExceeded, InputError
from nerode.languages import is_equivalent, resolve_language
from nerode.languages.notation import subtrees
from nerode.languages.regex import Repeat, parse, regex_to_dfa, to_text
from tests.verdict.oracle import Oracle, random_automaton


def test_the_expression_of_the_slides() -> None:
    """(ab)* begins with a, ends in b, and has neither aa nor bb."""
    assert to_text(dfa_to_star_free(resolve_language("(ab)*").dfa())) == "ε|a~∅&~∅b&~(~∅(aa|bb)~∅)"


@pytest.mark.parametrize(
    "name", ["tomita-1", "tomita-2", "tomita-4", "tomita-7", "d-3", "a*b*", "a?", "(a|b)*"]
)
def test_the_text_is_read_back(name: str) -> None:
    dfa = resolve_language(name).dfa()
    found = dfa_to_star_free(dfa)
    assert not any(isinstance(node, Repeat) for node in subtrees(found.expression))
    again = parse(to_text(found), dfa.alphabet)
    assert is_equivalent(regex_to_dfa(again), dfa)


def test_random_automata_have_one_exactly_if_they_are_star_free() -> None:
    written = 0
    for seed in range(60):
        dfa = random_automaton(seed, most_states=5)
        if not Oracle(dfa, "recognise").star_free:
            with pytest.raises(InputError, match="not star-free"):
                dfa_to_star_free(dfa)
            continue
        try:
            found = dfa_to_star_free(dfa)
        except BudgetExceeded:
            continue
        written += 1
        assert not any(isinstance(node, Repeat) for node in subtrees(found.expression))
        assert is_equivalent(regex_to_dfa(found), dfa)
    assert written >= 20


def test_a_large_expression_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(star_free_expressions, "MAX_NODES", 10)
    with pytest.raises(BudgetExceeded, match="subexpressions"):
        dfa_to_star_free(resolve_language("tomita-4").dfa())
