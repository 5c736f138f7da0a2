import pytest
from hypothesis import given

from nerode.compiler.formula_machine import FormulaMachine
from nerode.core import Budget, BudgetExceeded
from nerode.languages import Alphabet
from nerode.languages.pastltl import PastFormula, formula_to_dfa, parse, temporal_depth
from nerode.languages.pastltl.compile import truth_along
from tests.languages.pastltl.strategies import formulas
from tests.strategies import words

AB = Alphabet(("a", "b"))


@given(formulas(), words(AB))
def test_the_machine_agrees_with_the_definition(formula, word):
    past = PastFormula(formula=formula, alphabet=AB)
    machine = FormulaMachine(past)
    memory = machine.initial()
    for letter, expected in zip(word, truth_along(past, word)[1:], strict=True):
        truth, memory = machine.step(memory, letter)
        assert truth[-1] == expected


@given(formulas(max_leaves=5))
def test_positions_are_all_that_words_reach(formula):
    past = PastFormula(formula=formula, alphabet=AB)
    machine = FormulaMachine(past)
    dfa = formula_to_dfa(past)
    positions = machine.positions(dfa, Budget())
    known = {(p.letter, p.truth, p.memory) for p in positions}
    assert len(known) == len(positions)
    assert all(bool(dfa.accepting[p.state]) == p.truth[-1] for p in positions)
    for kept in {machine.initial(), *(p.memory for p in positions)}:
        for letter in range(2):
            assert (letter, *machine.step(kept, letter)) in known


def test_depths_and_cones():
    past = parse("(Y a | b) S O (Y Y b & a)", "ab")
    machine = FormulaMachine(past)
    whole = len(machine.nodes) - 1
    assert machine.depth(whole) == temporal_depth(past.formula) == 4
    assert machine.cone(whole) == (whole,)
    left, right = machine.operands[whole]
    assert [machine.depth(i) for i in machine.cone(left)] == [1]
    assert machine.cone(right) == (right,)


def test_the_budget_bounds_the_memories():
    past = parse(" & ".join("Y " * n + "a" for n in range(1, 9)), "ab")
    with pytest.raises(BudgetExceeded):
        FormulaMachine(past).positions(formula_to_dfa(past), Budget(states=20))
