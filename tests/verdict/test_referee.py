"""The commands at the end of the referee's report, with the corrected answers."""

from __future__ import annotations

import pytest

from nerode.compiler import compile_language
from nerode.languages import resolve_language
from nerode.verdict.records import Verdict
from tests.verdict.tables import table


def verdict(text: str, architecture: str, sense: str = "finite-precision") -> Verdict:
    return table(text)[architecture, sense]


@pytest.mark.parametrize("text", ["parity", "(aa)*"])
def test_w1_rwkv7_has_no_gate_of_minus_one(text: str) -> None:
    assert verdict(text, "rwkv-7").status == "no"
    assert verdict(text, "rwkv-7", "exact").status == "yes"
    assert verdict(text, "rwkv-7-signed").status == "yes"


def test_w2_softmax_with_positions_computes_parity() -> None:
    found = verdict("parity", "transformer", "exact")
    assert found.status == "yes"
    assert "position" in found.conditional_on


@pytest.mark.parametrize("architecture", ["mamba", "mamba-2", "mamba-signed", "deltanet-signed"])
def test_w3_mamba_and_reflections_count(architecture: str) -> None:
    found = verdict("dyck-1", architecture)
    assert found.status == "yes"
    assert "vanish" not in found.reason


def test_w4_bounded_dyck_by_attention_needs_more_bits() -> None:
    """Positions i/n with O(log n) bits say nothing at finite precision; counting brackets by depth does."""
    finite = verdict("dyck-2-3", "transformer")
    assert "bounded-dyck-attention" not in (finite.theorem, *finite.also)
    assert (finite.status, finite.theorem) == ("yes", "rotary-counts")
    exact = verdict("dyck-2-3", "transformer", "exact")
    assert "bounded-dyck-attention" in (exact.theorem, *exact.also)


def test_w5_contractions_turn_over_the_reals_alone() -> None:
    found = verdict("z3", "deltaproduct")
    assert (found.status, found.theorem) == ("no", "delta-rule-nonnegative")
    assert "Theorem 1" not in str(found.reference)
    assert verdict("z3", "deltaproduct", "exact").status == "yes"


def test_w6_unitary_gates_do_not_overwrite() -> None:
    found = verdict("set-reset", "aussm")
    assert found.status == "no"
    assert "angles are rational" in found.conditional_on
    assert verdict("set-reset", "complex-diagonal").status == "yes"
    exact = verdict("set-reset", "aussm", "exact")  # with 3ᵗ as a map between layers
    assert (exact.status, exact.theorem) == ("yes", "exact-growing-registers")


@pytest.mark.parametrize("architecture", ["transformer", "retnet"])
def test_w7_the_universal_language_needs_no_memory(architecture: str) -> None:
    for sense in ("exact", "finite-precision", "ieee"):
        assert verdict("(a|b)*", architecture, sense).status == "yes"


def test_w8_the_position_decides() -> None:
    for sense in ("exact", "finite-precision", "ieee"):
        assert verdict("(abab)*", "s4d", sense).status == "yes"


@pytest.mark.parametrize(
    ("text", "architecture", "sense"),
    [("(aa)*", "s4d", "ieee"), ("dyck-1", "gla", "exact"), ("majority", "gla", "finite-precision")],
)
def test_what_compiles_is_a_yes(text: str, architecture: str, sense: str) -> None:
    assert verdict(text, architecture, sense).status == "yes"
    assert compile_language(resolve_language(text), architecture).depth >= 1


def test_no_unless_a_conjecture_fails_says_so() -> None:
    found = verdict("s5", "transformer")
    assert "unless TC0 = NC1" in found.reason
    assert found.mark.startswith("✗°")
