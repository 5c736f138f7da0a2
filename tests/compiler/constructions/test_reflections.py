import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nerode.compiler.constructions.reflections import dihedral_group
from nerode.compiler.pipeline import compile_language
from nerode.compiler.table import CONSTRUCTIONS
from nerode.core import NotCompilable, cosine, to_float
from nerode.languages import Alphabet, Dfa, RegularLanguage
from nerode.languages.groups import word_problem
from nerode.network import Factor
from nerode.network.step import Interpreter
from nerode.verdict import find_architecture
from tests.compiler.agreement import (
    assert_does,
    assert_points_apart,
    build,
    first_disagreement,
    named,
    request_for,
    squared_distance,
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
    factors = layer.recurrence.table.factors
    wrong = replace(
        layer.recurrence,
        table=replace(layer.recurrence.table, factors=(factors[1], factors[1], *factors[2:])),
    )
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
    odd, even = layer.recurrence.table.factors[:3], layer.recurrence.table.factors[3:]
    swapped = replace(layer.recurrence, table=replace(layer.recurrence.table, factors=even + odd))
    changed = replace(network, layers=(network.layers[0], replace(layer, recurrence=swapped)))
    assert first_disagreement(changed, one) == (1,)


@pytest.mark.parametrize("name", ["q8", "a5"])
def test_other_groups_are_not_polygons(name):
    assert dihedral_group(request_for(name, "householder").facts) is False


SIZES = {
    "parity": (1, 1),
    "tomita-5": (1, 2),
    "aaaa-star": (2, 2),
    "tomita-6": (2, 3),
    "z2xz2": (2, 2),
    "cycle-navigation": (2, 2),
    "z60": (2, 2),
    "s3": (2, 3),
    "d4": (2, 2),
    "s4": (2, 3),
    "a5": (2, 3),
    "a5-generators": (2, 3),
    "q8": (4, 4),
    "a4xz5": (4, 5),
    "s5": (4, 5),
    "s5-generators": (4, 5),
}
"""n_h and width of each group language."""


@pytest.mark.parametrize("name", SIZES)
def test_group_languages_need_few_reflections(name):
    network = build("reflection-product", name, "householder")
    assert_does(network, name, short=3)
    recurrence = network.layers[0].recurrence
    assert (recurrence.most_factors, network.width) == SIZES[name]
    assert network.depth == 1
    assert f"n_h = {recurrence.most_factors}" in network.origin.route
    assert {f.beta for factors in recurrence.table.factors for f in factors} == {2}
    assert all(e == 0 for write in recurrence.writes for e in write)


@pytest.mark.parametrize("name", ["s3", "s4", "d4", "q8", "s5", "z2xz2", "tomita-5", "tomita-6"])
def test_these_need_whole_numbers_only(name):
    network = build("reflection-product", name, "deltaproduct-signed")
    entries = {e for f in network.layers[0].recurrence.table.factors for g in f for e in g.vector}
    assert entries <= {-2, -1, 0, 1}
    assert_points_apart(network.decoder, 1)


def test_the_rotations_of_the_icosahedron_are_well_apart():
    network = build("reflection-product", "a5", "householder")
    points = network.decoder.points
    assert len(points) == 60
    distances = [to_float(squared_distance(a, b)) for a, b in itertools.combinations(points, 2)]
    norm = to_float(squared_distance(points[0], (0, 0, 0)))
    # Twice the gap between the best and the second-best product, as a share of the squared norm.
    assert min(distances) / (2 * norm) > 0.1


def test_every_letter_of_a5_moves_every_point_as_the_automaton_does():
    """Multiplicativity over all 60 letters and 60 elements, in exact arithmetic."""
    language = named("a5")
    network = build("reflection-product", language, "householder")
    interpreter = Interpreter(network)
    answer_of = dict(zip(network.decoder.points, network.decoder.answers, strict=True))
    reached = {interpreter.start(): language.dfa().start}
    queue = list(reached)
    for configuration in queue:
        for letter in range(60):
            following, answer = interpreter.step(configuration, letter)
            state = int(language.dfa().transitions[reached[configuration], letter])
            if following not in reached:
                reached[following] = state
                queue.append(following)
            assert reached[following] == state
            assert answer.legal == answer_of[following[0]] == language.legal(state)
    assert len(reached) == 60


@st.composite
def permutation_automata(draw):
    """Automata whose letters permute the states."""
    n = draw(st.integers(1, 5))
    letters = draw(st.lists(st.permutations(range(n)), min_size=1, max_size=3))
    accepting = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    return Dfa(
        alphabet=Alphabet(tuple("abc"[: len(letters)])),
        transitions=np.array(letters, dtype=np.int32).T,
        start=draw(st.integers(0, n - 1)),
        accepting=np.array(accepting),
    )


@given(permutation_automata())
def test_random_permutation_automata(dfa):
    language = RegularLanguage(name="random", automaton=dfa, convention="")
    network = build("reflection-product", language, "householder")
    assert first_disagreement(network, language, short=4, long=200) is None
    states = language.dfa()
    most = max(
        int((states.transitions[:, a] != np.arange(states.num_states)).sum()) for a in range(dfa.num_letters)
    )
    assert network.layers[0].recurrence.most_factors <= max(0, most - 1)


@pytest.mark.parametrize("target", ["deltanet-signed", "gated-deltanet-signed"])
@pytest.mark.parametrize("name", ["parity", "tomita-5"])
def test_one_reflection_is_enough_for_signs(name, target):
    network = build("single-reflection", name, target)
    assert_does(network, name)
    assert network.layers[0].recurrence.most_factors == 1


def test_a_target_with_too_few_factors_is_told_how_many_are_needed():
    with pytest.raises(NotCompilable, match="2 reflections per letter, the target has 1"):
        build("single-reflection", "s4", "deltanet-signed")


@pytest.mark.parametrize("target", ["deltanet", "deltaproduct", "gated-deltanet", "rwkv-7"])
def test_factors_that_do_not_reflect_are_refused(target):
    assert not CONSTRUCTIONS["single-reflection"].architecture(find_architecture(target).properties)


@pytest.mark.parametrize("name", ["s3", "a5-generators", "s5-generators"])
def test_a_changed_factor_is_seen(name):
    network = build("reflection-product", name, "householder")
    layer = network.layers[0]
    factors = list(layer.recurrence.table.factors)
    number = next(i for i, f in enumerate(factors) if f)
    width = layer.width
    factors[number] = (*factors[number][:-1], Factor(beta=2, vector=(1, 2, *(0,) * (width - 2))))
    wrong = replace(layer.recurrence, table=replace(layer.recurrence.table, factors=tuple(factors)))
    changed = replace(network, layers=(replace(layer, recurrence=wrong),))
    assert first_disagreement(changed, named(name), short=8, long=50) is not None


def test_a_large_group_permutes_the_states_themselves():
    """The symmetric group on 9 points has 362,880 elements; its letters need no list of them."""
    n = 9
    cycle = [(q + 1) % n for q in range(n)]
    swap = [1, 0, *range(2, n)]
    dfa = Dfa(
        alphabet=Alphabet(("c", "s")),
        transitions=np.array([cycle, swap], dtype=np.int32).T,
        start=0,
        accepting=np.arange(n) == 0,
    )
    language = RegularLanguage(name="nine points", automaton=dfa, convention="")
    network = build("reflection-product", language, "householder")
    assert_does(network, language)
    assert (network.layers[0].recurrence.most_factors, network.width) == (n - 1, n)
