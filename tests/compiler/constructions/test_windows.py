import pytest
from hypothesis import HealthCheck, assume, given, settings

from nerode.algebra import find_counter
from nerode.algebra.classes.table import decide_membership
from nerode.compiler.automaton_parts import partitions
from nerode.compiler.construction import Options
from nerode.compiler.constructions.windows import WINDOW, WINDOW_PARTS_TIME_INVARIANT
from nerode.core import NotCompilable
from nerode.languages import RegularLanguage
from nerode.languages.bestiary import find_language
from nerode.languages.regex import regular_language
from nerode.network import Fixed
from nerode.network.step import Interpreter
from tests.compiler.agreement import assert_does, build, first_disagreement
from tests.compiler.requests import (
    build_named,
    facts_of,
    request_named,
    star_free_names,
    star_free_request,
)
from tests.compiler.walks import assert_follows_long_words
from tests.strategies import all_words, dfas

DEFINITE = [
    name for name in star_free_names() if decide_membership("definite", find_language(name).dfa()).holds
]
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
    assert network.layers[0].recurrence.kind == "permutation-diagonal"
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
        WINDOW.compile(request_named("tomita-4", "ssm"))


def is_settled(dfa):
    return any(parts.window() is not None for parts in partitions(dfa))


SETTLED = [name for name in star_free_names() if is_settled(find_language(name).dfa())]


def test_strictly_local_and_r_trivial_languages_are_settled():
    known = facts_of("tomita-4").profile
    assert known.holds("strictly-local")
    classes = ("strictly-local", "r-trivial", "locally-testable")
    for name in star_free_names():
        if any(facts_of(name).profile.holds(c) for c in classes):
            assert name in SETTLED


@pytest.mark.parametrize("name", SETTLED)
def test_fixed_gates_are_enough(name):
    for target in ("s4d", "ssm"):
        network = build_named("window-parts-time-invariant", name, target)
        assert all(isinstance(layer.recurrence, Fixed) for layer in network.layers)
        assert_does(network, name, short=6, long=50)
        assert_follows_long_words(network, find_language(name), 300)


@pytest.mark.parametrize("name", ["tomita-7", "even-pairs", "aab-star", "contains-abaab", "first"])
@pytest.mark.parametrize("target", ["s4d", "ssm"])
def test_without_the_exclusive_scan(name, target):
    request = request_named(name, target, exclusive_scan=False)
    network = WINDOW_PARTS_TIME_INVARIANT.compile(request)
    assert not any(layer.exposes_previous for layer in network.layers)
    assert_does(network, name, short=5, long=40)
    assert_follows_long_words(network, find_language(name), 80)


def test_published_sizes():
    # One layer holds the window of a dense recurrence, a second the flag.
    assert build_named("window-parts-time-invariant", "tomita-4", "ssm").depth == 2
    # A diagonal one needs a layer for each letter back.
    assert build_named("window-parts-time-invariant", "tomita-4", "s4d").depth == 3
    assert build_named("window-parts-time-invariant", "tomita-7", "s4d").depth == 4


@given(dfas(max_states=6, max_letters=2))
def test_random_automata(dfa):
    language = RegularLanguage(name="random", automaton=dfa, convention="")
    if find_counter(language.automaton) is not None or not is_settled(language.automaton):
        return
    cases = [("s4d", True), ("s4d", False), ("ssm", True)]
    for target, exclusive in cases:
        network = WINDOW_PARTS_TIME_INVARIANT.compile(
            star_free_request(language, target, exclusive_scan=exclusive)
        )
        assert first_disagreement(network, language, short=6, long=30) is None


@pytest.mark.parametrize("name", ["set-reset", "flip-flop", "d-3"])
def test_what_no_window_settles_is_refused(name):
    with pytest.raises(NotCompilable, match="no window decides"):
        WINDOW_PARTS_TIME_INVARIANT.compile(request_named(name, "s4d"))
