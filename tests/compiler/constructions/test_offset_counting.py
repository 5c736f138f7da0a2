from dataclasses import replace

import numpy as np
import pytest

from nerode.compiler.construction import Options
from nerode.compiler.constructions.offset_counting import burst_length
from nerode.compiler.pipeline import compile_language
from nerode.core import root_of_unity
from nerode.languages import Legal
from nerode.languages.bestiary import lookup_language
from nerode.languages.regex.compile import regular_language
from nerode.network.interpreter import Interpreter
from tests.compiler.agreement import build, named
from tests.strategies import all_words

BURSTS = [1, 2, 3, 4, 10]


def language_of(n):
    return lookup_language(f"offset-counting-{n}")


def answers(network, word):
    return [answer.legal for answer in Interpreter(network).run(word)]


@pytest.mark.parametrize("n", BURSTS)
def test_right_after_every_prefix_of_a_word_of_the_language(n):
    language = language_of(n)
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
    language = language_of(4)
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
    language = language_of(3)
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


def test_a_changed_gate_is_seen():
    language = language_of(4)
    network = build("offset-counting", language, "s4d")
    layer = network.layers[0]
    wrong = replace(layer.recurrence, matrix=(((0, root_of_unity(1, 5)),),))
    changed = replace(network, layers=(replace(layer, recurrence=wrong),))
    word = language.alphabet.encode("01111")
    assert answers(changed, word) != language.legal_along(word)
