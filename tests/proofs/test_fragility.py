from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from nerode.languages import Language, describe_language
from nerode.languages.bestiary import find_language
from nerode.network import Network, network_to_json
from nerode.proofs.certificate import Certificate, certificate_to_json, extend
from nerode.proofs.checker import check
from nerode.proofs.exact import certify_exact
from nerode.proofs.fragility import METHOD, Fragility, find_fragility
from tests.proofs import networks
from tests.proofs.test_windows import last_but

SIZES = (Fraction(1, 10), Fraction(1, 100))


def checked(network: Network, language: Language, fragility: Fragility) -> bool:
    certificate = certify_exact(network, language)
    assert isinstance(certificate, Certificate)
    more = extend(certificate, fragility.claims(SIZES), METHOD, fragility.evidence)
    return check(network_to_json(network), describe_language(language), certificate_to_json(more)).ok


def test_a_set_reset_bit_repeats_errors_for_ever() -> None:
    language = find_language("set-reset")
    network = networks.set_reset_network(language)
    found = find_fragility(network, language)
    assert found is not None
    assert (found.layer, found.identity, found.gap) == (1, ("h",), 1)
    claims = found.claims(SIZES)
    assert [c.eps for c in claims] == [None, *SIZES]
    assert "25 readings" in claims[1].covers
    assert "2500 readings" in claims[2].covers
    assert checked(network, language, found)


@pytest.mark.parametrize("name", ["parity", "z3", "dyck-1", "tomita-3"])
def test_sums_signs_and_rotations_repeat_errors_too(name: str) -> None:
    language = find_language(name)
    make = {
        "parity": networks.parity_network,
        "z3": lambda other: networks.cyclic_network(other, 3),
        "dyck-1": networks.counter_network,
        "tomita-3": lambda other: networks.one_hot_network(other, other.dfa()),
    }[name]
    network = make(language)  # type: ignore[operator]
    found = find_fragility(network, language)
    assert found is not None
    assert checked(network, language, found)


def test_a_network_that_forgets_is_not_fragile() -> None:
    language = last_but(2)
    assert find_fragility(networks.delay_network(language, 2), language) is None


def test_wrong_proofs_are_refused() -> None:
    language = find_language("set-reset")
    network = networks.set_reset_network(language)
    found = find_fragility(network, language)
    assert found is not None
    for change in (
        {"identity": ("0",)},
        {"identity": ()},
        {"second": found.first},
        {"layer": 2},
        {"layer": 0},
        {"gap": found.gap * 2},
        {"first": ("x",)},
    ):
        assert not checked(network, language, replace(found, **change))
    parity = find_language("z3")
    rotating = networks.cyclic_network(parity, 3)
    turned = find_fragility(rotating, parity)
    assert turned is not None
    # After 1 and 2 the end is illegal both times: the word that tells them apart is needed.
    same = replace(turned, first=("1",), second=("2",), apart=())
    assert not checked(rotating, parity, same)


def test_the_expected_number_of_readings_is_that_of_a_random_walk() -> None:
    rng = np.random.default_rng(7)
    walks = np.cumsum(rng.choice([-1, 1], size=(4000, 600)), axis=1)
    first = np.argmax(np.abs(walks) >= 5, axis=1) + 1
    # gap 1, eps 1/10: five steps to the middle, 25 readings in expectation.
    assert abs(first.mean() - 25) < 1.5
