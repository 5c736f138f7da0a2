from dataclasses import replace

import pytest
from hypothesis import assume, given, settings

from nerode.algebra import find_counter
from nerode.compiler.constructions.clocked import LONGEST_CLOCK, compile_clocked, mark_positions
from nerode.compiler.pipeline import compile_language
from nerode.core import NotCompilable
from nerode.languages import RegularLanguage
from nerode.languages.regex.compile import regular_language
from nerode.network import Fixed, Gated
from nerode.verdict import quasi_aperiodic
from tests.compiler.agreement import assert_does, build, first_disagreement, named, request_for
from tests.strategies import all_words, dfas


@pytest.mark.parametrize("name", ["tomita-3", "abab-star", "even-pairs", "u2", "offset-counting-10"])
def test_regular_languages_in_ac0(name):
    network = build("clocked-star-free", name, "s4d-mamba")
    assert_does(network, name, short=8)
    star_free = find_counter(named(name).dfa()) is None
    kinds = [type(layer.recurrence) for layer in network.layers]
    assert kinds == [Gated] * len(kinds) if star_free else [Fixed] + [Gated] * (len(kinds) - 1)


def test_tomita_3_has_a_clock_modulo_two():
    assert compile_language(named("tomita-3"), "s4d-mamba").origin.route.startswith("a clock modulo 2")


@pytest.mark.parametrize("pattern", ["((a|b)(a|b)(a|b))*a", "(aab)*|b*", "((aa|ab)a)*b*"])
def test_lengths_and_letters_together(pattern):
    language = regular_language(pattern)
    network = build("clocked-star-free", language, "s4d-mamba")
    assert_does(network, language, short=9)


@pytest.mark.parametrize("m", [2, 3])
def test_marked_words_are_those_of_the_language(m):
    dfa = named("tomita-3").dfa()
    marked = mark_positions(dfa, m)
    for word in all_words(2, 7):
        assert marked.accepts([a * m + i % m for i, a in enumerate(word)]) == dfa.accepts(word)
    assert not marked.accepts([1])


@pytest.mark.parametrize("name", ["parity", "z3"])
def test_parity_is_refused(name):
    with pytest.raises(NotCompilable):
        compile_language(named(name), "s4d-mamba")
    request = request_for(name, "s4d-mamba")
    with pytest.raises(NotCompilable, match=str(LONGEST_CLOCK)):
        compile_clocked(request)


@settings(max_examples=40)
@given(dfas(max_states=4, max_letters=2))
def test_random_automata(dfa):
    language = RegularLanguage(name="random", automaton=dfa, convention="")
    assume(quasi_aperiodic(request_for(language, "s4d-mamba").facts))
    network = build("clocked-star-free", language, "s4d-mamba")
    assert first_disagreement(network, language, short=6, long=300) is None


def test_a_stopped_clock_is_seen():
    network = build("clocked-star-free", "abab-star", "s4d-mamba")
    clock, *others = network.layers
    stopped = replace(clock, recurrence=replace(clock.recurrence, matrix=(((0, 1),),)))
    changed = replace(network, layers=(stopped, *others))
    assert first_disagreement(changed, named("abab-star"), long=50) is not None
