import pytest
from hypothesis import given

from nerode.compiler.construction import Options
from nerode.compiler.constructions.past_ltl import PAST_LTL, FormulaMachine
from nerode.compiler.pipeline import compile_language
from nerode.compiler.table import CONSTRUCTIONS
from nerode.core import Budget, BudgetExceeded, NotCompilable
from nerode.languages import Alphabet, resolve_language
from nerode.languages.pastltl import (
    FormulaLanguage,
    PastFormula,
    Since,
    formula_language,
    formula_to_dfa,
    parse,
    subformulas,
    temporal_depth,
    temporal_subformulas,
    truth_along,
)
from nerode.network import Fixed
from nerode.network.step import Interpreter
from tests.compiler.agreement import assert_does, build, first_disagreement, request_for
from tests.compiler.requests import star_free_request
from tests.compiler.walks import assert_follows_long_words
from tests.languages.pastltl.strategies import formulas
from tests.strategies import words

AB = Alphabet(("a", "b"))
TEXTS = {
    "a S b": (1, 1),
    "H ((a -> Z b) & (b -> Y a)) & !a": (2, 3),
    "O (a & Y b)": (2, 2),
    "(Y a) S (O b & !Y Y a)": (3, 4),
    "H !(a & Y a & Y Y a)": (3, 3),
    "Z Z a": (2, 2),
    "(a S b) S (b S a)": (2, 3),
    "H false": (1, 1),
    "!O a <-> Y Y Y b": (3, 4),
}


@pytest.mark.parametrize(("text", "size"), TEXTS.items())
def test_one_coordinate_an_operator_and_one_layer_a_nesting(text, size):
    language = formula_language(text, AB)
    network = build("past-ltl", language, "mamba")
    assert (network.depth, network.state_size) == size
    assert_does(network, language, short=8, long=100)
    assert_follows_long_words(network, language, 2_000)


@pytest.mark.parametrize("text", TEXTS)
def test_without_the_exclusive_scan(text):
    language = formula_language(text, AB)
    network = build("past-ltl", language, "mamba", Options(exclusive_scan=False))
    assert network.state_size == len(temporal_subformulas(language.formula.formula))
    assert not any(layer.exposes_previous for layer in network.layers)
    assert_does(network, language, short=8, long=100)


@pytest.mark.parametrize("text", [text for text in TEXTS if "S" not in text])
@pytest.mark.parametrize("exclusive", [True, False])
def test_fixed_gates_do_all_but_since(text, exclusive):
    language = formula_language(text, AB)
    network = build("past-ltl-time-invariant", language, "s4d", Options(exclusive_scan=exclusive))
    assert all(isinstance(layer.recurrence, Fixed) for layer in network.layers)
    assert_does(network, language, short=8, long=100)


def test_since_needs_an_input_dependent_gate():
    request = request_for(formula_language("a S b", AB), "s4d")
    assert CONSTRUCTIONS["past-ltl-time-invariant"].language(request.facts) is False
    with pytest.raises(NotCompilable, match="input-dependent gate"):
        PAST_LTL.compile(request)


@given(formulas(max_leaves=7))
def test_random_formulas(formula):
    past = PastFormula(formula=formula, alphabet=AB)
    language = FormulaLanguage(name="random", automaton=formula_to_dfa(past), convention="", formula=past)
    if not temporal_subformulas(formula):
        with pytest.raises(NotCompilable, match="no temporal operator"):
            PAST_LTL.compile(star_free_request(language, "mamba"))
        return
    targets = [("mamba", True), ("mamba", False)]
    if not any(isinstance(node, Since) for node in subformulas(formula)):
        targets += [("s4d", True), ("s4d", False)]
    for target, exclusive in targets:
        network = PAST_LTL.compile(star_free_request(language, target, exclusive_scan=exclusive))
        assert network.depth == temporal_depth(formula)
        assert first_disagreement(network, language, short=5, long=40) is None


def test_acceptance_is_the_truth_of_the_formula():
    language = formula_language("(b S a) & Y O b", AB)
    network = build("past-ltl", language, "diagonal")
    word = (0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0)
    accepted = [answer.legal.end for answer in Interpreter(network).run(word)]
    assert accepted == truth_along(language.formula, word)


def test_a_formula_from_the_command_line_is_compiled_as_it_is():
    language = resolve_language("H (a -> O b)", ltl=True)
    network = compile_language(language, "mamba")
    assert network.origin.construction == "past-ltl"
    assert "O b" in network.layers[0].outputs
    assert compile_language(language, "s4d").origin.construction == "past-ltl-time-invariant"
    assert compile_language(language, "deltanet").origin.construction == "past-ltl-delta-rule"


def test_other_languages_are_refused():
    with pytest.raises(NotCompilable, match="not given by a formula"):
        PAST_LTL.compile(request_for("tomita-4", "mamba"))


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
