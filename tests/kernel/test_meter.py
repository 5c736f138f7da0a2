"""Claims that floats make no error: bounds of sums in any order, of scans, and what a format holds."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from nerode import kernel
from nerode.kernel import ANY_ORDER, DTYPES, PREDICT, STEP_BY_STEP, VALID_PREFIXES
from nerode.kernel.domains import unknowns
from nerode.kernel.domains.forms import AffineForm, CounterMeter, FormRegion, ValueRange
from nerode.kernel.domains.meter import ExactnessMeter, _bounded_powers, fits
from nerode.kernel.network import read_network
from nerode.kernel.work import WorkCount
from nerode.languages import Dfa, Language, describe_language
from nerode.languages.bestiary import find_language
from nerode.network import Gated, Network, network_to_json, zero_map
from tests.kernel.cases import affine, compiled, plain
from tests.proofs import networks
from tests.proofs.test_certification import regular
from tests.proofs.test_invariants import few_bs, silent_once
from tests.proofs.test_windows import last_but
from tests.strategies import dfas

Json = Any


def meter(counters: dict[str, tuple[int, tuple[int, ...]]] | None = None) -> ExactnessMeter:
    """A meter of a network with two letters, whose own numbers are 0, 1 and -1."""
    network = plain(network_to_json(networks.parity_network(find_language("parity"))))
    return CounterMeter(read_network(network, WorkCount()), counters or {})


def float_claims(network: Network | Json, language: Language | Json) -> dict[str, kernel.Claim]:
    """By format the strongest claim that follows from a joint closure, all of which are checked again."""
    data = plain(network_to_json(network)) if isinstance(network, Network) else network
    words = plain(describe_language(language)) if isinstance(language, Language) else language
    proof = kernel.prove(data, words, "joint-closure", {"task": PREDICT})
    assert proof.failure is None, proof.failure
    sealed = plain(kernel.certificate_to_json(kernel.seal(data, words, [proof])))
    assert kernel.check(data, words, sealed).ok
    found: dict[str, kernel.Claim] = {}
    for claim in proof.claims:
        if claim.dtype is not None:
            found.setdefault(claim.dtype, claim)
    return found


def scopes(network: Network | Json, language: Language | Json) -> dict[str, str]:
    return {dtype: claim.scope for dtype, claim in float_claims(network, language).items()}


def with_scores(weight: Fraction | int, bias: Fraction | int) -> Network:
    network = networks.parity_network(find_language("parity"))
    scores = networks.affine(["s"], [({}, 1), ({}, 1), ({"s": weight}, bias)])
    return replace(network, decoder=replace(network.decoder, scores=scores))  # type: ignore[type-var]


def test_weights_with_many_bits_fit_only_the_wide_formats() -> None:
    parity = find_language("parity")
    assert scopes(with_scores(Fraction(1, 3), Fraction(1, 3)), parity) == {}
    assert set(scopes(with_scores(1, 0), parity)) == set(DTYPES)
    assert set(scopes(with_scores(1023, 0), parity)) == {"float64", "float32", "float16"}
    assert set(scopes(with_scores(2**24 - 1, 0), parity)) == {"float64", "float32"}
    assert set(scopes(with_scores(1, Fraction(-1, 2**20)), parity)) == {"float64", "float32"}


@given(
    st.lists(st.tuples(st.integers(-40, 40), st.sampled_from([1, 2, 4, 8])), min_size=1, max_size=6),
    st.integers(0, 10**6),
)
def test_sums_within_the_bound_are_exact_in_numpy_in_every_order(
    terms: list[tuple[int, int]], start: int
) -> None:
    values = [Fraction(n, d) for n, d in terms]
    measured, choose = meter(), random.Random(start)
    measured.sum([(1, v) for v in values], FormRegion({}))
    if measured.lengths("float16")[1] is not None:
        return
    exact = sum(values, Fraction(0))
    for _ in range(20):
        choose.shuffle(values)
        parts = [np.float16(float(v)) for v in values]
        while len(parts) > 1:
            i = choose.randrange(len(parts) - 1)
            parts[i : i + 2] = [np.float16(parts[i] + parts[i + 1])]
        assert Fraction(float(parts[0])) == exact


def test_terms_of_either_sign_are_bounded() -> None:
    cases = (([200, -200], True), ([200, 57], False), ([-200, -57], False), ([256], True))
    for (terms, fit), scale in itertools.product(cases, (1, Fraction(1, 4))):
        measured = meter()
        measured.sum([(scale, t) for t in terms], FormRegion({}))
        assert (measured.lengths("bfloat16")[1] is None) is fit


def test_a_sum_of_counters_grows_with_the_length() -> None:
    region = FormRegion({"counter0": ValueRange(1, None, True, 0)})
    measured = meter({"counter0": (0, (1, -3))})
    measured.sum([(2, AffineForm(0, {"counter0": 1})), (1, 5)], region)
    # Before the last of n letters the counter is at most 3·(n-1), so 6·n - 1 has to be at most 2¹¹.
    assert measured.lengths("float16")[1] == (2**11 + 1) // 6
    unbounded = meter()
    unbounded.sum([(1, AffineForm(0, {"state": 1}))], FormRegion({"state": ValueRange(0, None, grid=0)}))
    assert unbounded.lengths("float64") == (-1, -1)


def test_regions_with_the_same_forms_are_measured_each() -> None:
    """The second region is larger, though its terms and ranges read the same in their order."""
    wide, narrow = ValueRange(0, 200, True, 0), ValueRange(0, 100, True, 0)
    measured = meter()
    for terms, ranges in (
        ({"c": 1, "d": 2}, {"c": narrow, "d": narrow}),
        ({"c": 1, "d": 2}, {"c": wide, "d": ValueRange(0, 20, True, 0)}),
        ({"d": 2, "c": 1}, {"d": wide, "c": ValueRange(0, 20, True, 0)}),
    ):
        measured.sum([(1, AffineForm(0, terms))], FormRegion(dict(ranges)))
    assert measured._sums.flat == 420


@pytest.mark.parametrize("points", [[0, 0], [-40, 40]])
def test_claims_are_the_same_whether_dead_prefixes_were_merged_first_or_not(
    points: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    language = few_bs()
    network = plain(network_to_json(silent_once(language, revives=False)))
    counter = {"start": 2, "increments": [0, -1], "points": points}
    description = {"task": PREDICT, "counters": [counter], "affine": {"1:c": [0, [1]]}}
    found = []
    for many in (1, 10**9):
        monkeypatch.setattr(unknowns, "_MANY_CLASSES", many)
        proof = kernel.prove(network, plain(describe_language(language)), "counter-invariant", description)
        assert proof.failure is None, proof.failure
        found.append({(c.task, c.dtype): c.length for c in proof.claims})
    assert found[0] == found[1]
    assert {(PREDICT, dtype) for dtype in DTYPES} <= set(found[0])


def test_a_gate_of_one_half_is_exact_step_by_step_only() -> None:
    """The gate meets only the value 0, which a scan does not know."""
    language = last_but(0)
    names = networks.letters(language.alphabet)
    template = networks.delay_network(language, 0)
    halved = replace(
        template.layers[0],
        state=("d0", "nothing"),
        start=(0, 0),
        recurrence=Gated(
            gate=networks.affine(names, [({}, 0), ({}, Fraction(1, 2))]),
            write=networks.affine(names, [({names[1]: 1}, 0), ({}, 0)]),
        ),
        readout_units=zero_map(4),
        readout=networks.affine([*names, "d0", "nothing"], [({"d0": 1}, 0)]),
    )
    found = scopes(replace(template, layers=(halved,)), language)
    assert found == dict.fromkeys(DTYPES, STEP_BY_STEP)


def reflecting(vector: list[int], start: list[int]) -> Json:
    """Parity by a reflection for each 1; the word may end where h0 is above h1."""
    network, _ = compiled("parity", "diagonal-signed")
    (layer,) = network["layers"]
    width, reads = len(vector), len(layer["reads"])
    inputs = reads + width
    layer["state"] = [f"h{i}" for i in range(width)]
    layer["start"] = start
    layer["recurrence"] = {
        "kind": "householder",
        "factors": [[], [{"beta": 2, "vector": vector}]],
        "writes": [[0] * width] * 2,
    }
    layer["units"] = affine(reads, [], [])
    layer["readout_units"] = affine(inputs, [], [])
    layer["outputs"] = ["s"]
    layer["readout"] = affine(inputs, [[[reads, 1], [reads + 1, -1]]], [0])
    layer["complex_state"] = layer["exposes_previous"] = False
    network["decoder"] = {
        "kind": "scores",
        "reads": ["s"],
        "units": affine(1, [], []),
        "scores": affine(1, [[], [], [[0, 1]]], [1, 1, 0]),
        "empty": network["decoder"]["empty"],
    }
    return network


def test_reflections_that_swap_are_exact_in_any_order_others_step_by_step() -> None:
    _, parity = compiled("parity", "diagonal-signed")
    assert scopes(reflecting([1, -1], [1, 0]), parity) == dict.fromkeys(DTYPES, ANY_ORDER)
    # I - 2vvᵀ/4 for v = (1,-1,-1,1) has entries ±1/2: exact one step at a time, not in products.
    mixed = scopes(reflecting([1, -1, -1, 1], [1, 0, 0, 0]), parity)
    assert mixed == dict.fromkeys(DTYPES, STEP_BY_STEP)


def test_groups_of_a_scan_need_more_room_than_single_steps() -> None:
    parity = find_language("parity")
    signs = networks.parity_network(parity)
    matrices = networks.one_hot_network(parity, parity.dfa())  # type: ignore[attr-defined]
    # States ±100 fit 8 bits; the offsets h' - a·h that a scan joins may be four times as large.
    for network in (signs, matrices):
        layer = network.layers[0]
        start = tuple(100 * v for v in layer.start)
        found = scopes(replace(network, layers=(replace(layer, start=start),)), parity)
        assert found["bfloat16"] == STEP_BY_STEP
        assert found["float16"] == ANY_ORDER


def test_a_counter_in_float16_is_right_up_to_its_length_and_wrong_after() -> None:
    language = find_language("dyck-1")
    network = plain(network_to_json(networks.counter_network(language, dead_flag=False)))  # type: ignore[arg-type]
    counter = {"start": 0, "increments": [1, -1], "points": [-1, 1]}
    name = network["layers"][0]["state"][0]
    description = {"task": VALID_PREFIXES, "counters": [counter], "affine": {f"1:{name}": [0, [1]]}}
    proof = kernel.prove(network, plain(describe_language(language)), "counter-invariant", description)
    assert proof.failure is None, proof.failure
    length = next(c.length for c in proof.claims if c.dtype == "float16")
    assert isinstance(length, int)
    depth = np.float16(0)
    for _ in range(length):
        depth = np.float16(depth + np.float16(1))
    assert int(depth) == length
    assert np.float16(depth + np.float16(1)) == depth


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@given(numerator=st.integers(-(2**60), 2**60), shift=st.integers(0, 80))
def test_a_format_holds_what_numpy_says(dtype: str, numerator: int, shift: int) -> None:
    number = Fraction(numerator, 2**shift)
    info = np.finfo(dtype)
    if number != 0 and not float(info.tiny) <= abs(number) <= float(info.max):
        assert not fits(number, DTYPES[dtype])
    elif abs(numerator) < 2**53:
        held = np.dtype(dtype).type(float(number))
        assert fits(number, DTYPES[dtype]) == (Fraction(float(held)) == number)


def test_powers_that_vanish_or_repeat_are_bounded() -> None:
    assert _bounded_powers((((1, 2),), ((2, 3),), ())) == (6, 0)
    assert _bounded_powers((((1, 1),), ((0, 1),))) == (1, 0)
    assert _bounded_powers((((0, 1), (1, 1)), ((1, 1),))) is None
    assert _bounded_powers((((0, Fraction(1, 2)),),)) is None


@given(dfas(max_states=5, max_letters=2))
@settings(max_examples=30)
def test_one_hot_networks_are_exact_in_any_order_in_every_format(dfa: Dfa) -> None:
    language = regular(dfa)
    network = networks.one_hot_network(language, language.automaton)
    assert scopes(network, language) == dict.fromkeys(DTYPES, ANY_ORDER)
