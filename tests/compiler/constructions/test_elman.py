from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings

from nerode.compiler.constructions.elman import compile_elman_clip
from nerode.compiler.pipeline import compile_language
from nerode.languages import RegularLanguage
from nerode.languages.bestiary import BESTIARY, find_language
from nerode.network.interpreter import Interpreter
from nerode.proofs import EXACT, Certificate
from nerode.proofs.certification import certify_exact
from tests.compiler.agreement import assert_does, build, first_disagreement, named, request_for
from tests.strategies import dfas

SMALL = [
    name
    for name in BESTIARY
    if (language := find_language(name)).regular
    and (language.num_states() or 10**9) <= 12
    and language.num_states() * len(language.alphabet) <= 81
]


def test_there_are_many_small_languages():
    assert len(SMALL) >= 35


@pytest.mark.parametrize("name", SMALL)
def test_relu_units_are_exact_and_closed(name):
    network = build("elman-relu", name, "elman-relu")
    assert_does(network, name, short=5, long=3_000)
    certificate = certify_exact(network, named(name))
    assert isinstance(certificate, Certificate)
    assert certificate.claims[0].scope == EXACT
    interpreter = Interpreter(network)
    assert interpreter.exact
    state, _ = interpreter.step(interpreter.start(), 0)
    assert set(state[0]) <= {0, 1}


@pytest.mark.parametrize("name", SMALL)
def test_tanh_units(name):
    network = build("elman-tanh", name, "elman-tanh")
    assert_does(network, name, short=5, long=1_500)
    whole = all(c == int(c) for row in network.layers[0].recurrence.update.rows for _, c in row)
    assert whole


@pytest.mark.parametrize("name", ["tomita-5", "flip-flop", "s3", "d-4", "set-reset", "t3"])
def test_clipped_units(name):
    network = compile_elman_clip(request_for(name, "elman-relu"))
    assert first_disagreement(network, named(name), short=5, long=2_000) is None
    assert isinstance(certify_exact(network, named(name)), Certificate)


@settings(max_examples=40)
@given(dfas(max_states=6, max_letters=3))
def test_random_automata(dfa):
    language = RegularLanguage(name="random", automaton=dfa, convention="")
    relu = build("elman-relu", language, "elman-relu")
    assert first_disagreement(relu, language, short=4, long=300) is None
    tanh = build("elman-tanh", language, "elman-tanh")
    assert first_disagreement(tanh, language, short=3, long=50) is None


@pytest.mark.parametrize("name", ["s4", "s5-generators", "last-but-8"])
def test_many_units_without_a_margin(name):
    network = build("elman-relu", name, "elman-relu")
    assert "without a noise margin" in network.origin.route
    assert first_disagreement(network, named(name), short=3, long=300) is None


def test_pairs_of_units_for_a_group_with_all_its_elements():
    network = build("elman-relu", "z60", "elman-relu")
    assert network.width == 236
    assert "difference of two ReLUs" in network.origin.route
    assert first_disagreement(network, named("z60"), short=2, long=60) is None


def test_the_unit_of_one_bit_is_the_published_one_with_another_gain():
    """h = tanh(g/2 h ± g), as the published tanh(2h ± 4) has gain 4."""
    network = build("elman-tanh", "set-reset", "elman-tanh")
    update = network.layers[0].recurrence.update
    sums = [update([*(int(i == a) for i in range(3)), 0])[0] for a in range(3)]
    assert dict(update.rows[0])[3] == 5
    assert dict(zip("01h", sums, strict=True)) == {"0": -10, "1": 10, "h": 0}


def test_routes_state_the_margin():
    network = build("elman-tanh", "parity", "elman-tanh")
    assert "noise of up to 1/4" in network.origin.route


@pytest.mark.parametrize(
    ("target", "construction"),
    [("elman", "elman-tanh"), ("elman-relu", "elman-relu"), ("nru", "elman-relu"), ("gru", "gated-cells")],
)
def test_the_pipeline_chooses_by_the_target(target, construction):
    assert compile_language(named("parity"), target).origin.construction == construction


def test_a_gain_that_is_too_small_is_seen():
    network = build("elman-tanh", "tomita-3", "elman-tanh")
    layer = network.layers[0]
    update = layer.recurrence.update
    weak = replace(
        update,
        bias=tuple(b * Fraction(1, 12) for b in update.bias),
        rows=tuple(tuple((j, c * Fraction(1, 12)) for j, c in row) for row in update.rows),
    )
    changed = replace(network, layers=(replace(layer, recurrence=replace(layer.recurrence, update=weak)),))
    assert first_disagreement(changed, named("tomita-3"), long=50) is not None


def test_a_language_with_one_state():
    everything = RegularLanguage(name="all", automaton=named("u1").dfa(), convention="")
    dfa = everything.dfa()
    anything = RegularLanguage(
        name="all", automaton=replace(dfa, accepting=[True] * dfa.num_states), convention=""
    )
    assert anything.dfa().num_states == 1
    for target in ("elman-relu", "elman-tanh"):
        assert first_disagreement(build(target, anything, target), anything, short=3, long=20) is None
