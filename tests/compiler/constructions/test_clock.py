from dataclasses import replace

import pytest

from nerode.compiler.pipeline import compile_language
from nerode.core import NotCompilable, cosine, root_of_unity
from nerode.languages.regex.compile import regular_language
from tests.compiler.agreement import assert_does, assert_points_apart, build, first_disagreement, named

LANGUAGES = ["aa-star", "aaaa-star", "(ab|ba|aa|bb)*", "((a|b|c){6})*(a|b|c)"]


def language_of(name):
    return named(name) if name.endswith("star") else regular_language(name)


@pytest.mark.parametrize("target", ["s4d", "s4", "lru", "h3", "megalodon", "s4d-mamba"])
@pytest.mark.parametrize("name", LANGUAGES)
def test_a_root_of_unity_counts_positions(name, target):
    language = language_of(name)
    network = build("clock-rotation", language, target)
    assert_does(network, language)
    assert (network.depth, network.state_size) == (1, 1)
    assert network.layers[0].recurrence.kind == "time-invariant"
    assert_points_apart(network.decoder, 2 - 2 * cosine(1, language.dfa().num_states))


@pytest.mark.parametrize("target", ["ssm", "lssl"])
@pytest.mark.parametrize("name", LANGUAGES)
def test_a_cyclic_shift_counts_positions(name, target):
    language = language_of(name)
    network = build("clock-shift", language, target)
    assert_does(network, language)
    entries = {c for row in network.layers[0].recurrence.matrix for _, c in row}
    assert entries == {1}
    assert network.width == language.dfa().num_states


@pytest.mark.parametrize(("target", "expected"), [("s4d", "clock-rotation"), ("ssm", "clock-shift")])
def test_the_pipeline_chooses_the_clock(target, expected):
    assert compile_language(named("aaaa-star"), target).origin.construction == expected


@pytest.mark.parametrize("target", ["s4d", "lru", "ssm"])
def test_neutral_letters_are_refused_for_fixed_gates(target):
    with pytest.raises(NotCompilable) as refusal:
        compile_language(named("parity"), target)
    assert any("u = " in reason for reason in refusal.value.reasons)


def test_a_changed_gate_is_seen():
    network = build("clock-rotation", "aaaa-star", "s4d")
    layer = network.layers[0]
    wrong = replace(layer.recurrence, matrix=(((0, root_of_unity(1, 8)),),))
    changed = replace(network, layers=(replace(layer, recurrence=wrong),))
    assert first_disagreement(changed, named("aaaa-star"), long=50) is not None
