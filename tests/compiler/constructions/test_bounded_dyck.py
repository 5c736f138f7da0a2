import pytest

from nerode.compiler.construction import Options
from nerode.compiler.constructions.bounded_dyck import BOUNDED_DYCK
from nerode.compiler.pipeline import compile_language
from nerode.core import NotCompilable
from nerode.kernel import PREDICT, VALID_PREFIXES, Certificate
from nerode.languages.bestiary import find_language
from nerode.proofs import certify
from tests.compiler.agreement import assert_does, first_disagreement
from tests.compiler.requests import build_named, request_named
from tests.compiler.walks import assert_follows_long_words, assert_predicts

LANGUAGES = ["d-2", "d-3", "d-4", "d-12", "dyck-1-7", "dyck-2-3", "dyck-3-2", "dyck-2-5", "dyck-8-10"]


@pytest.mark.parametrize("name", LANGUAGES)
def test_right_on_every_word(name):
    network = build_named("bounded-dyck", name, "gla")
    assert_does(network, name, short=8, long=100)
    assert_follows_long_words(network, find_language(name), 10_000 if name.startswith("d-") else 1_000)


@pytest.mark.parametrize(
    ("name", "widths"),
    [("d-12", [1, 1]), ("d-1000000", [1, 1]), ("dyck-8-10", [1, 30, 1]), ("dyck-5-4", [1, 12, 1])],
)
def test_published_sizes(name, widths):
    network = compile_language(find_language(name), "gla")
    assert network.origin.construction == "bounded-dyck"
    assert [layer.width for layer in network.layers] == widths


@pytest.mark.parametrize(("name", "target"), [("d-2", "s4d"), ("d-12", "ssm"), ("d-3", "aussm")])
def test_the_depth_is_a_counter_and_errors_are_tallied(name, target):
    network = compile_language(find_language(name), target)
    assert network.origin.construction == "bounded-depth"
    assert_does(network, name, short=8, long=100)
    proof = certify(network, find_language(name))
    assert isinstance(proof, Certificate)
    exact, *floats = proof.claims
    assert (exact.task, exact.length, exact.dtype) == (PREDICT, "all", None)
    assert {(c.task, c.length) for c in floats} == {(VALID_PREFIXES, "all")}


def test_two_layers_predict():
    network = build_named("bounded-dyck-predictor", "dyck-8-10", "gla")
    assert [layer.width for layer in network.layers] == [1, 30]
    assert "only for prefixes of valid words" in network.origin.route
    language = find_language("dyck-8-10")
    assert_predicts(network, language, 3_000)
    assert first_disagreement(network, language, short=2, long=0) is not None


@pytest.mark.parametrize("name", ["dyck-2-3", "dyck-3-2", "dyck-5-3"])
@pytest.mark.parametrize("exclusive", [True, False])
def test_the_depth_as_a_cascade(name, exclusive):
    network = build_named("bounded-dyck-registers", name, "mamba", exclusive_scan=exclusive)
    language = find_language(name)
    depth = language.parameters["depth"]
    bits = (language.parameters["k"] - 1).bit_length()
    assert [layer.width for layer in network.layers][-2:] == [depth * bits, 1]
    # One level for each depth and one for errors, then the depth itself, the registers and the flag.
    assert network.depth == depth + 4
    assert_does(network, name, short=5, long=50)
    assert_follows_long_words(network, language, 1_500 if exclusive else 100)


def test_tied_writes_get_the_cascade_where_the_automaton_is_too_large():
    network = compile_language(find_language("dyck-8-10"), "mamba")
    assert network.origin.construction == "bounded-dyck-registers"
    assert_follows_long_words(network, find_language("dyck-8-10"), 300)


@pytest.mark.parametrize("name", ["d-4", "dyck-2-3"])
def test_tied_writes_get_the_shallower_cascade_where_the_automaton_is_small(name):
    network = compile_language(find_language(name), "mamba")
    assert network.origin.construction == "star-free"
    assert network.depth == find_language(name).parameters["depth"] + 1


@pytest.mark.parametrize("target", ["permutation-diagonal", "dense"])
def test_recurrences_for_any_automaton_get_it_where_the_automaton_is_too_large(target):
    large = compile_language(find_language("dyck-8-10"), target)
    assert large.origin.construction == f"bounded-dyck-{target}"
    assert [layer.width for layer in large.layers] == [1, 30, 1]
    assert compile_language(find_language("dyck-2-3"), target).depth == 1


def test_tied_writes_cannot_be_talked_into_counting():
    options = Options(construction="bounded-dyck")
    with pytest.raises(NotCompilable, match=r"bounded-dyck: needs .*a write that is free of the gate"):
        compile_language(find_language("d-4"), "mamba", options)


def test_other_languages_are_refused():
    with pytest.raises(NotCompilable, match="not given as a bounded Dyck language"):
        BOUNDED_DYCK.compile(request_named("dyck-1", "gla"))
