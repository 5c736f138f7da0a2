"""Groups by one reflection per letter, a block later."""

from dataclasses import replace

import pytest

from nerode.compiler import Options, compile_language
from nerode.compiler.constructions.blocks import BLOCKS
from nerode.core import NotCompilable
from nerode.kernel import Certificate
from nerode.languages.bestiary import find_language
from nerode.network import Network
from nerode.proofs import certify
from tests.compiler.agreement import assert_does, first_disagreement


def blocks(name: str, target: str = "deltanet-signed", **options: bool) -> Network:
    return compile_language(find_language(name), target, Options(construction=BLOCKS.name, **options))


GROUPS = [("s3", 2, 5), ("a5-generators", 2, 5), ("s5-generators", 4, 9), ("z3", 2, 5)]


@pytest.mark.parametrize(("name", "length", "depth"), GROUPS)
def test_groups_have_networks_with_one_factor_per_letter(name: str, length: int, depth: int) -> None:
    network = blocks(name)
    assert f"blocks of {length} letters" in network.origin.route
    assert network.depth == depth
    assert all(layer.recurrence.most_factors in (None, 1) for layer in network.layers)
    assert_does(network, name, short=7, long=200)


@pytest.mark.parametrize("target", ["gated-deltanet-signed", "complex-kda", "ttt-linear", "rwkv-7-signed"])
def test_the_first_construction_for_a_group_that_is_not_solvable_is_this_one(target: str) -> None:
    network = compile_language(find_language("a5-generators"), target)
    assert network.origin.construction == BLOCKS.name


def test_every_length_is_proved() -> None:
    network = blocks("z3", exact_floats=True)
    certificate = certify(network, find_language("z3"))
    assert isinstance(certificate, Certificate)
    assert {c.dtype for c in certificate.claims if c.length == "all"} >= {None, "float32"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a5-generators", "s5-generators"])
def test_every_length_of_larger_groups_is_proved(name: str) -> None:
    certificate = certify(blocks(name), find_language(name))
    assert isinstance(certificate, Certificate)
    assert any(c.length == "all" for c in certificate.claims)


def test_a_reflection_out_of_place_is_noticed() -> None:
    network, language = blocks("z3"), find_language("z3")
    layer = next(x for x in network.layers if x.recurrence.most_factors == 1)
    (idle, *factors) = layer.recurrence.fields()["factors"]
    table = replace(layer.recurrence.table, factors=(idle, *reversed(factors)))
    planted = replace(layer, recurrence=replace(layer.recurrence, table=table))
    layers = tuple(planted if x is layer else x for x in network.layers)
    assert first_disagreement(replace(network, layers=layers), language, short=7, long=50) is not None


def test_too_many_products_are_refused() -> None:
    with pytest.raises(NotCompilable, match="more than 10,000 products"):
        blocks("s5")
