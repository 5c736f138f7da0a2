from dataclasses import replace

import pytest
from hypothesis import given, settings

from nerode.compiler.pipeline import compile_language
from nerode.languages import RegularLanguage
from tests.compiler.agreement import assert_does, build, first_disagreement, named
from tests.strategies import dfas

NAMES = ["tomita-3", "tomita-7", "parity", "s4", "t3", "u2", "modular-arithmetic", "even-pairs", "abab-star"]


@pytest.mark.parametrize("target", ["dense", "ids4"])
@pytest.mark.parametrize("name", NAMES)
def test_the_matrices_are_those_of_the_automaton(name, target):
    network = build("dense-one-hot", name, target)
    assert_does(network, name, long=2_000)
    assert (network.depth, network.width) == (1, named(name).dfa().num_states)
    for matrix in network.layers[0].recurrence.matrices:
        columns = sorted(j for row in matrix for j, _ in row)
        assert columns == list(range(network.width))
        assert {c for row in matrix for _, c in row} == {1}


@settings(max_examples=50)
@given(dfas(max_states=7, max_letters=3))
def test_random_automata(dfa):
    language = RegularLanguage(name="random", automaton=dfa, convention="")
    network = build("dense-one-hot", language, "dense")
    assert first_disagreement(network, language, short=4, long=200) is None


def test_the_pipeline_uses_it_for_any_regular_language():
    assert compile_language(named("t3"), "ids4").origin.construction == "dense-one-hot"


def test_a_moved_entry_is_seen():
    network = build("dense-one-hot", "tomita-3", "dense")
    layer = network.layers[0]
    first, *others = layer.recurrence.matrices
    source = next(row[0][0] for row in first if row)
    moved = [tuple(entry for entry in row if entry[0] != source) for row in first]
    target = next(i for i, row in enumerate(first) if all(j != source for j, _ in row))
    moved[target] = (*moved[target], (source, 1))
    wrong = replace(layer.recurrence, matrices=(tuple(moved), *others))
    changed = replace(network, layers=(replace(layer, recurrence=wrong),))
    assert first_disagreement(changed, named("tomita-3"), long=50) is not None
