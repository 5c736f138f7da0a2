from __future__ import annotations

import pytest
from hypothesis import given

from nerode.core import Budget, BudgetExceeded
from nerode.languages import determinise as subsets
from nerode.languages.alphabet import Alphabet
from nerode.languages.determinise import BundledNfa, MaskAutomaton, minimise
from nerode.languages.regex import Expression, Regex, parse, positions as module, regex_to_dfa, simplify
from nerode.languages.regex.positions import minimal_dfa, position_automaton
from tests.languages.regex.strategies import expressions

AB = Alphabet(("a", "b"))


def positions(expression: Expression) -> BundledNfa:
    simple = simplify(Regex(expression=expression, alphabet=AB), Budget())
    return position_automaton(simple, {"a": 0, "b": 1}, num_letters=2, blocks={}, budget=Budget())


@given(expressions("ab", boolean=False, max_leaves=12))
def test_bit_sets_and_sets_of_numbers_give_the_same_automaton(expression: Expression) -> None:
    automaton = positions(expression)
    expected = minimal_dfa(automaton, AB, Budget())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subsets, "_MASK_BITS", 0)
        assert minimal_dfa(automaton, AB, Budget()) == expected


@given(expressions("ab", boolean=False, max_leaves=12))
def test_determinising_twice_backwards_gives_the_minimal_automaton(expression: Expression) -> None:
    masks = MaskAutomaton.of_bundles(positions(expression))
    back = minimise(masks.reversed().determinised(AB, Budget()))
    again = MaskAutomaton.of_dfa(back).reversed().determinised(AB, Budget())
    assert again == minimise(again) == minimal_dfa(positions(expression), AB, Budget())


def test_reversal_reads_words_backwards() -> None:
    masks = MaskAutomaton.of_bundles(positions(parse("ab*(ab|bb)").expression))
    back = minimise(masks.reversed().determinised(AB, Budget()))
    assert back == regex_to_dfa("(ba|bb)b*a")


def test_no_hint_when_the_reversal_is_as_large() -> None:
    # The middle letter of the window is an a, from either end: both directions need a subset each.
    with pytest.raises(BudgetExceeded) as caught:
        regex_to_dfa("(a|b)*a(a|b){18}a(a|b)*", budget=Budget(states=1000))
    assert set(caught.value.known_so_far) == {"states_reached"}


def test_a_large_reversal_is_reported_but_not_turned_back() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_REVERSED_STATES", 10)
        with pytest.raises(BudgetExceeded) as caught:
            regex_to_dfa("(a|b)*a(a|b){18}", budget=Budget(states=1000))
    assert set(caught.value.known_so_far) == {"states_reached", "reversed_states"}
