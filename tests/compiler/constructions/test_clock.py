from dataclasses import replace

import numpy as np
import pytest

from nerode.compiler.construction import Options
from nerode.compiler.constructions.clock import burst_length, live_cycle
from nerode.compiler.pipeline import compile_language
from nerode.core import NotCompilable, cosine, root_of_unity
from nerode.languages import Legal
from nerode.languages.bestiary import find_language, lookup_language
from nerode.languages.regex import regular_language
from nerode.network.step import Interpreter
from tests.compiler.agreement import assert_does, assert_points_apart, build, first_disagreement, named
from tests.compiler.requests import build_named
from tests.compiler.walks import assert_predicts
from tests.strategies import all_words

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


BURSTS = [1, 2, 3, 4, 10]


def bursts_of(n):
    return lookup_language(f"offset-counting-{n}")


def answers(network, word):
    return [answer.legal for answer in Interpreter(network).run(word)]


@pytest.mark.parametrize("n", BURSTS)
def test_right_after_every_prefix_of_a_word_of_the_language(n):
    language = bursts_of(n)
    network = build("offset-counting", language, "s4d")
    assert (network.depth, network.state_size) == (1, 1)
    interpreter = Interpreter(network)
    dfa = language.dfa()
    for word in all_words(2, 12):
        if dfa.live[dfa.run(word)]:
            got = [answer.legal for answer in interpreter.run(word)]
            assert got == language.legal_along(word)
    rng = np.random.default_rng(n)
    long = language.sample(10_000, rng)
    assert answers(network, long) == language.legal_along(long)


def test_the_weights_are_those_of_the_appendix():
    network = build("offset-counting", "offset-counting-10", "s4d")
    recurrence = network.layers[0].recurrence
    turn = root_of_unity(1, 10)
    assert recurrence.matrix == (((0, turn),),)
    assert recurrence.write.rows == (((0, 1 - turn),),)
    assert network.layers[0].start == (1,)


def test_an_interrupted_burst_leaves_a_wrong_angle_for_ever():
    """The language is dead after 0110; the network goes on, and after rest its angle never comes back."""
    language = bursts_of(4)
    network = build("offset-counting", language, "s4d")
    cut_short = language.alphabet.encode("0110")
    nothing = Legal(frozenset(), False)
    assert language.legal_along(cut_short)[-1] == nothing
    assert answers(network, cut_short)[-1] != nothing
    interpreter = Interpreter(network)
    configuration = interpreter.start()
    for letter in cut_short + (0,) * 200:
        configuration, _ = interpreter.step(configuration, letter)
        after_rest = configuration[0][0]
    assert after_rest != 1
    # The next whole burst is foretold wrongly: after four counted symbols it does not say "rest".
    word = cut_short + (0,) * 200 + (1,) * 4
    fresh = answers(network, language.alphabet.encode("0") + (1,) * 4)[-1]
    assert answers(network, word)[-1] != fresh


def test_an_over_long_burst_looks_like_the_next_one():
    language = bursts_of(3)
    network = build("offset-counting", language, "s4d")
    word = language.alphabet.encode("0111111")
    assert language.legal_along(word)[-1] == Legal(frozenset(), False)
    assert answers(network, word)[-1] == answers(network, word[:4])[-1]
    assert not language.accepts(word)
    assert Interpreter(network).accepts(word)


def test_the_route_says_what_is_covered():
    route = build("offset-counting", "offset-counting-10", "lru").origin.route
    assert route.startswith("predicts only")
    assert "every prefix of a word of the language" in route
    assert "interrupted" in route


def test_it_is_made_when_asked_for_and_left_alone_where_a_recogniser_exists():
    language = named("offset-counting-10")
    asked = compile_language(language, "s4d", Options(construction="offset-counting"))
    assert asked.origin.construction == "offset-counting"
    chosen = compile_language(language, "s4d")
    assert "predicts only" not in chosen.origin.route


@pytest.mark.parametrize("pattern", ["(0|011)*", "(0*11)*0*", "0(0|1)*", "(0|01)*", "(00*111)*0*2*"])
def test_other_languages_are_not_bursts(pattern):
    assert burst_length(regular_language(pattern).dfa()) == {"(0|011)*": 2, "(0|01)*": 1}.get(pattern)


def test_a_changed_gate_of_bursts_is_seen():
    language = bursts_of(4)
    network = build("offset-counting", language, "s4d")
    layer = network.layers[0]
    wrong = replace(layer.recurrence, matrix=(((0, root_of_unity(1, 5)),),))
    changed = replace(network, layers=(replace(layer, recurrence=wrong),))
    word = language.alphabet.encode("01111")
    assert answers(changed, word) != language.legal_along(word)


@pytest.mark.parametrize("target", ["s4d", "ssm", "lru"])
def test_the_position_decides_on_prefixes_of_words(target):
    network = build_named("position-clock", "abab-star", target)
    assert network.width == 1
    assert_predicts(network, find_language("abab-star"), 60)
    assert live_cycle(find_language("abab-star").dfa()) is not None
    assert live_cycle(find_language("tomita-4").dfa()) is None
