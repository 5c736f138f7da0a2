"""Linear layers that repeat errors: words that show it, and no wrong ones accepted."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from nerode.kernel import FRAGILE, Certificate, certificate_to_json
from nerode.languages import Language, describe_language
from nerode.languages.bestiary import find_language
from nerode.network import Network, network_to_json
from nerode.proofs import Unproved, check, find_fragile_words
from nerode.proofs.windows import IDENTITY_WORD
from tests.proofs import networks
from tests.proofs.test_windows import last_but

SIZES = (Fraction(1, 10), Fraction(1, 100))


def fragile(network: Network, language: Language) -> Certificate:
    found = find_fragile_words(network, language, sizes=SIZES)
    assert isinstance(found, Certificate)
    assert is_accepted(network, language, found)
    return found


def is_accepted(network: Network, language: Language, certificate: Certificate) -> bool:
    return check(network_to_json(network), describe_language(language), certificate_to_json(certificate)).ok


def with_evidence(certificate: Certificate, **change: Any) -> Certificate:
    return replace(certificate, evidence={IDENTITY_WORD: {**certificate.evidence[IDENTITY_WORD], **change}})


def test_a_set_reset_bit_repeats_errors_for_ever() -> None:
    language = find_language("set-reset")
    found = fragile(networks.set_reset_network(language), language)
    evidence = found.evidence[IDENTITY_WORD]
    assert (evidence["layer"], evidence["identity"]) == (1, ["h"])
    assert [(c.task, c.eps) for c in found.claims] == [(FRAGILE, eps) for eps in (None, *SIZES)]
    assert "25 readings" in found.claims[1].covers
    assert "2500 readings" in found.claims[2].covers


@pytest.mark.parametrize("name", ["parity", "z3", "dyck-1", "tomita-3"])
def test_sums_signs_and_rotations_repeat_errors_too(name: str) -> None:
    language = find_language(name)
    make = {
        "parity": networks.parity_network,
        "z3": lambda other: networks.cyclic_network(other, 3),
        "dyck-1": networks.counter_network,
        "tomita-3": lambda other: networks.one_hot_network(other, other.dfa()),
    }[name]
    fragile(make(language), language)  # type: ignore[operator]


def test_a_network_that_forgets_is_not_fragile() -> None:
    language = last_but(2)
    assert isinstance(find_fragile_words(networks.delay_network(language, 2), language), Unproved)


def test_wrong_proofs_are_refused() -> None:
    language = find_language("set-reset")
    network = networks.set_reset_network(language)
    found = fragile(network, language)
    for change in (
        {"identity": ["0"]},
        {"identity": []},
        {"second": found.evidence[IDENTITY_WORD]["first"]},
        {"layer": 2},
        {"layer": 0},
        {"first": ["x"]},
    ):
        assert not is_accepted(network, language, with_evidence(found, **change))
    sooner = replace(found.claims[1], covers=found.claims[1].covers.replace("25 readings", "24 readings"))
    assert not is_accepted(network, language, replace(found, claims=(found.claims[0], sooner)))
    z3 = find_language("z3")
    rotating = networks.cyclic_network(z3, 3)
    # After 1 and 2 the end is illegal both times: the word that tells them apart is needed.
    same = with_evidence(fragile(rotating, z3), first=["1"], second=["2"], apart=[])
    assert not is_accepted(rotating, z3, same)


def test_the_expected_number_of_readings_is_that_of_a_random_walk() -> None:
    rng = np.random.default_rng(7)
    walks = np.cumsum(rng.choice([-1, 1], size=(4000, 600)), axis=1)
    first = np.argmax(np.abs(walks) >= 5, axis=1) + 1
    # gap 1, eps 1/10: five steps to the middle, 25 readings in expectation.
    assert abs(first.mean() - 25) < 1.5
