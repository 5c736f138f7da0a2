"""Boxes under noise: the published cells, what the search finds, and what the checker refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from nerode.compiler import compile_language
from nerode.kernel import (
    EXACT,
    PREDICT,
    UNDER_NOISE,
    Certificate,
    Refutation,
    certificate_to_json,
    language_claim,
    prove,
)
from nerode.kernel.domains.boxes import noise_claim
from nerode.languages import describe_language, language_hash
from nerode.languages.bestiary import find_language
from nerode.network import network_hash, network_to_json
from nerode.proofs import check
from nerode.proofs.boxes import BOXES as METHOD, certify_boxes
from nerode.proofs.certification import certify
from tests.compiler.robust_cells import (
    RobustCell,
    elman_flip_flop,
    slstm_flip_flop,
    slstm_repeat,
)


def verdict(network, language, certificate):
    """What the independent checker says, after a round trip through JSON."""
    data = (network_to_json(network), describe_language(language), certificate_to_json(certificate))
    return check(*(json.loads(json.dumps(part)) for part in data))


def by_hand(cell: RobustCell, eps: str) -> Certificate:
    """A certificate with the published intervals, which our search had no part in."""
    runs = [[1, [[str(low), str(high)] for low, high in ends]] for ends in cell.intervals]
    stated = {"task": PREDICT, "noise": str(Fraction(eps)), "layers": [runs]}
    return Certificate(
        network=network_hash(cell.network),
        language=language_hash(cell.language),
        claims=(
            language_claim(task=PREDICT, method=METHOD),
            noise_claim(task=PREDICT, method=METHOD, eps=Fraction(eps)),
        ),
        evidence={METHOD: completed(cell.network, cell.language, stated)},
    )


def completed(network, language, stated):
    """The evidence with the cells and the digest of its walk, or with some if it has none."""
    proof = prove(network_to_json(network), describe_language(language), METHOD, stated)
    return {"cells": 2, "digest": "0" * 64, **proof.evidence}


def test_the_published_intervals_of_the_elman_cell_hold_up_to_a_tenth():
    cell = elman_flip_flop()
    assert verdict(cell.network, cell.language, by_hand(cell, "0.1")).ok
    refused = verdict(cell.network, cell.language, by_hand(cell, "0.101"))
    assert not refused.ok
    assert refused.failure is not None


@pytest.mark.parametrize("make", [slstm_flip_flop, slstm_repeat])
def test_the_published_intervals_of_the_slstm_cells_are_closed(make):
    cell = make()
    assert verdict(cell.network, cell.language, by_hand(cell, "0.0005")).ok
    assert not verdict(cell.network, cell.language, by_hand(cell, "0.2")).ok


def test_the_cell_for_two_bits_does_not_work_as_printed():
    cell = slstm_repeat(corrected=False)
    assert not verdict(cell.network, cell.language, by_hand(cell, "0.0000001")).ok
    assert isinstance(certify_boxes(cell.network, cell.language), Refutation)


@pytest.mark.parametrize(
    ("make", "published"),
    [(elman_flip_flop, "0.1"), (slstm_flip_flop, "0.05"), (slstm_repeat, "0.005")],
)
def test_the_search_finds_at_least_the_published_margin(make, published):
    cell = make()
    certificate = certify_boxes(cell.network, cell.language)
    assert isinstance(certificate, Certificate)
    assert [claim.scope for claim in certificate.claims] == [EXACT, UNDER_NOISE]
    assert certificate.claims[1].eps >= Fraction(published)
    assert verdict(cell.network, cell.language, certificate).ok


@pytest.mark.parametrize("target", ["elman-tanh", "elman-relu", "lstm", "gru", "slstm"])
@pytest.mark.parametrize("name", ["parity", "flip-flop", "s3", "tomita-3"])
def test_compiled_cells_have_a_margin_that_the_checker_confirms(name, target):
    language = find_language(name)
    network = compile_language(language, target)
    certificate = certify(network, language)
    assert isinstance(certificate, Certificate)
    (noise,) = [claim for claim in certificate.claims if claim.scope == UNDER_NOISE]
    assert noise.eps > 0
    assert verdict(network, language, certificate).ok


def with_noise(certificate, network, language, factor):
    """The certificate with a larger noise, its walk made right again where there is one."""
    evidence = certificate.evidence[METHOD]
    eps = Fraction(evidence["noise"]) * factor
    stated = {"task": evidence["task"], "noise": str(eps), "layers": evidence["layers"]}
    claims = tuple(
        noise_claim(task=c.task, method=METHOD, eps=eps) if c.scope == UNDER_NOISE else c
        for c in certificate.claims
    )
    return replace(certificate, claims=claims, evidence={METHOD: completed(network, language, stated)})


@pytest.mark.parametrize("target", ["elman-tanh", "lstm", "gru", "slstm"])
def test_a_larger_noise_is_refused(target):
    language = find_language("set-reset")
    network = compile_language(language, target)
    certificate = certify(network, language)
    assert verdict(network, language, with_noise(certificate, network, language, 1)).ok
    assert not verdict(network, language, with_noise(certificate, network, language, 8)).ok


@pytest.mark.parametrize("target", ["elman-tanh", "lstm", "gru", "slstm"])
def test_a_network_for_another_language_is_refuted_with_a_word(target):
    network = compile_language(find_language("tomita-5"), target)
    other = find_language("tomita-4")
    found = certify_boxes(network, other)
    assert isinstance(found, Refutation)
    state = other.initial()
    for symbol in found.word[: found.at]:
        state = other.advance(state, tuple(other.alphabet).index(symbol))
    assert list(found.expected) == other.legal(state).names(other.alphabet)
    assert found.got != found.expected
