import functools

import pytest
from hypothesis import given, strategies as st

from nerode.algebra.cascades import HOLD, Add, Reset, decompose_solvable
from nerode.compiler.level_machine import (
    LevelMachine,
    TabledLevel,
    in_binary,
    tabulate,
    without_counter_resets,
)
from nerode.core import Budget, BudgetExceeded
from nerode.languages import RegularLanguage
from nerode.languages.bestiary import find_language
from tests.strategies import dfas, words

NAMES = ["t3", "s4", "q8", "modular-arithmetic", "cycle-navigation-announced", "aaaa-star", "tomita-3"]


@functools.cache
def machine_of(name):
    dfa = find_language(name).dfa()
    return tabulate(decompose_solvable(dfa), dfa)


@functools.cache
def machines_of(name):
    machine = machine_of(name)
    return machine, in_binary(machine), without_counter_resets(machine)


def run(machine: LevelMachine, word):
    """The states of the automaton along a word, by the tables alone."""
    labels = tuple(level.start for level in machine.levels)
    yield machine.states[labels]
    for letter in word:
        labels = tuple(
            level.table[letter, *(labels[p] for p in level.parents)].apply(label, level.num_labels)
            for level, label in zip(machine.levels, labels, strict=True)
        )
        yield machine.states[labels]


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_tables_and_what_is_made_of_them_run_the_automaton(name, data):
    machine, *made = machines_of(name)
    word = data.draw(words(machine.dfa.alphabet, max_length=30))
    for other in (machine, *made):
        assert tuple(run(other, word)) == machine.dfa.trace(word)


@pytest.mark.parametrize("name", NAMES)
def test_binary_digits_leave_no_counter_modulo_four(name):
    moduli = {x.num_labels for x in in_binary(machine_of(name)).levels if x.kind == "cyclic"}
    assert not any(m > 2 and m & (m - 1) == 0 for m in moduli)


@pytest.mark.parametrize("name", NAMES)
def test_counters_are_not_reset_any_more(name):
    for level in without_counter_resets(machine_of(name)).levels:
        assert level.kind != "cyclic" or level.num_labels == 2 or not level.resets


def test_depths_follow_the_parents():
    machine = machine_of("s4")
    assert machine.depths == (1, 2, 3, 3)
    assert [machine.is_read(i) for i in range(4)] == [True, True, False, False]


def test_kinds_and_commands():
    level = TabledLevel(
        num_labels=3, start=0, parents=(), table={(0,): Add(1), (1,): HOLD, (2,): Reset(2), (3,): Add(1)}
    )
    assert level.kind == "cyclic"
    assert level.resets
    assert level.commands == (HOLD, Add(1), Reset(2))


def test_the_budget_bounds_the_configurations():
    dfa = find_language("s4").dfa()
    with pytest.raises(BudgetExceeded):
        tabulate(decompose_solvable(dfa), dfa, Budget(elements=5))


@given(dfas(max_states=4, max_letters=2))
def test_random_automata(dfa):
    minimal = RegularLanguage(name="random", automaton=dfa, convention="").dfa()
    machine = without_counter_resets(in_binary(tabulate(decompose_solvable(minimal), minimal)))
    assert machine.states[tuple(level.start for level in machine.levels)] == minimal.start
    assert set(machine.states.values()) == set(range(minimal.num_states))
