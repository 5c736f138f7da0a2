from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings

from nerode.compiler.pipeline import compile_language
from nerode.core import NotCompilable
from nerode.languages import RegularLanguage
from nerode.languages.bestiary import BESTIARY, find_language
from nerode.network.step import Interpreter
from nerode.proofs import EXACT, Certificate
from nerode.proofs.certification import certify_exact
from tests.compiler.agreement import assert_does, build, first_disagreement, named, request_for
from tests.strategies import dfas

SMALL = [
    name
    for name in BESTIARY
    if (language := find_language(name)).regular
    and (language.num_states() or 10**9) <= 12
    and language.num_states() * len(language.alphabet) <= 81
]


def test_there_are_many_small_languages():
    assert len(SMALL) >= 35


@pytest.mark.parametrize("name", SMALL)
def test_relu_units_are_exact_and_closed(name):
    network = build("elman-relu", name, "elman-relu")
    assert_does(network, name, short=5, long=3_000)
    certificate = certify_exact(network, named(name))
    assert isinstance(certificate, Certificate)
    assert certificate.claims[0].scope == EXACT
    interpreter = Interpreter(network)
    assert interpreter.exact
    state, _ = interpreter.step(interpreter.start(), 0)
    assert set(state[0]) <= {0, 1}


@pytest.mark.parametrize("name", SMALL)
def test_tanh_units(name):
    network = build("elman-tanh", name, "elman-tanh")
    assert_does(network, name, short=5, long=1_500)
    whole = all(c == int(c) for row in network.layers[0].recurrence.update.rows for _, c in row)
    assert whole


@given(dfas(max_states=6, max_letters=3))
def test_random_automata(dfa):
    language = RegularLanguage(name="random", automaton=dfa, convention="")
    relu = build("elman-relu", language, "elman-relu")
    assert first_disagreement(relu, language, short=4, long=300) is None
    tanh = build("elman-tanh", language, "elman-tanh")
    assert first_disagreement(tanh, language, short=3, long=50) is None


@pytest.mark.parametrize("name", ["s4", "s5-generators", "last-but-8"])
def test_many_units_without_a_margin(name):
    network = build("elman-relu", name, "elman-relu")
    assert "without a noise margin" in network.origin.route
    assert first_disagreement(network, named(name), short=3, long=300) is None


def test_pairs_of_units_for_a_group_with_all_its_elements():
    network = build("elman-relu", "z60", "elman-relu")
    assert network.width == 236
    assert "difference of two ReLUs" in network.origin.route
    assert first_disagreement(network, named("z60"), short=2, long=60) is None


def test_the_unit_of_one_bit_is_the_published_one_with_another_gain():
    """h = tanh(g/2 h ± g), as the published tanh(2h ± 4) has gain 4."""
    network = build("elman-tanh", "set-reset", "elman-tanh")
    update = network.layers[0].recurrence.update
    sums = [update([*(int(i == a) for i in range(3)), 0])[0] for a in range(3)]
    assert dict(update.rows[0])[3] == 5
    assert dict(zip("01h", sums, strict=True)) == {"0": -10, "1": 10, "h": 0}


def test_routes_state_the_margin():
    network = build("elman-tanh", "parity", "elman-tanh")
    assert "noise of up to 1/4" in network.origin.route


@pytest.mark.parametrize(
    ("target", "construction"),
    [("elman", "elman-tanh"), ("elman-relu", "elman-relu"), ("nru", "elman-relu"), ("gru", "gated-cells")],
)
def test_the_pipeline_chooses_by_the_target(target, construction):
    assert compile_language(named("parity"), target).origin.construction == construction


def test_a_gain_that_is_too_small_is_seen():
    network = build("elman-tanh", "tomita-3", "elman-tanh")
    layer = network.layers[0]
    update = layer.recurrence.update
    weak = replace(
        update,
        bias=tuple(b * Fraction(1, 12) for b in update.bias),
        rows=tuple(tuple((j, c * Fraction(1, 12)) for j, c in row) for row in update.rows),
    )
    changed = replace(network, layers=(replace(layer, recurrence=replace(layer.recurrence, update=weak)),))
    assert first_disagreement(changed, named("tomita-3"), long=50) is not None


def test_a_language_with_one_state():
    everything = RegularLanguage(name="all", automaton=named("u1").dfa(), convention="")
    dfa = everything.dfa()
    anything = RegularLanguage(
        name="all", automaton=replace(dfa, accepting=[True] * dfa.num_states), convention=""
    )
    assert anything.dfa().num_states == 1
    for target in ("elman-relu", "elman-tanh"):
        assert first_disagreement(build(target, anything, target), anything, short=3, long=20) is None


CELLS = ["lstm", "gru", "slstm"]


def is_tiny(name):
    return named(name).num_states() * len(named(name).alphabet) <= 20


def with_marks():
    """Every tiny language with one of the cells, in turn; the rest is slow."""
    tiny = [name for name in SMALL if is_tiny(name)]
    first = {(name, CELLS[i % len(CELLS)]) for i, name in enumerate(tiny)}
    return [
        pytest.param(name, cell, marks=[] if (name, cell) in first else [pytest.mark.slow])
        for name in SMALL
        for cell in CELLS
    ]


@pytest.mark.parametrize(("name", "cell"), with_marks())
def test_every_small_language(name, cell):
    network = build("gated-cells", name, cell)
    assert_does(network, name, short=4 if is_tiny(name) else 2, long=1_000 if is_tiny(name) else 60)


@pytest.mark.parametrize("cell", CELLS)
@settings(max_examples=15)
@given(dfa=dfas(max_states=5, max_letters=2))
def test_random_automata_by_gated_cells(cell, dfa):
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
