import pytest
from hypothesis import given, settings

from nerode.algebra import find_counter
from nerode.compiler.automaton_parts import partitions
from nerode.compiler.constructions.window_parts import compile_window_parts
from nerode.core import NotCompilable
from nerode.languages import RegularLanguage
from nerode.languages.bestiary import find_language
from nerode.network import Fixed
from tests.compiler.agreement import assert_does, first_disagreement
from tests.compiler.requests import (
    build_named,
    facts_of,
    request_named,
    star_free_names,
    star_free_request,
)
from tests.compiler.walks import assert_follows_long_words
from tests.strategies import dfas


def is_settled(dfa):
    return any(parts.window() is not None for parts in partitions(dfa))


SETTLED = [name for name in star_free_names() if is_settled(facts_of(name).automaton)]


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


@pytest.mark.parametrize("name", SETTLED)
def test_with_input_dependent_gates_flags_stay_bits(name):
    network = build_named("window-parts", name, "mamba")
    assert_does(network, name, short=8, long=50)
    assert_follows_long_words(network, find_language(name), 1_000)


@pytest.mark.parametrize("name", ["tomita-7", "even-pairs", "aab-star", "contains-abaab", "first"])
@pytest.mark.parametrize("target", ["s4d", "diagonal"])
def test_without_the_exclusive_scan(name, target):
    request = request_named(name, target, exclusive_scan=False)
    network = compile_window_parts(request)
    assert not any(layer.exposes_previous for layer in network.layers)
    assert_does(network, name, short=5, long=40)
    assert_follows_long_words(network, find_language(name), 80)


def test_published_sizes():
    # One layer holds the window of a dense recurrence, a second the flag.
    assert build_named("window-parts-time-invariant", "tomita-4", "ssm").depth == 2
    # A diagonal one needs a layer for each letter back.
    assert build_named("window-parts-time-invariant", "tomita-4", "s4d").depth == 3
    assert build_named("window-parts-time-invariant", "tomita-7", "s4d").depth == 4


@settings(max_examples=50)
@given(dfas(max_states=6, max_letters=2))
def test_random_automata(dfa):
    language = RegularLanguage(name="random", automaton=dfa, convention="")
    if find_counter(language.automaton) is not None or not is_settled(language.automaton):
        return
    cases = [("s4d", True), ("s4d", False), ("ssm", True), ("mamba", True), ("mamba", False)]
    for target, exclusive in cases:
        network = compile_window_parts(star_free_request(language, target, exclusive_scan=exclusive))
        assert first_disagreement(network, language, short=6, long=30) is None


@pytest.mark.parametrize("name", ["set-reset", "flip-flop", "d-3"])
def test_what_no_window_settles_is_refused(name):
    with pytest.raises(NotCompilable, match="no window settles"):
        compile_window_parts(request_named(name, "s4d"))
