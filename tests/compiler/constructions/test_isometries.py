"""Networks whose every step is an isometry, and networks without any memory."""

from __future__ import annotations

import itertools

import pytest

from nerode.compiler import compile_language
from nerode.core import NotCompilable
from nerode.kernel import Certificate
from nerode.languages import resolve_language
from nerode.network import Network
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


@pytest.mark.parametrize("text", ["set-reset", "dyck-2"])
@pytest.mark.parametrize("to", ["aussm", "orthogonal"])
def test_what_only_growing_numbers_do_is_not_compiled(text: str, to: str) -> None:
    with pytest.raises(NotCompilable) as refusal:
        compile_language(resolve_language(text), to)
    assert any("no float format carries it" in reason for reason in refusal.value.reasons)


@pytest.mark.parametrize("text", ["anbn", "anbncn"])
def test_counters_of_isometries_know_the_last_letter_by_what_was_seen(text: str) -> None:
    network = compile_language(resolve_language(text), "aussm")
    assert_does(network, text, short=6, long=30)
    for layer in network.layers:
        gated = layer.recurrence.as_gated()
        assert gated is not None
        assert not any(gated.gate.rows)
        assert set(gated.gate.bias) == {1}
