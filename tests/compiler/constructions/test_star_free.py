from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given

from nerode.algebra import find_counter
from nerode.compiler.constructions.star_free import (
    CLOCKED_STAR_FREE,
    LONGEST_CLOCK,
    STAR_FREE,
    mark_positions,
)
from nerode.compiler.pipeline import compile_language
from nerode.core import NotCompilable
from nerode.languages import Alphabet, Dfa, RegularLanguage
from nerode.languages.bestiary import find_language
from nerode.languages.pastltl import formula_language
from nerode.languages.regex import regular_language
from nerode.network import Fixed, Gated
from nerode.network.step import Interpreter
from nerode.verdict import quasi_aperiodic
from tests.compiler.agreement import assert_does, build, first_disagreement, named, request_for
from tests.compiler.requests import build_named, request_named, star_free_names, star_free_request
from tests.compiler.walks import assert_follows_long_words
from tests.strategies import all_words, dfas, random_dfa


@pytest.mark.slow  # tests/integration compiles, runs and proves the same networks
@pytest.mark.parametrize("name", star_free_names())
def test_every_star_free_language_of_the_bestiary(name):
    network = build_named("star-free", name, "diagonal")
    assert_does(network, name, short=8, long=100)
    assert_follows_long_words(network, find_language(name))


@pytest.mark.parametrize(
    "name", [name for name in star_free_names() if name not in ("d-12", "last-but-8", "dyck-2-5")]
)
def test_every_one_without_the_exclusive_scan(name):
    network = build_named("star-free", name, "diagonal", exclusive_scan=False)
    assert not any(layer.exposes_previous for layer in network.layers)
    assert_does(network, name, short=5, long=40)
    assert_follows_long_words(network, find_language(name), 60)


@pytest.mark.parametrize(
    ("name", "layers", "width"),
    [
        ("tomita-1", 1, 1),
        ("tomita-2", 2, 2),
        ("tomita-4", 3, 3),
        ("tomita-7", 3, 3),
        ("ab-star", 2, 2),
        ("aab-star", 3, 3),
        ("aabbccddee", 2, 6),
        ("d-2", 3, 3),
        ("d-3", 4, 4),
        ("d-4", 5, 5),
        ("d-12", 13, 13),
        ("flip-flop", 4, 5),
        ("contains-fibonacci-22", 7, 9),
    ],
)
def test_no_larger_than_known(name, layers, width):
    network = build_named("star-free", name, "mamba")
    assert network.depth <= layers
    assert network.state_size <= width or network.depth < layers
    assert network.origin.route.count("reset of") >= network.depth


@pytest.mark.parametrize("name", ["tomita-4", "flip-flop", "d-3", "even-pairs"])
def test_gates_are_zero_or_one_and_a_gate_of_one_writes_nothing(name):
    """What carriers with tied writes need, seen on all configurations that words reach."""
    network = build_named("star-free", name, "mamba")
    interpreter = Interpreter(network)
    seen, pending = {interpreter.start()}, [interpreter.start()]
    while pending:
        configuration = pending.pop()
        for letter in range(len(network.alphabet)):
            stream = interpreter.stream(configuration, letter)
            for layer in network.layers:
                reads = [stream[name] for name in layer.reads]
                inner = reads + [max(v, 0) for v in layer.units(reads)]
                gates, writes = layer.recurrence.gate(inner), layer.recurrence.write(inner)
                assert set(zip(gates, writes, strict=True)) <= {(1, 0), (0, 0), (0, 1)}
            following, _ = interpreter.step(configuration, letter)
            if following not in seen:
                seen.add(following)
                pending.append(following)


def test_delta_rule_heads_carry_the_same_cascade():
    network = build_named("star-free-delta-rule", "tomita-4", "deltanet")
    assert network.origin.construction == "star-free-delta-rule"
    assert_does(network, "tomita-4")


@given(dfas(max_states=6, max_letters=3))
def test_random_automata(dfa):
    language = RegularLanguage(name="random", automaton=dfa, convention="")
    if find_counter(language.automaton) is None:
        for exclusive in (True, False):
            network = STAR_FREE.compile(star_free_request(language, "diagonal", exclusive_scan=exclusive))
            assert first_disagreement(network, language, short=6, long=40, most=400) is None


def counter_free(seed):
    """A random counter-free automaton: uniform for even seeds, order-preserving for odd ones."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(3, 9)), int(rng.integers(2, 4))
    if seed % 2:
        columns = [np.sort(rng.integers(0, n, n)) for _ in range(k)]
        return Dfa(
            alphabet=Alphabet(tuple("abc"[:k])),
            transitions=np.array(columns).T,
            start=int(rng.integers(n)),
            accepting=rng.random(n) < 0.5,
        )
    return random_dfa(seed, min(n, 5), k)


def test_hundreds_of_counter_free_automata():
    compiled = 0
    for seed in range(360):
        language = RegularLanguage(name=f"random {seed}", automaton=counter_free(seed), convention="")
        if find_counter(language.automaton) is not None:
            continue
        compiled += 1
        exclusive = seed % 4 < 2
        network = STAR_FREE.compile(star_free_request(language, "diagonal", exclusive_scan=exclusive))
        assert first_disagreement(network, language, short=6, long=100 if exclusive else 30, most=200) is None
    assert compiled >= 200


@pytest.mark.parametrize("name", ["parity", "aa-star", "tomita-3", "tomita-6"])
def test_counters_are_refused_with_a_witness(name):
    with pytest.raises(NotCompilable, match="not star-free"):
        STAR_FREE.compile(request_named(name, "diagonal"))
    with pytest.raises(NotCompilable, match="witness u ="):
        compile_language(find_language(name), "mamba")


def test_an_automaton_that_was_not_built_is_refused():
    with pytest.raises(NotCompilable, match="more states than the budget"):
        STAR_FREE.compile(request_named("dyck-8-10", "diagonal"))


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
        CLOCKED_STAR_FREE.compile(request)


@given(dfas(max_states=4, max_letters=2))
def test_random_clocked_automata(dfa):
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


@pytest.mark.parametrize("target", ["diagonal", "deltanet"])
@pytest.mark.parametrize("text", ["H a", "a S b", "O (b & Y a)"])
def test_formulas_are_compiled_through_their_automaton(text, target):
    language = formula_language(text, "ab")
    network = compile_language(language, target)
    assert not network.origin.construction.startswith("past-ltl")
    assert first_disagreement(network, language, short=6, long=40) is None
