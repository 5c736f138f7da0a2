import pytest
from hypothesis import HealthCheck, assume, given, settings

from nerode.compiler.construction import Options
from nerode.compiler.constructions.windows import compile_window
from nerode.core import NotCompilable
from nerode.languages import RegularLanguage
from nerode.languages.regex import regular_language
from nerode.network import Fixed, PermutationDiagonal
from nerode.network.interpreter import Interpreter
from tests.compiler.agreement import assert_does, build
from tests.compiler.requests import build_named, facts_of, request_named, star_free_names
from tests.strategies import all_words, dfas

DEFINITE = [name for name in star_free_names() if facts_of(name).profile.holds("definite")]
TARGETS = ["ssm", "s4d", "diagonal", "mamba", "permutation-diagonal", "deltanet", "dense"]


def test_the_bestiary_has_definite_languages():
    assert {"last-letter", "last-but-8"} <= set(DEFINITE)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", DEFINITE)
def test_definite_languages(name, target):
    network = build_named("window", name, target)
    assert_does(network, name, short=8, long=10_000 if target == "mamba" else 100)


@pytest.mark.parametrize("target", ["s4d", "mamba"])
@pytest.mark.parametrize("name", DEFINITE)
def test_definite_languages_without_the_exclusive_scan(name, target):
    network = build_named("window", name, target, exclusive_scan=False)
    assert not any(layer.exposes_previous for layer in network.layers)
    assert_does(network, name, short=6, long=100)


def test_the_window_is_one_nilpotent_layer_of_nine_coordinates():
    network = build_named("window", "last-but-8", "ssm")
    (layer,) = network.layers
    assert isinstance(layer.recurrence, Fixed)
    # One chain of nine: the b and the start of the word need no chain of their own.
    assert layer.width == 9
    power = [[int(i == j) for j in range(9)] for i in range(9)]
    for _ in range(9):
        power = [[sum(c * power[j][k] for j, c in row) for k in range(9)] for row in layer.recurrence.matrix]
    assert not any(map(any, power))


def test_the_shift_is_a_permutation_that_drops_what_comes_round():
    network = build_named("window", "last-but-8", "pd-ssm")
    assert isinstance(network.layers[0].recurrence, PermutationDiagonal)
    assert network.layers[0].width == 9


def test_diagonal_layers_hold_one_letter_each():
    network = build_named("window", "last-but-8", "s4d")
    assert [layer.width for layer in network.layers] == [1] * 8


def test_what_is_older_than_the_window_changes_nothing():
    interpreter = Interpreter(build_named("window", "last-but-3", "ssm"))
    for recent in all_words(2, 4):
        if len(recent) == 4:
            answers = {interpreter.run((*older, *recent))[-1].legal for older in all_words(2, 3)}
            assert len(answers) == 1


@pytest.mark.parametrize("pattern", ["(a|b)*", "[]", "~[]", "aa", "(a|b)(a|b)", "a|ab|b"])
def test_finite_and_trivial_languages_are_definite(pattern):
    language = regular_language(pattern, ("a", "b"))
    for target in ("ssm", "diagonal", "permutation-diagonal"):
        network = build("window", language, target)
        assert network.depth >= 1
        assert_does(network, language, short=7, long=50)


@settings(max_examples=40, suppress_health_check=[HealthCheck.filter_too_much])
@given(dfas(max_states=5, max_letters=2))
def test_random_definite_automata(dfa):
    language = RegularLanguage(name="random", automaton=dfa, convention="")
    assume(_is_definite(language.automaton))
    for target, exclusive in (("ssm", True), ("s4d", True), ("s4d", False), ("permutation-diagonal", True)):
        network = build("window", language, target, Options(exclusive_scan=exclusive))
        assert_does(network, language, short=6, long=60)


def _is_definite(dfa):
    return all(len({dfa.run(word, state=q) for q in range(dfa.num_states)}) == 1 for word in _long(dfa))


def _long(dfa):
    return (word for word in all_words(dfa.num_letters, 5) if len(word) == 5)


def test_a_language_that_is_not_definite_is_refused():
    with pytest.raises(NotCompilable, match="not definite"):
        compile_window(request_named("tomita-4", "ssm"))
