from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from nerode.core import Budget
from nerode.languages import Dfa
from nerode.languages.bestiary import find_language
from nerode.network import ByChoice, Factor, Gated, network_to_json, zero_map
from nerode.proofs.certificate import ANY_ORDER, DTYPES, PREDICT, STEP_BY_STEP, VALID_PREFIXES
from nerode.proofs.checker_closure import search
from nerode.proofs.checker_dtypes import Exactness
from nerode.proofs.checker_formats import bounded_powers, weights_fit
from nerode.proofs.checker_forms import Region
from nerode.proofs.checker_network import read_network
from nerode.proofs.checker_problem import Problem
from nerode.proofs.closure import JointClosure, close_jointly
from nerode.proofs.integers import integer_claims
from tests.proofs import networks
from tests.proofs.test_counters import counter_language
from tests.proofs.test_exact import certified, regular
from tests.proofs.test_windows import last_but
from tests.strategies import dfas


def scopes(network: networks.Network, language: networks.Language) -> dict[str, str]:
    closure = close_jointly(network, language, task=PREDICT)
    assert isinstance(closure, JointClosure)
    return {str(c.dtype): c.scope for c in integer_claims(network, closure, PREDICT)}


@given(dfas(max_states=5, max_letters=2))
@settings(max_examples=40)
def test_prover_and_checker_bound_the_same(dfa: Dfa) -> None:
    language = regular(dfa)
    network = networks.one_hot_network(language, language.automaton)
    claims = certified(network, language).claims[1:]
    assert {c.dtype for c in claims} == set(DTYPES)
    assert {c.scope for c in claims} == {ANY_ORDER}


def test_weights_that_no_float_holds_give_no_claim() -> None:
    language = find_language("parity")
    network = networks.parity_network(language)
    thirds = replace(
        network.decoder,
        scores=networks.affine(["s"], [({}, 1), ({}, 1), ({"s": Fraction(1, 3)}, Fraction(1, 3))]),  # type: ignore[arg-type]
    )
    assert scopes(replace(network, decoder=thirds), language) == {}


def test_weights_with_many_bits_fit_only_the_wide_formats() -> None:
    language = find_language("parity")
    network = networks.parity_network(language)
    odd = replace(
        network.decoder,
        scores=networks.affine(["s"], [({}, 1), ({}, 1), ({"s": 1023}, 0)]),  # type: ignore[arg-type]
    )
    assert set(scopes(replace(network, decoder=odd), language)) == {"float64", "float32", "float16"}
    odd = replace(odd, scores=networks.affine(["s"], [({}, 1), ({}, 1), ({"s": 2**24 - 1}, 0)]))  # type: ignore[arg-type]
    assert set(scopes(replace(network, decoder=odd), language)) == {"float64", "float32"}
    tiny = replace(
        network.decoder,
        scores=networks.affine(["s"], [({}, 1), ({}, 1), ({"s": 1}, Fraction(-1, 2**20))]),  # type: ignore[arg-type]
    )
    assert set(scopes(replace(network, decoder=tiny), language)) == {"float64", "float32"}


def test_a_gate_of_one_half_is_exact_step_by_step_only() -> None:
    language = last_but(0)
    # h = 0·h + x on both letters would do; a gate 1/2 that meets only the value 0 is not exact in a scan.
    names = networks.letters(language.alphabet)
    template = networks.delay_network(language, 0)
    layer = template.layers[0]
    halved = replace(
        layer,
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
    assert set(found.values()) == {STEP_BY_STEP}
    assert certified(replace(template, layers=(halved,)), language)


def test_reflections_that_swap_are_exact_in_any_order_others_step_by_step() -> None:
    language = find_language("parity")
    template = networks.parity_network(language)
    layer = template.layers[0]

    def reflecting(vector: tuple[int, ...], start: tuple[int, ...]) -> networks.Network:
        width = len(vector)
        state = tuple(f"h{i}" for i in range(width))
        changed = replace(
            layer,
            state=state,
            start=start,
            recurrence=ByChoice.from_factors(
                factors=((), (Factor(beta=2, vector=vector),)), writes=((0,) * width, (0,) * width)
            ),
            readout_units=zero_map(2 + width),
            readout=networks.affine([*layer.reads, *state], [({"h0": 1, "h1": -1}, 0)]),
        )
        return replace(template, layers=(changed,))

    swap = reflecting((1, -1), (1, 0))
    assert set(scopes(swap, language).values()) == {ANY_ORDER}
    assert certified(swap, language)
    # I - 2vvᵀ/4 for v = (1,1,1,1) has entries ±1/2: exact one step at a time, not in products.
    mixing = reflecting((1, -1, -1, 1), (1, 0, 0, 0))
    certificate = certified(mixing, language)
    assert {c.scope for c in certificate.claims[1:]} == {STEP_BY_STEP}


@given(
    st.lists(st.tuples(st.integers(-40, 40), st.sampled_from([1, 2, 4, 8])), min_size=1, max_size=6),
    st.randoms(use_true_random=False),
)
@settings(max_examples=150)
def test_sums_within_the_bound_are_exact_in_numpy_in_every_order(terms, random) -> None:  # type: ignore[no-untyped-def]
    network = read_network(network_to_json(networks.parity_network(find_language("parity"))))
    values = [Fraction(n, d) for n, d in terms]
    meter = Exactness(network)
    meter.sum([(1, v) for v in values], Region({}))
    _, step = meter.lengths("float16")
    if step is not None:
        return
    exact = sum(values, Fraction(0))
    for order in itertools.islice(itertools.permutations(values), 40):
        shuffled = list(order)
        random.shuffle(shuffled)
        parts = [np.float16(float(v)) for v in shuffled]
        while len(parts) > 1:
            i = random.randrange(len(parts) - 1)
            parts[i : i + 2] = [np.float16(parts[i] + parts[i + 1])]
        assert Fraction(float(parts[0])) == exact


def test_groups_of_a_scan_need_more_room_than_single_steps() -> None:
    language = find_language("parity")
    signs = networks.parity_network(language)
    # States ±100 fit 8 bits; the offsets h' - a·h that a scan joins may be four times as large.
    large = replace(signs, layers=(replace(signs.layers[0], start=(100,)),))
    matrices = networks.one_hot_network(language, language.dfa())
    start = tuple(100 * v for v in matrices.layers[0].start)
    larger = replace(matrices, layers=(replace(matrices.layers[0], start=start),))
    for network in (large, larger):
        found = {str(c.dtype): c.scope for c in certified(network, language).claims[1:]}
        assert found["bfloat16"] == STEP_BY_STEP
        assert found["float16"] == ANY_ORDER
        measured = Exactness(read_network(network_to_json(network)))
        search(problem_of(network, language), PREDICT, meter=measured)
        assert measured.lengths("bfloat16") == (-1, None)
        assert measured.lengths("float16") == (None, None)


def problem_of(network: networks.Network, language: networks.Language) -> Problem:
    return Problem(
        network=read_network(network_to_json(network)), language=language, evidence={}, budget=Budget()
    )


def test_terms_of_either_sign_are_bounded() -> None:
    network = read_network(network_to_json(networks.parity_network(find_language("parity"))))
    for terms, fits in (([200, -200], True), ([200, 57], False), ([-200, -57], False), ([256], True)):
        meter = Exactness(network)
        meter.sum([(1, t) for t in terms], Region({}))
        assert (meter.lengths("bfloat16")[1] is None) is fits


def test_a_counter_in_float16_is_right_up_to_its_length_and_wrong_after() -> None:
    language = counter_language("dyck-1")
    certificate = certified(networks.counter_network(language, dead_flag=False), language)
    length = next(c.length for c in certificate.claims if c.dtype == "float16")
    assert isinstance(length, int)
    depth = np.float16(0)
    for _ in range(length):
        depth = np.float16(depth + np.float16(1))
    assert int(depth) == length
    assert np.float16(depth + np.float16(1)) == depth


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@given(numerator=st.integers(-(2**60), 2**60), shift=st.integers(0, 80))
@settings(max_examples=200)
def test_weights_fit_as_numpy_says(dtype: str, numerator: int, shift: int) -> None:
    number = Fraction(numerator, 2**shift)
    info = np.finfo(dtype)
    if number != 0 and not float(info.tiny) <= abs(number) <= float(info.max):
        assert not weights_fit([number], DTYPES[dtype])
        return
    with np.errstate(over="ignore"):
        held = np.dtype(dtype).type(float(number)) if abs(numerator) < 2**53 else None
    if held is not None:
        assert weights_fit([number], DTYPES[dtype]) == (Fraction(float(held)) == number)


def test_powers_that_vanish_or_repeat_are_bounded() -> None:
    assert bounded_powers((((1, 2),), ((2, 3),), ())) == (6, 0)
    assert bounded_powers((((1, 1),), ((0, 1),))) == (1, 0)
    assert bounded_powers((((0, 1), (1, 1)), ((1, 1),))) is None
    assert bounded_powers((((0, Fraction(1, 2)),),)) is None


def test_valid_prefixes_of_bounded_depth_are_exact_at_all_lengths() -> None:
    language = find_language("d-3")
    network = networks.bounded_dyck_network(language)  # type: ignore[arg-type]
    claims = certified(network, language).claims
    assert any(c.task == VALID_PREFIXES and c.scope == ANY_ORDER and c.dtype == "float16" for c in claims)
