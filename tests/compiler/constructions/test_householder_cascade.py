from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings

from nerode.compiler.pipeline import compile_language
from nerode.core import NotCompilable
from nerode.languages import Alphabet, Dfa, RegularLanguage
from nerode.network import Gated, Householder
from nerode.verdict import solvable
from tests.compiler.agreement import assert_does, build, first_disagreement, named, request_for
from tests.strategies import dfas

NAMES = ["t3", "tomita-3", "abab-star", "cycle-navigation-announced", "cyclic-monoid-2-3", "u2", "s3"]


def most_factors(network):
    return max(
        (x.recurrence.most_factors for x in network.layers if isinstance(x.recurrence, Householder)),
        default=1,
    )


@pytest.mark.parametrize("target", ["householder", "deltaproduct-signed"])
@pytest.mark.parametrize("name", [*NAMES, "modular-arithmetic", "modular-arithmetic-simple"])
def test_any_regular_language_with_two_factors_for_solvable_groups(name, target):
    network = build("householder-cascade", name, target)
    assert_does(network, name, short=4, long=4_000)
    assert most_factors(network) <= 2
    assert f"n_h = {most_factors(network)}" in network.origin.route


@pytest.mark.parametrize("name", [*NAMES, "s4"])
def test_one_factor_is_enough_for_solvable_groups(name):
    network = build("mirror-cascade", name, "deltanet-signed")
    assert_does(network, name, short=4, long=2_000)
    assert most_factors(network) == 1
    for layer in network.layers:
        if isinstance(layer.recurrence, Householder):
            assert all(e == 0 for write in layer.recurrence.writes for e in write)


def test_a_group_that_is_not_solvable_beside_a_reset():
    """S5 on five points with a letter that goes back to the first: swaps, and five factors to clear."""
    n = 5
    rows = [[(q + 1) % n for q in range(n)], [1, 0, 2, 3, 4], [0] * n]
    dfa = Dfa(
        alphabet=Alphabet(("c", "s", "r")),
        transitions=np.array(rows, dtype=np.int32).T,
        start=0,
        accepting=np.arange(n) == 0,
    )
    language = RegularLanguage(name="five points with a reset", automaton=dfa, convention="")
    network = compile_language(language, "householder")
    assert network.origin.construction == "householder-cascade"
    assert_does(network, language, short=6, long=4_000)
    assert most_factors(network) == n
    with pytest.raises(NotCompilable):
        compile_language(language, "deltanet-signed")


@settings(max_examples=60)
@given(dfas(max_states=5, max_letters=2))
def test_random_automata(dfa):
    language = RegularLanguage(name="random", automaton=dfa, convention="")
    network = build("householder-cascade", language, "householder")
    assert first_disagreement(network, language, short=5, long=300) is None


@settings(max_examples=40)
@given(dfas(max_states=5, max_letters=2))
def test_random_automata_with_one_factor(dfa):
    language = RegularLanguage(name="random", automaton=dfa, convention="")
    assume(solvable(request_for(language, "deltanet-signed").facts))
    network = build("mirror-cascade", language, "deltanet-signed")
    assert first_disagreement(network, language, short=5, long=300) is None


@pytest.mark.parametrize(("construction", "target"), [("householder-cascade", "householder")])
def test_a_changed_factor_is_seen(construction, target):
    network = build(construction, "t3", target)
    number = next(i for i, x in enumerate(network.layers) if isinstance(x.recurrence, Householder))
    layer = network.layers[number]
    factors = layer.recurrence.factors
    moving = next(i for i, f in enumerate(factors) if f and f[0].beta == 2)
    wrong = replace(
        layer.recurrence, factors=(*factors[:moving], factors[moving][:-1], *factors[moving + 1 :])
    )
    layers = list(network.layers)
    layers[number] = replace(layer, recurrence=wrong)
    assert first_disagreement(replace(network, layers=tuple(layers)), named("t3"), long=200) is not None


def test_the_choices_of_a_selector_exclude_each_other():
    """Exactly one choice is 1 at every step; the interpreter refuses anything else."""
    network = build("householder-cascade", "t3", "householder")
    layer = next(x for x in network.layers if isinstance(x.recurrence, Householder))
    twice = replace(layer.recurrence.selector, bias=(1,) * layer.recurrence.selector.num_outputs)
    wrong = replace(layer, recurrence=replace(layer.recurrence, selector=twice))
    layers = tuple(wrong if x is layer else x for x in network.layers)
    with pytest.raises(ArithmeticError, match="one-hot"):
        first_disagreement(replace(network, layers=layers), named("t3"), short=2, long=5)


def test_registers_and_signs_share_a_diagonal_layer():
    network = build("householder-cascade", "abab-star", "householder")
    assert all(isinstance(layer.recurrence, Gated) for layer in network.layers)
    assert network.depth == 2
