import pytest

from nerode.compiler.constructions.flip_flop import FLIP_FLOP
from nerode.compiler.pipeline import compile_language
from nerode.compiler.table import CONSTRUCTIONS
from nerode.core import NotCompilable
from nerode.languages.bestiary import find_language
from nerode.verdict import find_architecture
from tests.compiler.agreement import assert_does, first_disagreement
from tests.compiler.requests import build_named, request_named
from tests.compiler.walks import assert_follows_long_words, assert_predicts

LANGUAGE = find_language("flip-flop")


@pytest.mark.parametrize("target", ["diagonal", "mamba", "gla", "hgrn2"])
def test_right_on_every_word(target):
    network = compile_language(LANGUAGE, target)
    assert network.origin.construction == "flip-flop"
    assert [layer.width for layer in network.layers] == [3, 2, 1]
    assert_does(network, LANGUAGE, short=4, long=100)
    assert_follows_long_words(network, LANGUAGE)


def test_the_published_predictor_has_width_three_and_two():
    network = build_named("flip-flop-predictor", "flip-flop", "mamba")
    assert [layer.width for layer in network.layers] == [3, 2]
    assert "only for prefixes of valid words" in network.origin.route
    assert_predicts(network, LANGUAGE)
    # It says nothing about words that broke the rules, and is wrong there.
    assert first_disagreement(network, LANGUAGE, short=4, long=0) is not None


def test_without_the_exclusive_scan():
    network = build_named("flip-flop", "flip-flop", "mamba", exclusive_scan=False)
    assert not any(layer.exposes_previous for layer in network.layers)
    assert_does(network, LANGUAGE, short=4, long=100)
    assert_follows_long_words(network, LANGUAGE, 300)


def test_gates_and_writes_fit_carriers_whose_write_vanishes_when_the_gate_is_one():
    """All coordinates have gate 1 and write 0, or gate 0: checked over all values the inputs can take."""
    network = build_named("flip-flop", "flip-flop", "mamba")
    for layer in network.layers:
        for i in range(layer.width):
            gate, write = layer.recurrence.gate, layer.recurrence.write
            total = {c: -v for c, v in gate.rows[i]}
            # gate = 1 - (sum of exclusive units), write = the sum of some of them.
            assert gate.bias[i] == (1 if total else 0)
            assert write.bias[i] == 0
            if total:
                assert set(total.values()) == {1}
                assert {c for c, _ in write.rows[i]} <= set(total)


def test_other_alphabets_are_refused():
    with pytest.raises(NotCompilable, match="w, r, i, 0 and 1"):
        FLIP_FLOP.compile(request_named("set-reset", "diagonal"))


def test_fixed_gates_do_not_carry_it():
    with pytest.raises(NotCompilable, match="no float format carries it"):
        compile_language(LANGUAGE, "s4d")
    assert not CONSTRUCTIONS["flip-flop"].architecture(find_architecture("s4d").properties)
