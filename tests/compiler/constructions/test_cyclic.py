import itertools
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from nerode.compiler.constructions.cyclic import CYCLIC_ROTATION, circle, cyclic_action
from nerode.compiler.pipeline import compile_language
from nerode.core import NotCompilable, cosine, root_of_unity
from nerode.languages import RegularLanguage
from nerode.languages.groups import word_problem
from nerode.languages.regex import regular_language
from nerode.network.step import Interpreter
from tests.compiler.agreement import (
    assert_does,
    assert_points_apart,
    build,
    first_disagreement,
    named,
    request_for,
)
from tests.strategies import dfas


@pytest.mark.parametrize("name", ["parity", "odd-parity", "z2", "aa-star"])
@pytest.mark.parametrize("target", ["diagonal-signed", "diagonal-complex", "mamba-signed"])
def test_parity_is_one_sign(name, target):
    network = build("parity-sign", name, target)
    assert_does(network, name, short=8)
    assert (network.depth, network.state_size) == (1, 1)
    assert not network.layers[0].complex_state
    gates = {c for _, c in network.layers[0].recurrence.gate.rows[0]}
    assert gates <= {1, -1}


@pytest.mark.parametrize("name", ["z3", "tomita-6", "aaaa-star", "cycle-navigation", "z60", "parity"])
def test_cyclic_groups_turn_one_complex_number(name):
    network = build("cyclic-rotation", name, "complex-diagonal")
    assert_does(network, name)
    assert (network.depth, network.state_size) == (1, 1)
    m = named(name).dfa().num_states
    # Neighbours on the circle are 2 - 2 cos(2π/m) apart, squared.
    assert_points_apart(network.decoder, 2 - 2 * cosine(1, m))


def test_the_steps_of_cycle_navigation_are_those_of_its_convention():
    language = named("cycle-navigation")
    action = cyclic_action(language.dfa())
    assert action.order == 5
    steps = dict(zip(language.alphabet, action.steps, strict=True))
    assert sorted(steps.values()) == [0, 1, 4]


@pytest.mark.parametrize("name", ["s3", "tomita-5", "z2xz2", "q8"])
def test_other_groups_turn_no_cycle(name):
    assert cyclic_action(named(name).dfa()) is None


@pytest.mark.parametrize("m", [5, 6, 12])
def test_steps_add_up_when_no_letter_goes_one_step(m):
    """Letters 2 and 3 of Z6 and the like generate the group although neither reaches all states."""
    language = word_problem(f"Z{m}")
    letters = [2, 3]
    dfa = language.dfa()
    keep = replace(
        dfa,
        alphabet=type(dfa.alphabet)(("two", "three")),
        transitions=dfa.transitions[:, letters],
    )
    small = RegularLanguage(name=f"sums mod {m}", automaton=keep, convention="")
    network = build("cyclic-rotation", small, "diagonal-complex")
    assert_does(network, small, long=500)


@given(dfas(max_states=6, max_letters=2))
def test_a_cyclic_action_explains_every_move(dfa):
    reached = RegularLanguage(name="random", automaton=dfa, convention="").dfa()
    action = cyclic_action(reached)
    moves = itertools.product(range(reached.num_states), range(reached.num_letters))
    if action is None:
        return
    for q, a in moves:
        moved = action.positions[int(reached.transitions[q, a])]
        assert moved == (action.positions[q] + action.steps[a]) % action.order


@given(st.integers(2, 24))
def test_the_circle_is_the_roots_of_unity(m):
    imaginary = root_of_unity(1, 4)
    assert [x + y * imaginary for x, y in circle(m)] == [root_of_unity(k, m) for k in range(m)]


def test_a_changed_gate_is_seen():
    network = build("cyclic-rotation", "z3", "diagonal-complex")
    layer = network.layers[0]
    gate = layer.recurrence.gate
    row = tuple((j, root_of_unity(1, 3)) for j, _ in gate.rows[0])
    wrong = replace(layer, recurrence=replace(layer.recurrence, gate=replace(gate, rows=(row,))))
    assert first_disagreement(replace(network, layers=(wrong,)), named("z3"), long=50) is not None


@pytest.mark.parametrize("target", ["mamba", "diagonal", "gla"])
@pytest.mark.parametrize("name", ["parity", "z3"])
def test_nonnegative_gates_are_refused_with_the_witness(name, target):
    with pytest.raises(NotCompilable) as refusal:
        compile_language(named(name), target)
    assert any("u = " in reason and "period" in reason for reason in refusal.value.reasons)


@pytest.mark.parametrize("name", ["z3", "tomita-6", "cycle-navigation", "z60"])
@pytest.mark.parametrize("target", ["diagonal-signed", "mamba-signed"])
def test_odd_moduli_are_refused_for_real_gates_with_the_witness(name, target):
    with pytest.raises(NotCompilable) as refusal:
        compile_language(named(name), target)
    text = " ".join(refusal.value.reasons)
    assert "real gates only double periods" in text
    assert "u = " in text


def test_a_cycle_that_is_too_long_is_refused_with_its_length():
    language = regular_language("(a{361})*")
    request = request_for(language, "diagonal-complex")
    with pytest.raises(NotCompilable, match="361"):
        CYCLIC_ROTATION.compile(request)


def test_the_numbers_stay_on_the_circle():
    network = build("cyclic-rotation", "z60", "diagonal-complex")
    interpreter = Interpreter(network)
    configuration = interpreter.start()
    for letter in (1, 7, 59, 30, 44) * 40:
        configuration, _ = interpreter.step(configuration, letter)
        assert configuration[0][0] in {root_of_unity(k, 60) for k in range(60)}
