"""Networks whose every step is an isometry, and networks without any memory."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from nerode.compiler import Options, compile_language
from nerode.core import NotCompilable
from nerode.kernel import VALID_PREFIXES, Certificate, Refutation
from nerode.languages import resolve_language
from nerode.network import Gated, Network, zero_map
from nerode.proofs import certify
from tests.compiler.agreement import assert_does


def proved(text: str, to: str) -> Network:
    language = resolve_language(text)
    network = compile_language(language, to)
    found = certify(network, language)
    assert isinstance(found, Certificate), found
    assert any(claim.length == "all" and claim.dtype is None for claim in found.claims)
    return network


@pytest.mark.parametrize("to", ["aussm", "orthogonal"])
@pytest.mark.parametrize(
    ("text", "construction"),
    [
        ("tomita-7", "once-flags"),
        ("first", "once-flags"),
        ("tomita-2", "letter"),
        ("last-letter", "letter"),
        ("d-3", "bounded-depth"),
        ("dyck-2-3", "bounded-dyck-ledger"),
    ],
)
def test_gates_of_modulus_one(text: str, construction: str, to: str) -> None:
    network = proved(text, to)
    assert network.origin.construction == construction
    for layer in network.layers:
        gated = layer.recurrence.as_gated()
        assert gated is not None
        assert not any(gated.gate.rows)
        assert set(gated.gate.bias) == {1}


@pytest.mark.parametrize("to", ["aussm", "orthogonal"])
@pytest.mark.parametrize("text", ["flip-flop", "tomita-3", "u2", pytest.param("t3", marks=pytest.mark.slow)])
def test_registers_that_grow(text: str, to: str) -> None:
    network = proved(text, to)
    assert network.origin.construction == "growing-registers"
    assert_does(network, text, short=4, long=60)


def test_a_register_whose_writes_do_not_grow_is_refuted() -> None:
    language = resolve_language("set-reset")
    network = compile_language(language, "aussm")
    powers = network.layers[1]
    assert isinstance(powers.recurrence, Gated)
    constant = replace(powers.recurrence, write=zero_map(powers.recurrence.write.num_inputs, 1))
    wrong = replace(
        network, layers=(network.layers[0], replace(powers, recurrence=constant), network.layers[2])
    )
    found = certify(wrong, language)
    assert isinstance(found, Refutation), found


@pytest.mark.parametrize("text", ["z2xz2", "s3", "q8"])
def test_solvable_groups_by_turns_alone(text: str) -> None:
    network = proved(text, "aussm")
    assert network.origin.construction == "unitary-cascade"
    for layer in network.layers:
        assert layer.recurrence.as_gated() is not None


@pytest.mark.parametrize("text", ["tomita-6", "s3", "cycle-navigation"])
def test_rotations_have_determinant_one(text: str) -> None:
    network = proved(text, "orthogonal")
    assert network.origin.construction == "rotations"
    (layer,) = network.layers
    for letter in range(len(network.alphabet)):
        transition = layer.recurrence.transition((), letter)
        assert transition is not None
        assert _determinant([dict(row) for row in transition[0]]) == 1


def _determinant(rows: list[dict[int, object]]) -> object:
    total = 0
    for order in itertools.permutations(range(len(rows))):
        product = (-1) ** sum(a > b for a, b in itertools.combinations(order, 2))
        for row, column in zip(rows, order, strict=True):
            product *= row.get(column, 0)  # type: ignore[assignment, operator]
        total += product
    return total


def test_retnet_needs_no_memory_where_the_letter_decides() -> None:
    assert proved("(a|b)*", "retnet").depth == 0


def test_isometries_do_not_overwrite_but_by_growing_writes() -> None:
    with pytest.raises(NotCompilable):
        compile_language(resolve_language("set-reset"), "aussm", Options(construction="star-free"))
    proof = certify(compile_language(resolve_language("set-reset"), "aussm"), resolve_language("set-reset"))
    assert isinstance(proof, Certificate)
    assert [(claim.method, claim.dtype) for claim in proof.claims] == [("growing-closure", None)]


@pytest.mark.parametrize("to", ["aussm", "orthogonal"])
def test_brackets_that_weigh_powers_of_their_depth(to: str) -> None:
    network = proved("dyck-2", to)
    assert network.origin.construction == "power-stack"
    assert_does(network, "dyck-2", short=6, long=60)
    # With the kinds told apart at another share the innermost bracket is not known.
    stack = network.layers[1]
    units = stack.readout_units
    for i, row in enumerate(units.rows):
        moved = tuple((j, c + 3 if j == 0 else c) for j, c in row)
        changed = replace(units, rows=(*units.rows[:i], moved, *units.rows[i + 1 :]))
        layers = (network.layers[0], replace(stack, readout_units=changed), network.layers[2])
        found = certify(replace(network, layers=layers), resolve_language("dyck-2"))
        assert not isinstance(found, Certificate) or found.claims[0].task == VALID_PREFIXES


@pytest.mark.parametrize("text", ["anbn", "anbncn"])
def test_counters_of_isometries_know_the_last_letter_by_what_was_seen(text: str) -> None:
    network = compile_language(resolve_language(text), "aussm")
    assert_does(network, text, short=6, long=30)
    for layer in network.layers:
        gated = layer.recurrence.as_gated()
        assert gated is not None
        assert not any(gated.gate.rows)
        assert set(gated.gate.bias) == {1}
