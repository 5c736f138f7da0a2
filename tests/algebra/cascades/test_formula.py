from __future__ import annotations

from itertools import product

import pytest

from nerode.algebra.cascades import NotCounterFree, dfa_to_formula
from nerode.core import BudgetExceeded
from nerode.languages.bestiary import find_language
from nerode.languages.pastltl import to_text
from tests.languages.pastltl.oracle import holds


@pytest.mark.parametrize("name", ["ab-star", "tomita-4", "tomita-7", "012-star-02-star", "d-2"])
def test_the_formula_holds_exactly_on_the_words(name: str) -> None:
    """By the definition of truth, not by the automaton that the function itself compares."""
    language = find_language(name)
    formula = dfa_to_formula(language.dfa())
    for length in range(6):
        for word in product(language.alphabet, repeat=length):
            assert holds(formula, word) == language.accepts(word), word


def test_registers_have_one_since() -> None:
    assert to_text(dfa_to_formula(find_language("set-reset").dfa())) == "!0 S 1"


def test_groups_and_explosions_are_refused() -> None:
    with pytest.raises(NotCounterFree):
        dfa_to_formula(find_language("parity").dfa())
    with pytest.raises(BudgetExceeded, match="levels of the cascade"):
        dfa_to_formula(find_language("dyck-2-5").dfa())
