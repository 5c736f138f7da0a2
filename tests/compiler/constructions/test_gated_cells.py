from dataclasses import replace

import pytest
from hypothesis import given, settings

from nerode.compiler.pipeline import compile_language
from nerode.core import NotCompilable
from nerode.languages import RegularLanguage
from tests.compiler.agreement import assert_does, build, first_disagreement, named, request_for
from tests.compiler.constructions.test_elman import SMALL
from tests.strategies import dfas

CELLS = ["lstm", "gru", "slstm"]


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("name", SMALL)
def test_every_small_language(name, cell):
    network = build("gated-cells", name, cell)
    size = named(name).num_states() * len(named(name).alphabet)
    assert_does(network, name, short=4 if size <= 20 else 2, long=1_000 if size <= 20 else 60)


@pytest.mark.parametrize("cell", CELLS)
@settings(max_examples=15)
@given(dfa=dfas(max_states=5, max_letters=2))
def test_random_automata(cell, dfa):
    language = RegularLanguage(name="random", automaton=dfa, convention="")
    assert first_disagreement(build("gated-cells", language, cell), language, short=3, long=40) is None


@pytest.mark.parametrize("cell", CELLS)
def test_the_pipeline_uses_them(cell):
    network = compile_language(named("tomita-4"), cell)
    assert network.layers[0].recurrence.cell == cell
    assert network.target == cell


def test_an_elman_network_is_no_cell():
    with pytest.raises(NotCompilable, match="not one of the cells"):
        build("gated-cells", "parity", "elman-tanh")


def test_a_gru_is_no_elman_network():
    with pytest.raises(NotCompilable, match="gates"):
        build("elman-tanh", "parity", "gru")


@pytest.mark.parametrize(("cell", "gate"), [("lstm", 0), ("gru", 1), ("slstm", 1)])
def test_a_gate_on_the_wrong_side_is_seen(cell, gate):
    """An LSTM that does not write, a GRU that does not update and an sLSTM that does not forget are wrong."""
    network = build("gated-cells", "tomita-5", cell)
    layer = network.layers[0]
    gates = list(layer.recurrence.gates)
    gates[gate] = replace(gates[gate], bias=tuple(-b for b in gates[gate].bias))
    turned = replace(layer.recurrence, gates=tuple(gates))
    changed = replace(network, layers=(replace(layer, recurrence=turned),))
    assert first_disagreement(changed, named("tomita-5"), long=50) is not None


def test_requests_for_other_targets_are_refused_by_class():
    with pytest.raises(AssertionError):
        build("gated-cells", "parity", "mamba")
    assert request_for("parity", "gru").target.name == "gru"
