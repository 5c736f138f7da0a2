from dataclasses import replace

import pytest
from hypothesis import given

from nerode.compiler.pipeline import compile_language
from nerode.languages import RegularLanguage
from tests.compiler.agreement import assert_does, assert_points_apart, build, first_disagreement, named
from tests.strategies import dfas

WIDTHS = {
    "parity": 1,
    "aaaa-star": 2,
    "tomita-5": 2,
    "d4": 2,
    "s3": 3,
    "s4": 3,
    "q8": 4,
    "a5": 5,
    "s5": 5,
    "a5-generators": 5,
    "s5-generators": 5,
    "a4xz5": 8,
    "z60": 10,
}


@pytest.mark.parametrize("target", ["permutation-diagonal", "pd-ssm"])
@pytest.mark.parametrize("name", ["tomita-3", "t3", "u2", "modular-arithmetic", "even-pairs"])
def test_any_automaton_is_one_layer_of_column_one_hot_matrices(name, target):
    network = build("permutation-diagonal", name, target)
    assert_does(network, name, long=2_000)
    recurrence = network.layers[0].recurrence
    assert network.width == named(name).dfa().num_states
    assert {d for diagonal in recurrence.table.diagonals for d in diagonal} == {1}
    assert [list(image) for image in recurrence.table.images] == named(name).dfa().transitions.T.tolist()


@pytest.mark.parametrize(("name", "width"), WIDTHS.items())
def test_group_languages_take_few_coordinates(name, width):
    """S4, A4 and the quaternions turn axes round; A5 and S5 permute five points; Z60 is 3 + 4/2 + 5."""
    network = build("permutation-diagonal", name, "pd-ssm")
    assert_does(network, name, short=4)
    assert (network.depth, network.width) == (1, width)
    entries = {d for diagonal in network.layers[0].recurrence.table.diagonals for d in diagonal}
    assert entries <= {1, -1}
    assert all(sorted(image) == list(range(width)) for image in network.layers[0].recurrence.table.images)
    assert_points_apart(network.decoder, 2)


@given(dfas(max_states=7, max_letters=3))
def test_random_automata(dfa):
    language = RegularLanguage(name="random", automaton=dfa, convention="")
    network = compile_language(language, "permutation-diagonal")
    assert first_disagreement(network, language, short=4, long=200) is None


def test_the_states_are_used_where_no_smaller_set_is_found():
    assert compile_language(named("tomita-6"), "pd-ssm").width == named("tomita-6").dfa().num_states
    assert compile_language(named("s5"), "pd-ssm").width == 5


@pytest.mark.parametrize("name", ["s4", "even-pairs"])
def test_a_changed_image_is_seen(name):
    network = build("permutation-diagonal", name, "pd-ssm")
    layer = network.layers[0]
    images = list(layer.recurrence.table.images)
    images[1] = (images[1][1], images[1][0], *images[1][2:])
    wrong = replace(layer.recurrence, table=replace(layer.recurrence.table, images=tuple(images)))
    changed = replace(network, layers=(replace(layer, recurrence=wrong),))
    assert first_disagreement(changed, named(name), long=50) is not None


NAMES = ["tomita-3", "tomita-7", "parity", "s4", "t3", "u2", "modular-arithmetic", "even-pairs", "abab-star"]


@pytest.mark.parametrize("target", ["dense", "ids4"])
@pytest.mark.parametrize("name", NAMES)
def test_the_matrices_are_those_of_the_automaton(name, target):
    network = build("dense-one-hot", name, target)
    assert_does(network, name, long=2_000)
    assert (network.depth, network.width) == (1, named(name).dfa().num_states)
    for matrix in network.layers[0].recurrence.table.matrices:
        columns = sorted(j for row in matrix for j, _ in row)
        assert columns == list(range(network.width))
        assert {c for row in matrix for _, c in row} == {1}


@given(dfas(max_states=7, max_letters=3))
def test_random_automata_by_dense_matrices(dfa):
    language = RegularLanguage(name="random", automaton=dfa, convention="")
    network = build("dense-one-hot", language, "dense")
    assert first_disagreement(network, language, short=4, long=200) is None


def test_the_pipeline_uses_it_for_any_regular_language():
    assert compile_language(named("t3"), "ids4").origin.construction == "dense-one-hot"


def test_a_moved_entry_is_seen():
    network = build("dense-one-hot", "tomita-3", "dense")
    layer = network.layers[0]
    first, *others = layer.recurrence.table.matrices
    source = next(row[0][0] for row in first if row)
    moved = [tuple(entry for entry in row if entry[0] != source) for row in first]
    target = next(i for i, row in enumerate(first) if all(j != source for j, _ in row))
    moved[target] = (*moved[target], (source, 1))
    wrong = replace(layer.recurrence, table=replace(layer.recurrence.table, matrices=(tuple(moved), *others)))
    changed = replace(network, layers=(replace(layer, recurrence=wrong),))
    assert first_disagreement(changed, named("tomita-3"), long=50) is not None
