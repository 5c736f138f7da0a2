from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from nerode.compiler.construction import Options
from nerode.compiler.constructions.group_cascades import SOLVABLE_CASCADE, TWO_GROUP_CASCADE
from nerode.compiler.forms import direction
from nerode.compiler.level_codings import nearness
from nerode.compiler.pipeline import compile_language
from nerode.core import NotCompilable, cosine, root_of_unity, sine
from nerode.languages import Alphabet, Dfa, RegularLanguage
from nerode.languages.groups import word_problem
from nerode.network import ByChoice, Gated
from nerode.network.step import Interpreter
from nerode.verdict import solvable
from tests.compiler.agreement import assert_does, build, first_disagreement, named, request_for
from tests.strategies import dfas

DEPTHS = {"s3": 2, "s4": 3, "a4xz5": 2, "z60": 1, "q8": 2, "d4": 2, "z2xz2": 1, "cycle-navigation": 1}
"""For a group language the derived length of its group."""


@pytest.mark.parametrize("name", DEPTHS)
def test_depth_is_the_derived_length(name):
    network = build("solvable-cascade", name, "diagonal-complex")
    assert_does(network, name, short=4, long=4_000)
    assert network.depth == DEPTHS[name]
    assert (
        network.depth
        == request_for(name, "diagonal-complex").facts.group_of_language.structure.derived_length
    )


OTHERS = [
    "t3",
    "tomita-3",
    "abab-star",
    "u2",
    "even-pairs",
    "cycle-navigation-announced",
    "cyclic-monoid-2-3",
]


@pytest.mark.parametrize("name", [*OTHERS, "modular-arithmetic", "modular-arithmetic-simple"])
def test_languages_with_groups_and_resets(name):
    network = build("solvable-cascade", name, "complex-diagonal")
    assert_does(network, name, short=4, long=4_000)


@pytest.mark.parametrize("target", ["diagonal-signed", "mamba-signed", "deltanet-signed", "householder"])
@pytest.mark.parametrize("name", ["tomita-3", "abab-star", "aaaa-star", "q8", "d4", "z2xz2", "even-pairs"])
def test_two_groups_need_signs_only(name, target):
    network = build("two-group-cascade", name, target)
    assert_does(network, name, short=5, long=4_000)
    assert not any(layer.complex_state for layer in network.layers)
    assert gate_values(network, named(name)) <= {-1, 0, 1}


def gate_values(network, language):
    """All gates that occur on a random word."""
    found = set()
    interpreter = Interpreter(network)
    configuration = interpreter.start()
    word = np.random.default_rng(0).integers(0, len(language.alphabet), 300).tolist()
    for letter in word:
        stream = interpreter.stream(configuration, letter)
        for layer in network.layers:
            assert isinstance(layer.recurrence, Gated)
            reads = [stream[name] for name in layer.reads]
            units = [max(0, v) for v in layer.units(reads)]
            found.update(layer.recurrence.gate([*reads, *units]))
        configuration, _ = interpreter.step(configuration, letter)
    return found


@pytest.mark.parametrize("name", ["tomita-3", "abab-star", "q8"])
def test_nothing_is_written_while_a_coordinate_is_held(name):
    """So the layers fit carriers whose write vanishes when the gate is 1."""
    language = named(name)
    network = build("two-group-cascade", name, "mamba-signed")
    interpreter = Interpreter(network)
    configuration = interpreter.start()
    for letter in np.random.default_rng(1).integers(0, len(language.alphabet), 300).tolist():
        stream = interpreter.stream(configuration, letter)
        for layer in network.layers:
            reads = [stream[name] for name in layer.reads]
            seen = [*reads, *(max(0, v) for v in layer.units(reads))]
            pairs = zip(layer.recurrence.gate(seen), layer.recurrence.write(seen), strict=True)
            assert all(write == 0 for gate, write in pairs if gate != 0)
        configuration, _ = interpreter.step(configuration, letter)


def test_the_gates_of_s3_are_a_sign_and_a_third_root_of_unity():
    network = build("solvable-cascade", "s3", "diagonal-complex")
    thirds = {root_of_unity(k, 3) for k in range(3)}
    first, second = network.layers
    assert not first.complex_state
    assert second.complex_state
    assert [layer.width for layer in network.layers] == [1, 1]
    interpreter = Interpreter(network)
    configuration = interpreter.start()
    for letter in (1, 3, 5, 2, 4, 0, 3, 3):
        configuration, _ = interpreter.step(configuration, letter)
        assert configuration[0][0] in {1, -1}
        assert configuration[1][0] in thirds


@pytest.mark.parametrize("m", [3, 4, 5, 7, 12])
def test_the_phase_is_decoded_exactly(m):
    x, y = direction("x"), direction("y")
    for k in range(m):
        for label in range(m):
            form = nearness(x, y, Fraction(label, m), m)
            value = form.bias + form.terms.get("x", 0) * cosine(k, m) + form.terms.get("y", 0) * sine(k, m)
            if k == label:
                assert value == 1
            else:
                assert value <= 0


@pytest.mark.parametrize("name", ["z3", "s3", "cycle-navigation", "t3", "modular-arithmetic"])
@pytest.mark.parametrize("target", ["diagonal-signed", "mamba-signed"])
def test_odd_groups_are_refused_for_real_gates(name, target):
    with pytest.raises(NotCompilable) as refusal:
        compile_language(named(name), target)
    assert any("u = " in reason for reason in refusal.value.reasons)


@pytest.mark.parametrize("name", ["a5-generators", "s5-generators"])
def test_groups_that_are_not_solvable_are_refused_for_diagonal_gates(name):
    with pytest.raises(NotCompilable, match="not solvable"):
        compile_language(named(name), "diagonal-complex")
    request = request_for(name, "diagonal-complex")
    with pytest.raises(NotCompilable):
        SOLVABLE_CASCADE.compile(request)


def test_a_counter_modulo_three_is_named_when_real_gates_are_forced():
    request = request_for("s3", "diagonal-signed")
    with pytest.raises(NotCompilable, match="modulo 3"):
        TWO_GROUP_CASCADE.compile(request)


def test_layers_without_an_exclusive_scan_are_refused_where_old_labels_are_read():
    options = Options(exclusive_scan=False)
    with pytest.raises(NotCompilable, match="exclusive scan"):
        build("solvable-cascade", "s3", "diagonal-complex", options)
    assert_does(build("solvable-cascade", "z60", "diagonal-complex", options), "z60", short=2, long=500)


@given(dfas(max_states=5, max_letters=2))
def test_random_automata(dfa):
    language = RegularLanguage(name="random", automaton=dfa, convention="")
    request = request_for(language, "diagonal-complex")
    assume(solvable(request.facts))
    network = build("solvable-cascade", language, "diagonal-complex")
    assert first_disagreement(network, language, short=5, long=300) is None


@settings(max_examples=20)
@given(st.sampled_from(["Z8", "Z2xZ4", "D8", "Z4xZ4"]), st.integers(0, 3))
def test_two_groups_in_binary_digits(group, seed):
    language = word_problem(group)
    network = build("two-group-cascade", language, "diagonal-signed")
    assert first_disagreement(network, language, short=2, long=400, seed=seed) is None


def test_a_changed_gate_is_seen():
    network = build("solvable-cascade", "s3", "diagonal-complex")
    layer = network.layers[1]
    gate = layer.recurrence.gate
    row = tuple((j, -1 * c) for j, c in gate.rows[0])
    wrong = replace(layer, recurrence=replace(layer.recurrence, gate=replace(gate, rows=(row,))))
    changed = replace(network, layers=(network.layers[0], wrong))
    assert first_disagreement(changed, named("s3"), long=50) is not None


def test_the_old_label_matters():
    """Handing the new parity upwards, as a printed proof does, gives a network that is wrong."""
    network = build("solvable-cascade", "s3", "diagonal-complex")
    first, second = network.layers
    assert "q1'" in second.reads
    new = replace(
        first, readout=replace(first.readout, rows=tuple(_now(r, first) for r in first.readout.rows))
    )
    changed = replace(network, layers=(new, second))
    assert first_disagreement(changed, named("s3"), long=200) is not None


def _now(row, layer):
    """The row with the state before the letter replaced by the state after it."""
    first_old = len(layer.reads) + layer.width
    return tuple((j - layer.width if j >= first_old else j, c) for j, c in row)


NAMES = ["t3", "tomita-3", "abab-star", "cycle-navigation-announced", "cyclic-monoid-2-3", "u2", "s3"]


def most_factors(network):
    return max(
        (x.recurrence.most_factors for x in network.layers if isinstance(x.recurrence, ByChoice)),
        default=1,
    )


@pytest.mark.parametrize("target", ["householder", "deltaproduct-signed"])
@pytest.mark.parametrize("name", [*NAMES, "modular-arithmetic", "modular-arithmetic-simple"])
def test_any_regular_language_with_two_factors_for_solvable_groups(name, target):
    network = build("householder-cascade", name, target)
    assert_does(network, name, short=4, long=4_000)
    assert most_factors(network) <= 2
    assert f"n_h = {most_factors(network)}" in network.origin.route


@pytest.mark.parametrize("name", [*NAMES, "s4"])
def test_one_factor_is_enough_for_solvable_groups(name):
    network = build("mirror-cascade", name, "deltanet-signed")
    assert_does(network, name, short=4, long=2_000)
    assert most_factors(network) == 1
    for layer in network.layers:
        if isinstance(layer.recurrence, ByChoice):
            assert all(e == 0 for write in layer.recurrence.writes for e in write)


def test_a_group_that_is_not_solvable_beside_a_reset():
    """S5 on five points with a letter that goes back to the first: swaps, and five factors to clear."""
    n = 5
    rows = [[(q + 1) % n for q in range(n)], [1, 0, 2, 3, 4], [0] * n]
    dfa = Dfa(
        alphabet=Alphabet(("c", "s", "r")),
        transitions=np.array(rows, dtype=np.int32).T,
        start=0,
        accepting=np.arange(n) == 0,
    )
    language = RegularLanguage(name="five points with a reset", automaton=dfa, convention="")
    network = compile_language(language, "householder")
    assert network.origin.construction == "householder-cascade"
    assert_does(network, language, short=6, long=4_000)
    assert most_factors(network) == n
    with pytest.raises(NotCompilable):
        compile_language(language, "deltanet-signed")


@given(dfas(max_states=5, max_letters=2))
def test_random_automata_by_householder_factors(dfa):
    language = RegularLanguage(name="random", automaton=dfa, convention="")
    network = build("householder-cascade", language, "householder")
    assert first_disagreement(network, language, short=5, long=300) is None


@given(dfas(max_states=5, max_letters=2))
def test_random_automata_by_householder_factors_with_one_factor(dfa):
    language = RegularLanguage(name="random", automaton=dfa, convention="")
    assume(solvable(request_for(language, "deltanet-signed").facts))
    network = build("mirror-cascade", language, "deltanet-signed")
    assert first_disagreement(network, language, short=5, long=300) is None


@pytest.mark.parametrize(("construction", "target"), [("householder-cascade", "householder")])
def test_a_changed_factor_is_seen(construction, target):
    network = build(construction, "t3", target)
    number = next(i for i, x in enumerate(network.layers) if isinstance(x.recurrence, ByChoice))
    layer = network.layers[number]
    factors = layer.recurrence.table.factors
    moving = next(i for i, f in enumerate(factors) if f and f[0].beta == 2)
    table = replace(
        layer.recurrence.table, factors=(*factors[:moving], factors[moving][:-1], *factors[moving + 1 :])
    )
    wrong = replace(layer.recurrence, table=table)
    layers = list(network.layers)
    layers[number] = replace(layer, recurrence=wrong)
    assert first_disagreement(replace(network, layers=tuple(layers)), named("t3"), long=200) is not None


def test_the_choices_of_a_selector_exclude_each_other():
    """Exactly one choice is 1 at every step; the interpreter refuses anything else."""
    network = build("householder-cascade", "t3", "householder")
    layer = next(x for x in network.layers if isinstance(x.recurrence, ByChoice))
    twice = replace(layer.recurrence.selector, bias=(1,) * layer.recurrence.selector.num_outputs)
    wrong = replace(layer, recurrence=replace(layer.recurrence, selector=twice))
    layers = tuple(wrong if x is layer else x for x in network.layers)
    with pytest.raises(ArithmeticError, match="one-hot"):
        first_disagreement(replace(network, layers=layers), named("t3"), short=2, long=5)


def test_registers_and_signs_share_a_diagonal_layer():
    network = build("householder-cascade", "abab-star", "householder")
    assert all(isinstance(layer.recurrence, Gated) for layer in network.layers)
    assert network.depth == 2
