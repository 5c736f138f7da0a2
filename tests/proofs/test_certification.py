from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given

from nerode.compiler import compile_language
from nerode.core import Budget, BudgetExceeded, InputError
from nerode.kernel import (
    ANY_ORDER,
    EXACT,
    PREDICT,
    RECOGNISE,
    VALID_PREFIXES,
    Certificate,
    Refutation,
    certificate_to_json,
    content_hash,
)
from nerode.languages import Dfa, Language, Legal, RegularLanguage, describe_language
from nerode.languages.bestiary import find_language
from nerode.network import (
    ByChoice,
    Gated,
    LogitDecoder,
    Network,
    PointDecoder,
    Squashed,
    network_to_json,
    zero_map,
)
from nerode.proofs import CheckResult, Unproved, check
from nerode.proofs.certification import certify_exact
from tests.proofs import networks
from tests.proofs.brute_force import first_failure
from tests.strategies import dfas


def recheck(network: Network, language: Language, certificate: Certificate) -> CheckResult:
    """Through JSON text, as a folder would."""
    parts = (network_to_json(network), describe_language(language), certificate_to_json(certificate))
    return check(*(json.loads(json.dumps(part)) for part in parts))


def certified(network: Network, language: Language, **options: str) -> Certificate:
    certificate = certify_exact(network, language, **options)  # type: ignore[arg-type]
    assert isinstance(certificate, Certificate)
    result = recheck(network, language, certificate)
    assert result.ok, result.failure
    assert result.claims == certificate.claims
    return certificate


def refuted(network: Network, language: Language, longest: int = 6) -> Refutation:
    """The refutation, which must be the first failure that brute force finds."""
    refutation = certify_exact(network, language, task=PREDICT)
    assert isinstance(refutation, Refutation)
    found = first_failure(network, language, longest)
    assert found is not None
    word, expected, got = found
    assert refutation.at == len(word)
    assert refutation.word == tuple(language.alphabet.symbols[a] for a in word)
    assert refutation.expected == tuple(expected.names(language.alphabet))
    assert refutation.got == tuple(got.names(language.alphabet))
    return refutation


def regular(dfa: Dfa) -> RegularLanguage:
    return RegularLanguage(name="random", automaton=dfa, convention="a random automaton")


def test_parity_by_a_sign() -> None:
    language = find_language("parity")
    certificate = certified(networks.parity_network(language), language)
    assert certificate.claims[0].scope == EXACT
    assert certificate.claims[0].task == PREDICT
    assert certificate.evidence["joint-closure"]["cells"] == 2
    exact_in = {claim.dtype for claim in certificate.claims if claim.scope == ANY_ORDER}
    assert exact_in == {"float64", "float32", "bfloat16", "float16"}
    assert len(json.dumps(certificate_to_json(certificate))) < 4_000


@pytest.mark.parametrize(("name", "order"), [("z3", 3), ("z12", 12)])
def test_cyclic_groups_by_roots_of_unity(name: str, order: int) -> None:
    language = find_language(name)
    certificate = certified(networks.cyclic_network(language, order), language)
    assert certificate.evidence["joint-closure"]["cells"] == order
    assert all(claim.dtype is None for claim in certificate.claims)


def test_the_fourth_roots_of_unity_are_exact_in_floats() -> None:
    dfa = Dfa.build("0123", lambda q, s: (q + int(s)) % 4, start=0, accept=[0])
    language = regular(dfa)
    certificate = certified(networks.cyclic_network(language, 4), language)
    assert any(claim.scope == ANY_ORDER and claim.dtype == "bfloat16" for claim in certificate.claims)


@given(dfas(max_states=5, max_letters=2))
def test_one_hot_networks_of_random_automata(dfa: Dfa) -> None:
    language = regular(dfa)
    network = networks.one_hot_network(language, language.automaton)
    certificate = certified(network, language)
    assert certificate.evidence["joint-closure"]["cells"] == len(language.automaton.breadth_first)


@given(dfas(max_states=4, max_letters=2), dfas(max_states=4, max_letters=2))
def test_a_network_for_another_language_is_refuted_by_the_first_word(one: Dfa, other: Dfa) -> None:
    if tuple(one.alphabet) != tuple(other.alphabet):
        return
    language, wrong = regular(one), regular(other)
    network = networks.one_hot_network(wrong, wrong.automaton)
    if language.automaton == wrong.automaton:
        certified(network, language)
    else:
        refuted(network, language, longest=9)


def test_a_wrong_start_is_refuted_before_any_letter() -> None:
    language = find_language("parity")
    network = networks.parity_network(language)
    decoder = replace(network.decoder, empty=Legal(frozenset({0, 1}), False))
    refutation = refuted(replace(network, decoder=decoder), language)
    assert refutation.word == ()


def test_a_wrong_gate_is_refuted() -> None:
    language = find_language("parity")
    network = networks.parity_network(language)
    layer = network.layers[0]
    names = list(layer.reads)
    wrong = replace(layer, recurrence=Gated(gate=networks.affine(names, [({}, 1)]), write=zero_map(2, 1)))
    assert refuted(replace(network, layers=(wrong,)), language).word == ("1",)


def test_a_tie_between_points_with_different_answers_is_no_answer() -> None:
    language = find_language("z3")
    network = networks.cyclic_network(language, 3)
    assert isinstance(network.decoder, PointDecoder)
    points = (*network.decoder.points[:2], network.decoder.points[0])
    tied = replace(network, decoder=replace(network.decoder, points=points))
    data = network_to_json(tied)
    certificate = {**certificate_to_json(certified(network, language)), "network": content_hash(data)}
    result = check(data, describe_language(language), certificate)
    assert not result.ok
    assert result.failure is not None
    assert "equally near" in result.failure.what


def test_valid_prefixes_only_when_dead_ones_are_wrong() -> None:
    language = find_language("ab-star")
    dfa = language.dfa()
    revived = dfa.transitions.copy()
    dead = next(q for q in range(dfa.num_states) if not dfa.live[q])
    revived[dead] = dfa.start
    forgiving = Dfa(alphabet=dfa.alphabet, transitions=revived, start=dfa.start, accepting=dfa.accepting)
    # The decoder still says that nothing may follow the dead state, but one letter more and it is forgotten.
    network = networks.one_hot_network(language, dfa)
    network = replace(
        network,
        layers=(replace(network.layers[0], recurrence=_matrices(forgiving)),),
    )
    assert isinstance(certify_exact(network, language, task=PREDICT), Refutation)
    certificate = certified(network, language)
    assert {claim.task for claim in certificate.claims} == {VALID_PREFIXES}


def _matrices(dfa: Dfa) -> ByChoice:
    wanted = networks.one_hot_network(regular(dfa), dfa).layers[0].recurrence
    assert isinstance(wanted, ByChoice)
    return wanted


def test_recognition_only_looks_at_the_end() -> None:
    language = find_language("ab-star")
    network = networks.one_hot_network(language, language.dfa())
    scores = network.decoder.scores  # type: ignore[union-attr]
    silent = replace(scores, rows=((), (), scores.rows[2]), bias=(0, 0, scores.bias[2]))
    decoder = replace(network.decoder, scores=silent, empty=Legal(frozenset(), True))  # type: ignore[arg-type]
    mute = replace(network, decoder=decoder)
    assert isinstance(certify_exact(mute, language), Refutation)
    certificate = certified(mute, language, task=RECOGNISE)
    assert {claim.task for claim in certificate.claims} == {RECOGNISE}


@pytest.mark.parametrize("activation", ["clip", "relu"])
def test_an_elman_network_of_straight_pieces_is_exact(activation: str) -> None:
    language = find_language("parity")
    network = networks.parity_network(language)
    layer = network.layers[0]
    # |h - x| for bits h and x is their sum modulo 2; the two units are its two straight pieces.
    pieces = [({"h0": 1, "h1": 1, "x=1": -1}, 0), ({"h0": -1, "h1": -1, "x=1": 1}, 0)]
    squashed = replace(
        layer,
        state=("h0", "h1"),
        start=(0, 0),
        recurrence=Squashed(
            activation=activation, update=networks.affine([*layer.reads, "h0", "h1"], pieces)
        ),
        readout_units=zero_map(4),
        readout=networks.affine([*layer.reads, "h0", "h1"], [({"h0": -1, "h1": -1}, 1)]),
    )
    certified(replace(network, layers=(squashed,)), language)
    broken = replace(squashed, start=(1, 0))
    refuted(replace(network, layers=(broken,)), language)


def test_other_kinds_of_networks_are_sent_elsewhere() -> None:
    language = find_language("parity")
    network = networks.parity_network(language)
    layer = network.layers[0]
    update = networks.affine([*layer.reads, "sign"], [({"sign": 1}, 0)])
    smooth = replace(layer, recurrence=Squashed(activation="tanh", update=update))
    with pytest.raises(InputError, match="tanh"):
        certify_exact(replace(network, layers=(smooth,)), language)
    logits = LogitDecoder(reads=("s",), normaliser="hardmax", rows=((), (), ()), empty=network.decoder.empty)
    with pytest.raises(InputError, match="logits"):
        certify_exact(replace(network, decoder=logits), language)


def test_a_network_over_another_alphabet_is_refused() -> None:
    with pytest.raises(InputError, match="alphabet"):
        certify_exact(networks.parity_network(find_language("parity")), find_language("ab-star"))


def test_too_many_configurations_are_a_budget_error() -> None:
    language = find_language("tomita-7")
    network = networks.one_hot_network(language, language.dfa())
    with pytest.raises(BudgetExceeded, match="elements"):
        certify_exact(network, language, budget=Budget(elements=3))


@pytest.mark.parametrize("overwrite", [0, Fraction(1, 4), Fraction(27, 100)])
def test_registers_that_fade_are_proved_by_intervals(overwrite: Fraction | int) -> None:
    language = find_language("set-reset")
    certificate = certified(networks.set_reset_network(language, overwrite=overwrite), language)
    method = "joint-closure" if overwrite == 0 else "interval-closure"
    assert certificate.claims[0].method == method
    assert certificate.claims[0].scope == EXACT


def test_a_register_that_fades_too_slowly_is_refuted_or_unproved() -> None:
    language = find_language("set-reset")
    # After 1 1 0 the register holds (1 + 3/4)·3/4 = 21/16, which still reads as set.
    answer = certify_exact(networks.set_reset_network(language, overwrite=Fraction(3, 4)), language)
    assert isinstance(answer, Refutation)
    assert answer.word[-1] == "0"
    assert not isinstance(answer, Unproved)


@pytest.mark.parametrize("target", ["orthogonal", "aussm"])
def test_a_word_outside_the_valid_prefixes_does_not_refute_what_is_open_on_them(target: str) -> None:
    language = find_language("dyck-8-10")
    network = compile_language(language, target)
    assert "only for prefixes of valid words" in network.origin.route
    answer = certify_exact(network, language)
    assert isinstance(answer, Unproved)
    assert "after 1), with which no word begins" in answer.reason
    # With a score that is never positive it is wrong on the empty prefix of every word.
    scores = network.decoder.scores
    wrong = replace(scores, bias=tuple(b - 100 for b in scores.bias))
    answer = certify_exact(replace(network, decoder=replace(network.decoder, scores=wrong)), language)
    assert isinstance(answer, Refutation)
    assert answer.word == ("(1",)
