"""The search over cells by itself: with no search for failing words, nothing wrong may be proved."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from nerode.kernel import PREDICT, VALID_PREFIXES, Certificate, Failure, Unreadable, covers, prove
from nerode.kernel.domains import unknowns
from nerode.languages import (
    Alphabet,
    CounterLanguage,
    CounterMachine,
    CounterRule,
    Language,
    describe_language,
)
from nerode.languages.bestiary import find_language
from nerode.languages.brackets import dyck
from nerode.network import Embedding, Gated, Layer, Network, ScoreDecoder, network_to_json, zero_map
from nerode.proofs.certification import certify_exact
from tests.proofs import networks
from tests.proofs.brute_force import first_failure
from tests.proofs.test_counters import counter_language, with_layer
from tests.proofs.test_stacks import with_write


@pytest.fixture(autouse=True)
def _no_search_for_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(covers, "find_failing_word", lambda *_, **__: None)


def proof(network: Network, language: Language, evidence: Any, task: str = PREDICT) -> Failure | None:
    cover = {key: value for key, value in evidence.items() if key not in ("cells", "digest")}
    method = "stack-invariant" if "slots" in cover else "counter-invariant"
    try:
        return prove(
            network_to_json(network), describe_language(language), method, {**cover, "task": task}
        ).failure
    except Unreadable as error:
        return Failure(what=str(error))


def evidence_of(network: Network, language: Language) -> Any:
    certificate = certify_exact(network, language)
    assert isinstance(certificate, Certificate)
    return certificate.evidence[certificate.claims[0].method]


def dyck_1() -> tuple[Language, Network, Any]:
    language = counter_language("dyck-1")
    network = networks.counter_network(language)
    return language, network, evidence_of(network, language)


def test_the_right_network_is_proved() -> None:
    language, network, evidence = dyck_1()
    assert proof(network, language, evidence) is None
    assert proof(network, language, evidence, VALID_PREFIXES) is None


@pytest.mark.parametrize("gate", [Fraction(9, 10), Fraction(11, 10)])
def test_a_leaking_counter_is_not_proved_by_claiming_that_it_counts(gate: Fraction | int) -> None:
    language, network, evidence = dyck_1()
    layer = network.layers[0]
    assert isinstance(layer.recurrence, Gated)
    leaking = replace(layer.recurrence, gate=networks.affine(list(layer.reads), [({}, gate)]))
    for task in (PREDICT, VALID_PREFIXES):
        failure = proof(with_layer(network, 0, recurrence=leaking), language, evidence, task)
        assert failure is not None
        assert "1:c0" in failure.what


@pytest.mark.parametrize("limit", [2, 50, 1000])
def test_a_threshold_that_fails_far_out_is_not_proved(limit: int) -> None:
    language, network, evidence = dyck_1()
    names = [*network.layers[0].reads, "c0", "old c0"]
    units = networks.affine(
        names,
        [({name: 1}, -at) for name, at in (("c0", 0), ("c0", 1), ("old c0", 0), ("old c0", 1))]
        + [({"c0": 1}, -limit), ({"c0": 1}, -limit - 1)],
    )
    readout = networks.affine(
        [*names, *(f"u{i}" for i in range(6))],
        [({"u0": 1, "u1": -1, "u4": -1, "u5": 1}, 0), ({"u2": 1, "u3": -1}, 0)],
    )
    wrong = with_layer(network, 0, readout_units=units, readout=readout)
    failure = proof(wrong, language, evidence)
    assert failure is not None
    assert "answer" in failure.what


def test_an_error_after_a_closing_bracket_deep_down_is_not_proved() -> None:
    language, network, evidence = dyck_1()
    layer = network.layers[0]
    names = [*layer.reads, "c0", "old c0"]
    thresholds = [("c0", 0), ("c0", 1), ("old c0", 0), ("old c0", 1), ("c0", 4), ("c0", 5)]
    deep = with_layer(
        network,
        0,
        outputs=(*layer.outputs, "five"),
        readout_units=networks.affine(names, [({name: 1}, -at) for name, at in thresholds]),
        readout=networks.affine(
            [*names, *(f"u{i}" for i in range(6))],
            [({f"u{i}": 1, f"u{i + 1}": -1}, 0) for i in (0, 2, 4)],
        ),
    )
    assert proof(deep, language, evidence) is None
    # The score of ")" loses 1 if the last letter closed and five or more are still open.
    reads = ["positive0", "gone", "five", "x=)"]
    decoder = replace(
        network.decoder,
        reads=tuple(reads),
        units=networks.affine(reads, [({"five": 1, "x=)": 1}, -1)]),  # type: ignore[arg-type]
        scores=networks.affine(  # type: ignore[arg-type]
            [*reads, "u"],
            [
                ({"gone": -1}, 1),
                ({"positive0": 1, "gone": -1, "u": -1}, 0),
                ({"positive0": -1, "gone": -1}, 1),
            ],
        ),
    )
    wrong = replace(deep, decoder=decoder)
    for task in (PREDICT, VALID_PREFIXES):
        failure = proof(wrong, language, evidence, task)
        assert failure is not None
        assert "after ()" in failure.what


def test_a_counter_that_starts_elsewhere_is_not_proved() -> None:
    language, network, evidence = dyck_1()
    failure = proof(with_layer(network, 0, start=(1,)), language, evidence)
    assert failure is not None
    assert "start" in failure.what


def test_a_coordinate_that_depends_on_a_counter_must_be_described() -> None:
    language, network, evidence = dyck_1()
    counting, flag = network.layers
    names = [*counting.reads, "c0", "old c0", "u0", "u1", "u2", "u3"]
    shown = [*counting.outputs, "raw"]
    rows = [({"u0": 1, "u1": -1}, 0), ({"u2": 1, "u3": -1}, 0), ({"c0": 1}, 0)]
    copying = replace(
        flag,
        name="copy",
        reads=("raw",),
        state=("copy",),
        units=networks.zero_map(1),
        recurrence=Gated(gate=networks.zero_map(1, 1), write=networks.affine(["raw"], [({"raw": 1}, 0)])),
        readout_units=networks.zero_map(2),
        outputs=("copied",),
        readout=networks.affine(["raw", "copy"], [({"copy": 1}, 0)]),
    )
    counting = replace(counting, outputs=tuple(shown), readout=networks.affine(names, rows))
    network = replace(network, layers=(counting, flag, copying))
    failure = proof(network, language, evidence)
    assert failure is not None
    assert "3:copy depends on a counter" in failure.what
    described = {"1:c0": [0, [1]], "3:copy": [0, [1]]}
    assert proof(network, language, {**evidence, "affine": described}) is None


def test_a_flag_that_misses_one_violation_is_not_proved() -> None:
    language, network, evidence = dyck_1()
    layer = network.layers[1]
    # x=) - was0 - 1 is never positive: the flag is never set.
    deaf = replace(layer.units, bias=(-1,))
    assert proof(with_layer(network, 1, units=deaf), language, evidence) is not None
    assert proof(with_layer(network, 1, units=deaf), language, evidence, VALID_PREFIXES) is None


def test_counters_of_another_language_are_refused() -> None:
    language, network, evidence = dyck_1()
    for counter in (
        {"start": 1, "increments": [1, -1], "points": [0, 0]},
        {"start": 0, "increments": [1, 0], "points": [0, 0]},
    ):
        failure = proof(network, language, {**evidence, "counters": [counter]})
        assert failure is not None
        assert "counters of the language" in failure.what


def test_finer_classes_do_no_harm() -> None:
    language, network, evidence = dyck_1()
    counter = {**evidence["counters"][0], "points": [-2, 3]}
    assert proof(network, language, {**evidence, "counters": [counter]}) is None


def test_many_counters_of_dead_prefixes_are_not_told_apart_unless_they_must(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    language = counter_language("shuffle-2")
    network = networks.counter_network(language)
    evidence = evidence_of(network, language)
    for many in (1, 10**6):
        monkeypatch.setattr(unknowns, "_MANY_CLASSES", many)
        assert proof(network, language, evidence) is None
        # The second kind is forgotten by the flag: ( [ ) ] … must be found with and without classes.
        layer = network.layers[1]
        deaf = replace(layer.units, bias=(0, -1))
        assert proof(with_layer(network, 1, units=deaf), language, evidence) is not None
    monkeypatch.setattr(unknowns, "_MANY_CLASSES", 1)
    bounded = find_language("d-4")
    depth = networks.bounded_dyck_network(bounded)  # type: ignore[arg-type]
    assert proof(depth, bounded, evidence_of(depth, bounded)) is None


STACKS = dyck(3, 7)


def test_slots_that_lose_a_kind_deep_down_are_not_proved() -> None:
    network = networks.bounded_dyck_network(STACKS)
    evidence = evidence_of(network, STACKS)
    assert proof(network, STACKS, evidence) is None
    opening = network.layers[1].reads[2]
    # Opening the second kind at depth 7 also overwrites the slot of depth 5.
    i = 4 * 3 + 1
    wrong = with_write(network, {i: {opening: 1, "at7": 1, "at5": 1}})
    failure = proof(wrong, STACKS, evidence)
    assert failure is not None
    assert "depth 5" in failure.what


def test_slots_that_leave_their_codes_are_not_proved() -> None:
    network = networks.bounded_dyck_network(STACKS)
    evidence = evidence_of(network, STACKS)
    layer = network.layers[1]
    assert isinstance(layer.recurrence, Gated)
    gate = layer.recurrence.gate
    # The slot of depth 7 doubles whenever a bracket of the first kind closes.
    closing = layer.reads.index("x=)")
    row = 6 * 3
    rows = (*gate.rows[:row], tuple(sorted(((closing, 1), *gate.rows[row]))), *gate.rows[row + 1 :])
    doubling = replace(layer.recurrence, gate=replace(gate, rows=rows))
    wrong = with_layer(network, 1, recurrence=doubling)
    failure = proof(wrong, STACKS, evidence)
    assert failure is not None


def test_an_error_only_after_closing_onto_one_kind_is_not_proved() -> None:
    network = networks.bounded_dyck_network(STACKS)
    evidence = evidence_of(network, STACKS)
    decoder = network.decoder
    reads = [*decoder.reads, "x=]"]
    units = networks.affine(reads, [({"x=]": 1, "top2": 1}, -1)])
    rows = list(decoder.scores.rows)  # type: ignore[union-attr]
    rows[5] = (*rows[5], (len(reads), -1))
    scores = replace(decoder.scores, num_inputs=len(reads) + 1, rows=tuple(rows))  # type: ignore[union-attr]
    # Right but for one thing: the third kind may not be closed right after the second kind was.
    wrong = replace(network, decoder=replace(decoder, reads=tuple(reads), units=units, scores=scores))  # type: ignore[arg-type]
    for task in (PREDICT, VALID_PREFIXES):
        failure = proof(wrong, STACKS, evidence, task)
        assert failure is not None
        assert "after ([]" in failure.what


def test_a_register_that_drifts_leaves_its_intervals() -> None:
    language = find_language("set-reset")
    network = networks.set_reset_network(language)
    layer = network.layers[0]
    assert isinstance(layer.recurrence, Gated)
    # Holding adds 1/1000: a bit that is not set reads as set after five hundred letters.
    write = networks.affine(list(layer.reads), [({"x=1": 1, "x=h": Fraction(1, 1000)}, 0)])
    drifting = with_layer(network, 0, recurrence=replace(layer.recurrence, write=write))
    for intervals in ([["0", "1/10"], ["1", "11/10"]], [["0", "1/4"], ["1", "2"]]):
        failure = proof(drifting, language, {"intervals": {"1:bit": intervals}})
        assert failure is not None
        assert "leaves its intervals" in failure.what


def test_intervals_must_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unknowns, "MAX_CELLS", 200)
    language = find_language("set-reset")
    network = networks.set_reset_network(language, overwrite=Fraction(1, 4))
    evidence = evidence_of(network, language)
    assert proof(network, language, evidence) is None
    intervals = evidence["intervals"]["1:bit"]
    for change in (intervals[:1], [["0", "1/4"], ["1", "5/4"]], [["0", "2"]], [["1", "4/3"]]):
        failure = proof(network, language, {"intervals": {"1:bit": change}})
        assert failure is not None
    assert proof(network, language, {}) is not None


def test_layers_that_count_cannot_be_merged() -> None:
    language, network, evidence = dyck_1()
    failure = proof(network, language, {**evidence, "merged": 1})
    assert failure is not None
    assert "merged" in failure.what


def few_bs() -> CounterLanguage:
    """No more than two b: a third leads where no rule holds, and from there nowhere."""
    all_letters = frozenset({0, 1})
    machine = CounterMachine(
        alphabet=Alphabet(("a", "b")),
        start=(2,),
        increments=((0,), (-1,)),
        rules=(
            CounterRule(zero=frozenset({0}), symbols=all_letters, end=True),
            CounterRule(positive=frozenset({0}), symbols=all_letters, end=True),
        ),
    )
    return replace(counter_language("dyck-1"), name="few b", machine=machine, parameters={})


def silent_once(language: CounterLanguage, *, revives: bool) -> Network:
    """A counter, whether it is below 0, and a flag that it was; one that revives is silent only at first."""
    names = networks.letters(language.alphabet)
    seen = [*names, "c"]
    counter = Layer(
        name="counter",
        reads=tuple(names),
        state=("c",),
        start=language.machine.start,
        units=zero_map(2),
        recurrence=Gated(
            gate=networks.affine(names, [({}, 1)]), write=networks.affine(names, [({"x=b": -1}, 0)])
        ),
        readout_units=networks.affine(seen, [({"c": -1}, 0), ({"c": -1}, -1)]),
        outputs=("below",),
        readout=networks.affine([*seen, "u0", "u1"], [({"u0": 1, "u1": -1}, 0)]),
    )
    inside = ["below", "now", "before"]
    flag = Layer(
        name="flag",
        reads=("below",),
        state=("was",),
        start=(0,),
        units=zero_map(1),
        recurrence=Gated(
            gate=networks.affine(["below"], [({"below": -1}, 1)]),
            write=networks.affine(["below"], [({"below": 1}, 0)]),
        ),
        exposes_previous=True,
        readout_units=networks.affine(inside, [({"below": 1, "before": -1} if revives else {"now": 1}, 0)]),
        outputs=("dead",),
        readout=networks.affine([*inside, "u"], [({"u": 1}, 0)]),
    )
    return Network(
        alphabet=language.alphabet,
        target="diagonal",
        embedding=Embedding.one_hot(language.alphabet),
        layers=(counter, flag),
        decoder=ScoreDecoder(
            reads=("dead",),
            units=zero_map(1),
            scores=networks.affine(["dead"], [({"dead": -1}, 1)] * 3),
            empty=language.legal(language.initial()),
        ),
        origin=networks.origin(language),
    )


@pytest.mark.parametrize("points", [[0, 0], [-40, 40]])
def test_counters_are_told_apart_where_no_rule_holds(points: list[int]) -> None:
    """A prefix that nothing continues is not dead for every value of the counter: one at 0 goes on."""
    language = few_bs()
    counter = {"start": 2, "increments": [0, -1], "points": points}
    evidence = {"counters": [counter], "affine": {"1:c": [0, [1]]}}
    assert proof(silent_once(language, revives=False), language, evidence) is None
    wrong = silent_once(language, revives=True)
    found = first_failure(wrong, language, 4)
    assert found is not None
    assert proof(wrong, language, evidence) is not None
