from dataclasses import replace

import numpy as np
import pytest

from nerode.compiler.constructions.plane_reflections import dihedral_group
from nerode.compiler.pipeline import compile_language
from nerode.core import cosine
from nerode.languages import Alphabet, Dfa, RegularLanguage
from nerode.languages.groups import word_problem
from nerode.network.interpreter import Interpreter
from tests.compiler.agreement import (
    assert_does,
    assert_points_apart,
    build,
    first_disagreement,
    named,
    request_for,
)


@pytest.mark.parametrize("m", [2, 3, 4, 5, 7, 60])
def test_addition_modulo_m_by_two_layers_of_reflections(m):
    language = word_problem(f"Z{m}")
    network = build("plane-reflections", language, "deltanet-signed")
    assert_does(network, language, short=4, long=10_000 if m < 10 else 2_000)
    assert [layer.width for layer in network.layers] == [1, 2]
    assert [layer.recurrence.most_factors for layer in network.layers] == [1, 1]
    assert len(network.decoder.points) == 2 * m
    # The sums are at even multiples of π/m after an even number of letters, at odd ones after an odd number.
    assert_points_apart(network.decoder, 2 - 2 * cosine(1, 2 * m))


def test_the_first_layer_is_the_parity_of_the_position():
    network = build("plane-reflections", "z3", "householder")
    interpreter = Interpreter(network)
    configuration = interpreter.start()
    for position in range(1, 20):
        configuration, _ = interpreter.step(configuration, position % 3)
        assert configuration[0] == (position % 2,)


@pytest.mark.parametrize("name", ["tomita-6", "cycle-navigation", "aaaa-star"])
def test_letters_that_are_some_of_the_elements(name):
    network = build("plane-reflections", name, "deltanet-signed")
    assert_does(network, name)
    assert compile_language(named(name), "deltanet-signed").origin.construction == "plane-reflections"


@pytest.mark.parametrize("group", ["S3", "D4", "D5", "D6"])
def test_the_symmetries_of_a_polygon(group):
    language = word_problem(group)
    network = build("polygon-reflections", language, "deltanet-signed")
    assert_does(network, language, short=3)
    m = language.dfa().num_states // 2
    assert [layer.recurrence.most_factors for layer in network.layers] == [1, 1]
    assert len(network.decoder.points) == 4 * m
    assert_points_apart(network.decoder, 2 - 2 * cosine(1, 4 * m))


def test_a_polygon_by_its_corners():
    """Five states that are turned (t) and mirrored (m): fewer states than symmetries."""
    dfa = Dfa(
        alphabet=Alphabet(("t", "m")),
        transitions=np.array([[(q + 1) % 5, -q % 5] for q in range(5)], dtype=np.int32),
        start=0,
        accepting=np.arange(5) == 0,
    )
    language = RegularLanguage(name="pentagon", automaton=dfa, convention="")
    network = build("polygon-reflections", language, "deltanet-signed")
    assert_does(network, language, short=8)


def test_a_changed_mirror_is_seen():
    network = build("plane-reflections", "z3", "householder")
    layer = network.layers[1]
    factors = layer.recurrence.factors
    wrong = replace(layer.recurrence, factors=(factors[1], factors[1], *factors[2:]))
    changed = replace(network, layers=(network.layers[0], replace(layer, recurrence=wrong)))
    assert first_disagreement(changed, named("z3"), long=50) is not None


def test_the_swapped_cases_of_the_printed_proof_are_wrong():
    """With the mirrors of odd and even positions exchanged, the network subtracts instead."""
    third = word_problem("Z3").dfa()
    one = RegularLanguage(
        name="sum 1 modulo 3",
        automaton=replace(third, accepting=np.arange(3) == third.run([1])),
        convention="",
    )
    network = build("plane-reflections", one, "householder")
    assert first_disagreement(network, one) is None
    layer = network.layers[1]
    odd, even = layer.recurrence.factors[:3], layer.recurrence.factors[3:]
    swapped = replace(layer.recurrence, factors=even + odd)
    changed = replace(network, layers=(network.layers[0], replace(layer, recurrence=swapped)))
    assert first_disagreement(changed, one) == (1,)


@pytest.mark.parametrize("name", ["q8", "a5"])
def test_other_groups_are_not_polygons(name):
    assert dihedral_group(request_for(name, "householder").facts) is False
