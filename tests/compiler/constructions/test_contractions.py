"""Every regular language by contractions, in exact arithmetic: proved for every length."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from nerode.compiler import compile_language
from nerode.compiler.constructions.contractions import minus_one
from nerode.kernel import PREDICT, Certificate
from nerode.languages.bestiary import find_language
from nerode.network import ByChoice, Factor, Network
from nerode.proofs import certify
from nerode.proofs.invariants import ray_cover
from nerode.proofs.proving import Prover
from tests.compiler.agreement import assert_does

METHOD = "ray-closure"


def contractions(name: str) -> Network:
    network = compile_language(find_language(name), "deltaproduct")
    assert network.origin.construction == "contractions"
    return network


def factors_of(network: Network) -> tuple[tuple[Factor, ...], ...]:
    (layer,) = network.layers
    found: tuple[tuple[Factor, ...], ...] = layer.recurrence.fields()["factors"]
    return found


@pytest.mark.parametrize("name", ["parity", "z3", "s3", "tomita-3", "t3", "abab-star"])
def test_all_words_of_all_lengths_are_proved(name: str) -> None:
    network = contractions(name)
    assert all(0 <= f.beta <= 1 for product in factors_of(network) for f in product)
    certificate = certify(network, find_language(name))
    assert isinstance(certificate, Certificate), certificate
    assert [(c.method, c.task, c.length, c.dtype) for c in certificate.claims] == [
        (METHOD, PREDICT, "all", None)
    ]


@pytest.mark.parametrize("name", ["z3", "tomita-3"])
def test_the_network_does_the_language(name: str) -> None:
    assert_does(contractions(name), name, short=5, long=12)


@pytest.mark.parametrize("square", [1, 2, 3, 5, 30])
def test_three_contractions_twice_are_minus_one(square: int) -> None:
    three, share = minus_one(square)
    assert all(0 < left < 1 for _, left in three)
    for start in ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))):
        x, z = start
        for height, left in (*three, *three):
            amount = (1 - left) * (square * x + height * z) / (square + height * height)
            x, z = x - amount, z - amount * height
        assert (x, z) == (-share * start[0], -share * start[1])


def changed(network: Network, letter: int, factor: int, beta: Fraction) -> Network:
    (layer,) = network.layers
    products = [list(product) for product in factors_of(network)]
    products[letter][factor] = replace(products[letter][factor], beta=beta)
    writes = ((0,) * layer.width,) * len(products)
    recurrence = ByChoice.from_factors(factors=tuple(map(tuple, products)), writes=writes)
    return replace(network, layers=(replace(layer, recurrence=recurrence),))


@pytest.mark.parametrize("factor", [0, 3, -1])
def test_a_factor_that_shrinks_too_much_is_refused(factor: int) -> None:
    network = contractions("z3")
    broken = changed(network, 1, factor, Fraction(999, 1000))
    cover = {"task": PREDICT, **(ray_cover(network) or {})}
    assert not isinstance(certify(broken, find_language("z3")), Certificate)
    assert not isinstance(Prover(broken, find_language("z3")).certify(METHOD, [cover]), Certificate)


@pytest.mark.parametrize(
    "change", [{"rays": []}, {"rays": [["1:q=0"]]}, {"rays": [["1:q=0", "1:q=1"], ["1:q=2", "1:scale"]]}]
)
def test_wrong_evidence_is_refused(change: dict[str, object]) -> None:
    network = contractions("tomita-3")
    cover = {"task": PREDICT, **(ray_cover(network) or {}), **change}
    assert not isinstance(Prover(network, find_language("tomita-3")).certify(METHOD, [cover]), Certificate)
