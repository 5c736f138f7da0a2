import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nerode.compiler.table import CONSTRUCTIONS
from nerode.core import to_float
from nerode.languages import Alphabet, Dfa, RegularLanguage
from nerode.network import Factor
from nerode.network.step import Interpreter
from nerode.verdict import find_architecture
from tests.compiler.agreement import (
    assert_does,
    assert_points_apart,
    build,
    first_disagreement,
    named,
    squared_distance,
)

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


@pytest.mark.parametrize("target", ["deltanet", "deltaproduct", "gated-deltanet", "rwkv-7"])
def test_factors_that_do_not_reflect_are_refused(target):
    assert not CONSTRUCTIONS["reflection-product"].architecture(find_architecture(target).properties)


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
