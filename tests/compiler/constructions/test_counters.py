from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nerode.compiler.constructions.counters import COUNTERS
from nerode.compiler.pipeline import compile_language
from nerode.core import NotCompilable
from nerode.kernel import Certificate
from nerode.languages import START, Alphabet, CounterLanguage, CounterMachine, CounterRule
from nerode.languages.bestiary import find_language
from nerode.network import Fixed
from nerode.proofs import certify
from tests.compiler.agreement import assert_does, build, first_disagreement, request_for
from tests.compiler.requests import build_named, counter_names, request_named
from tests.compiler.walks import assert_follows, assert_follows_long_words, assert_predicts

NUM_COUNTERS = {
    "dyck-1": 1,
    "shuffle-2": 2,
    "shuffle-4": 4,
    "shuffle-6": 6,
    "boolean-3": 1,
    "boolean-5": 1,
    "anbn": 1,
    "anbncn": 2,
    "anbncndn": 3,
    "majority": 1,
}


def test_every_counter_language_of_the_bestiary_is_here():
    assert set(counter_names()) == set(NUM_COUNTERS)


@pytest.mark.parametrize("name", NUM_COUNTERS)
def test_right_on_every_word(name):
    network = build_named("counters", name, "gla")
    assert network.depth == (1 if name == "majority" else 2)
    assert_does(network, name, short=8, long=100)
    assert_follows_long_words(network, find_language(name), 400)


@pytest.mark.parametrize("name", NUM_COUNTERS)
def test_fixed_gates_count_errors(name):
    network = COUNTERS.compile(request_named(name, "s4d"))
    assert all(isinstance(layer.recurrence, Fixed) for layer in network.layers)
    assert_does(network, name, short=6, long=50)


@pytest.mark.parametrize("name", NUM_COUNTERS)
def test_words_of_length_ten_thousand(name):
    language = find_language(name)
    network = build_named("counters", name, "gla")
    length = 10_000 if name not in ("anbncn", "anbncndn", "boolean-3", "boolean-5", "majority") else 9_996
    word = language.sample(length, np.random.default_rng(1))
    assert_follows(network, language, iter(word))


@pytest.mark.parametrize(("name", "counters"), NUM_COUNTERS.items())
def test_one_layer_of_counters_predicts(name, counters):
    network = build_named("counters-predictor", name, "gla")
    assert [layer.width for layer in network.layers] == [counters]
    assert "only for prefixes of valid words" in network.origin.route
    assert_predicts(network, find_language(name), 400)
    if name != "majority":
        assert first_disagreement(network, find_language(name), short=6, long=0) is not None


@pytest.mark.parametrize("name", ["dyck-1", "anbn", "anbncndn"])
def test_without_the_exclusive_scan(name):
    network = build_named("counters", name, "gla", exclusive_scan=False)
    assert not any(layer.exposes_previous for layer in network.layers)
    assert_does(network, name, short=6, long=50)
    assert_follows_long_words(network, find_language(name), 150)


@pytest.mark.parametrize("name", NUM_COUNTERS)
def test_reflections_count(name):
    network = build_named("alternating-counters", name, "deltanet-signed")
    assert {g for layer in network.layers[:2] for g in layer.recurrence.as_gated().gate.bias} <= {0, -1}
    assert_does(network, name, short=6, long=60)
    assert_follows_long_words(network, find_language(name), 300)


@pytest.mark.parametrize(
    ("target", "construction"),
    [
        ("mlstm", "counters"),
        ("lstm", "counters"),
        ("deltaproduct-signed", "counters"),
        ("gated-deltanet-signed", "alternating-counters"),
        ("complex-kda", "alternating-counters"),
        ("ttt-linear", "alternating-counters"),
    ],
)
def test_each_way_of_counting_has_a_network_that_is_proved(target, construction):
    language = find_language("anbn")
    network = compile_language(language, target)
    assert network.origin.construction == construction
    certificate = certify(network, language)
    assert isinstance(certificate, Certificate)
    assert certificate.claims[0].length == "all"


def test_a_reflected_counter_that_forgets_the_position_is_refuted():
    network = build_named("alternating-counters", "dyck-1", "deltanet-signed")
    layer = network.layers[1]
    gate = replace(layer.recurrence.as_gated().gate, bias=(1,))
    broken = replace(layer, recurrence=replace(layer.recurrence, gate=gate))
    wrong = replace(network, layers=(network.layers[0], broken, *network.layers[2:]))
    assert not isinstance(certify(wrong, find_language("dyck-1")), Certificate)


@pytest.mark.parametrize("target", ["retnet", "hgrn2", "griffin", "deltanet", "elman-tanh", "gru"])
def test_counters_that_only_fade_are_refused(target):
    with pytest.raises(NotCompilable) as refusal:
        compile_language(find_language("dyck-1"), target)
    assert any("no float format carries it" in reason for reason in refusal.value.reasons)


def test_other_languages_are_refused():
    with pytest.raises(NotCompilable, match="not given by a counter machine"):
        COUNTERS.compile(request_named("tomita-4", "diagonal"))


@st.composite
def machines(draw):
    letters, counters = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    few = st.frozensets(st.integers(0, letters - 1))
    some = st.frozensets(st.integers(0, counters - 1), max_size=1)
    rule = st.builds(
        CounterRule,
        after=st.none() | st.frozensets(st.integers(START, letters - 1), min_size=1),
        zero=some,
        positive=some,
        symbols=few,
        end=st.booleans(),
    )
    amounts = st.tuples(*(st.integers(-1, 2) for _ in range(counters)))
    return CounterMachine(
        alphabet=Alphabet(tuple("abc"[:letters])),
        start=draw(amounts),
        increments=tuple(draw(amounts) for _ in range(letters)),
        rules=tuple(draw(st.lists(rule, min_size=1, max_size=4))),
    )


@given(machines())
def test_random_machines(machine):
    """Rules may overlap, counters may start anywhere and become negative."""
    language = CounterLanguage(
        name="random",
        machine=machine,
        convention="",
        family="random",
        parameters={},
        sampler=lambda length, rng, max_depth: (),
        distribution="",
    )
    assert_does(build("counters", language, "gla"), language, short=5, long=30)
    fixed = COUNTERS.compile(request_for(language, "s4d"))
    assert first_disagreement(fixed, language, short=5, long=30) is None
