from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from nerode.compiler import compile_language
from nerode.kernel import (
    PREDICT,
    UP_TO_LENGTH,
    VALID_PREFIXES,
    Certificate,
    Refutation,
    certificate_to_json,
)
from nerode.languages import CounterLanguage, Dyck, Language, describe_language
from nerode.languages.bestiary import find_language
from nerode.network import Network, network_to_json
from nerode.proofs import certification, certify, check
from nerode.proofs.certification import certify_exact
from nerode.proofs.counters import find_integrators, solve
from tests.proofs import networks
from tests.proofs.brute_force import first_failure
from tests.proofs.test_certification import certified


def counter_language(name: str) -> CounterLanguage:
    language = find_language(name)
    assert isinstance(language, CounterLanguage)
    return language


def with_layer(network: Network, number: int, **changes: object) -> Network:
    layers = list(network.layers)
    layers[number] = replace(layers[number], **changes)  # type: ignore[arg-type]
    return replace(network, layers=tuple(layers))


def assert_refuted_at_once(network: Network, language: Language, longest: int = 7) -> Refutation:
    found = first_failure(network, language, longest)
    assert found is not None
    answer = certify_exact(network, language, task=PREDICT)
    assert isinstance(answer, Refutation)
    assert answer.at == len(found[0])
    return answer


@pytest.mark.parametrize("name", ["dyck-1", "shuffle-2", "shuffle-4"])
def test_counters_are_proved_for_all_words(name: str) -> None:
    language = counter_language(name)
    certificate = certified(networks.counter_network(language), language)
    assert certificate.claims[0].method == "counter-invariant"
    assert certificate.claims[0].task == PREDICT
    kinds = len(language.alphabet) // 2
    assert certificate.evidence["counter-invariant"]["affine"] == {
        f"1:c{k}": [0, [int(j == k) for j in range(kinds)]] for k in range(kinds)
    }


def test_without_a_dead_flag_only_valid_prefixes_are_covered() -> None:
    language = counter_language("dyck-1")
    network = networks.counter_network(language, dead_flag=False)
    assert_refuted_at_once(network, language)
    certificate = certified(network, language)
    assert {claim.task for claim in certificate.claims} == {VALID_PREFIXES}


def test_the_length_of_float_formats_comes_from_the_weights() -> None:
    language = counter_language("dyck-1")
    plain = certified(networks.counter_network(language, dead_flag=False), language)
    lengths = {claim.dtype: claim.length for claim in plain.claims if claim.scope == UP_TO_LENGTH}
    # The counter is at most the length, and clip(c) adds c and -(c-1).
    assert lengths == {"float64": 2**53, "float32": 2**24, "bfloat16": 2**8, "float16": 2**11}
    network = networks.counter_network(language, dead_flag=False)
    layer = network.layers[0]
    names = list(layer.reads)
    steep = with_layer(
        network,
        0,
        recurrence=replace(layer.recurrence, write=networks.affine(names, [({"x=(": 4, "x=)": -4}, 0)])),
    )
    lengths = {claim.dtype: claim.length for claim in certified(steep, language).claims}
    # clip(4·depth) is right as well, but the state grows four times as fast.
    assert lengths["float32"] == 2**22
    assert lengths["float16"] == 2**9


def test_integrators_are_the_coordinates_with_gate_one() -> None:
    language = counter_language("shuffle-2")
    found = find_integrators(networks.counter_network(language))
    assert [(i.place, i.start) for i in found] == [((0, 0), 0), ((0, 1), 0)]
    assert [i.steps for i in found] == [(1, -1, 0, 0), (0, 0, 1, -1)]
    assert find_integrators(networks.parity_network(find_language("parity"))) == []


def test_a_counter_with_another_start_is_refuted() -> None:
    language = counter_language("dyck-1")
    assert_refuted_at_once(with_layer(networks.counter_network(language), 0, start=(1,)), language)


def test_a_counter_with_another_step_is_refuted() -> None:
    language = counter_language("dyck-1")
    network = networks.counter_network(language)
    layer = network.layers[0]
    write = networks.affine(list(layer.reads), [({"x=(": 1, "x=)": -2}, 0)])
    wrong = with_layer(network, 0, recurrence=replace(layer.recurrence, write=write))
    assert_refuted_at_once(wrong, language)


def test_a_leaking_counter_is_refuted() -> None:
    language = counter_language("dyck-1")
    network = networks.counter_network(language)
    layer = network.layers[0]
    gate = networks.affine(list(layer.reads), [({}, Fraction(9, 10))])
    wrong = with_layer(network, 0, recurrence=replace(layer.recurrence, gate=gate))
    answer = certify_exact(wrong, language)
    assert isinstance(answer, Refutation)


@pytest.mark.parametrize("limit", [3, 40])
def test_a_threshold_that_fails_far_out_is_refuted_by_the_shortest_word(limit: int) -> None:
    language = counter_language("dyck-1")
    network = networks.counter_network(language)
    layer = network.layers[0]
    names = [*layer.reads, "c0", "old c0"]
    # positive0 = clip(c) - clip(c - limit): wrong as soon as the depth is limit + 1.
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
    answer = certify_exact(wrong, language, task=PREDICT)
    assert isinstance(answer, Refutation)
    assert answer.word == ("(",) * (limit + 1)


def test_majority_counts_below_zero() -> None:
    language = counter_language("majority")
    network = _majority(language)
    certificate = certified(network, language)
    assert certificate.claims[0].task == PREDICT


def _majority(language: CounterLanguage) -> Network:
    names = networks.letters(language.alphabet)
    dyck = networks.counter_network(counter_language("dyck-1"), dead_flag=False)
    layer = dyck.layers[0]
    counting = replace(
        layer,
        reads=tuple(names),
        recurrence=replace(layer.recurrence, write=networks.affine(names, [({"x=0": -1, "x=1": 1}, 0)])),
    )
    return Network(
        alphabet=language.alphabet,
        target="diagonal",
        embedding=networks.Embedding.one_hot(language.alphabet),
        layers=(counting,),
        decoder=replace(
            dyck.decoder,
            scores=networks.affine(["positive0"], [({}, 1), ({}, 1), ({"positive0": 1}, 0)]),  # type: ignore[arg-type]
            empty=language.legal(language.initial()),
        ),
        origin=networks.origin(language),
    )


def test_bounded_depth_is_exact_at_all_lengths_on_valid_prefixes() -> None:
    language = find_language("d-4")
    assert isinstance(language, Dyck)
    certificate = certified(networks.bounded_dyck_network(language), language)
    assert certificate.claims[0].method == "counter-invariant"
    everywhere = [c for c in certificate.claims if c.dtype == "bfloat16" and c.length == "all"]
    assert [c.task for c in everywhere] == [VALID_PREFIXES]
    limited = [c for c in certificate.claims if c.dtype == "bfloat16" and c.task == PREDICT]
    assert [c.scope for c in limited] == [UP_TO_LENGTH]


def test_an_invariant_that_does_not_hold_is_refused_with_its_entry() -> None:
    language = counter_language("dyck-1")
    network = networks.counter_network(language)
    certificate = certified(network, language)
    data = certificate_to_json(certificate)
    for change in (
        {"affine": {"1:c0": [0, [2]]}},
        {"affine": {"1:c0": [1, [1]]}},
        {"affine": {}},
        {"affine": {"1:c1": [0, [1]]}},
        {"counters": []},
        {"counters": [{"start": 1, "increments": [1, -1], "points": [0, 0]}]},
        {"counters": [{"start": 0, "increments": [1, 1], "points": [0, 0]}]},
        {"counters": [{"start": 0, "increments": [1, -1], "points": [1, 2]}]},
        {"counters": [{"start": 0, "increments": [1], "points": [0, 0]}]},
        {"surprise": 1},
    ):
        evidence = {
            **data["evidence"],
            "counter-invariant": {**data["evidence"]["counter-invariant"], **change},
        }
        result = check(network_to_json(network), describe_language(language), {**data, "evidence": evidence})
        assert not result.ok
        assert result.failure is not None
        assert result.failure.entry == "evidence.counter-invariant"
        assert result.failure.refutation is None


def test_a_longer_length_than_the_weights_allow_is_refused() -> None:
    language = counter_language("dyck-1")
    network = networks.counter_network(language, dead_flag=False)
    certificate = certified(network, language)
    for change, fine in ((-1, True), (0, True), (1, False)):
        claims = tuple(
            replace(c, length=c.length + change) if isinstance(c.length, int) else c
            for c in certificate.claims
        )
        changed = replace(certificate, claims=claims)
        parts = (network_to_json(network), describe_language(language), certificate_to_json(changed))
        assert check(*parts).ok is fine


@given(
    st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=1, max_size=3),
    st.lists(st.integers(-4, 4), min_size=3, max_size=3),
)
def test_solve_finds_weights_exactly_when_there_are_some(
    columns: list[list[int]], weights: list[int]
) -> None:
    target = [
        Fraction(sum(w * column[i] for w, column in zip(weights, columns, strict=False))) for i in range(3)
    ]
    found = solve(columns, target)
    assert found is not None
    assert [sum(w * column[i] for w, column in zip(found, columns, strict=True)) for i in range(3)] == target


def test_solve_says_when_there_are_no_weights() -> None:
    assert solve([[1, 0], [2, 0]], [Fraction(0), Fraction(1)]) is None
    assert solve([], [Fraction(1)]) is None
    assert solve([], [Fraction(0)]) == []


def test_a_flag_that_grows_with_every_violation_is_a_tally() -> None:
    language = counter_language("dyck-1")
    network = networks.counter_network(language)
    layer = network.layers[1]
    # The flag is right, but it is kept as a number that grows with every violation.
    names = [*layer.reads, "v0"]
    growing = with_layer(
        network,
        1,
        recurrence=replace(
            layer.recurrence,
            gate=networks.affine(names, [({}, 1)]),
            write=networks.affine(names, [({"v0": 1}, 0)]),
        ),
    )
    assert first_failure(growing, language, 8) is None
    assert isinstance(certify_exact(growing, language, task=PREDICT), Certificate)
    # One that starts below 0 forgets the first violation.
    forgiving = with_layer(growing, 1, start=(-1,))
    assert isinstance(certify_exact(forgiving, language, task=PREDICT), Refutation)


@pytest.mark.parametrize(("more", "task"), [(1, VALID_PREFIXES), (40, PREDICT)])
def test_all_words_get_many_cells_only_as_valid_prefixes_need_some(
    more: int, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below zero the counters of dead prefixes may take one new value after another."""
    for name, value in (("FEW_UNKNOWNS", 3), ("MOST_STEPS", 0), ("MORE_CELLS", more)):
        monkeypatch.setattr(certification, name, value)
    dyck = find_language("dyck-1")
    found = certify(compile_language(dyck, "elman-relu"), dyck)
    assert isinstance(found, Certificate)
    assert found.claims[0].task == task
