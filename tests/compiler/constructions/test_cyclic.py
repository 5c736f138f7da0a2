import itertools

import pytest
from hypothesis import given, strategies as st

from nerode.compiler.constructions.clock import circle, cyclic_action, turns_of
from nerode.compiler.pipeline import compile_language
from nerode.core import NotCompilable, root_of_unity
from nerode.languages import RegularLanguage
from nerode.languages.regex import regular_language
from tests.compiler.agreement import (
    assert_does,
    build,
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


def test_the_steps_of_cycle_navigation_are_those_of_its_convention():
    language = named("cycle-navigation")
    action = cyclic_action(language.dfa())
    assert action.order == 5
    steps = dict(zip(language.alphabet, action.steps, strict=True))
    assert sorted(steps.values()) == [0, 1, 4]


@pytest.mark.parametrize("name", ["s3", "tomita-5", "z2xz2", "q8"])
def test_other_groups_turn_no_cycle(name):
    assert cyclic_action(named(name).dfa()) is None


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
    with pytest.raises(NotCompilable, match="361"):
        turns_of(language.dfa(), request_for(language, "diagonal-complex"))
