"""The commands of a second referee's report, with the mended answers; docs/theory has the arguments."""

from __future__ import annotations

import pytest

from nerode.verdict.records import Verdict
from tests.verdict.tables import table

FINITE = "finite-precision"


def verdict(text: str, architecture: str, sense: str = FINITE, task: str = "recognise") -> Verdict:
    return table(text, task)[architecture, sense]


@pytest.mark.parametrize("text", ["dyck-2", "dyck-3", "dyck-5"])
def test_w1_steps_that_bring_states_apart_keep_a_stack(text: str) -> None:
    for architecture in ("rwkv-7-signed", "ttt-linear"):
        assert verdict(text, architecture, task="predict").status == "yes"
        assert verdict(text, architecture).status == "open"
    for task in ("predict", "recognise"):
        assert verdict(text, "rwkv-7", task=task).status == "open"
        assert verdict(text, "ids4", task=task).status == verdict(text, "slice", task=task).status == "yes"


@pytest.mark.parametrize("architecture", ["mingru", "hgrn2", "griffin", "deltanet", "gated-deltanet"])
def test_w4_tied_writes_count(architecture: str) -> None:
    for task in ("predict", "recognise"):
        found = verdict("dyck-1", architecture, task=task)
        assert (found.mark, found.theorem) == ("✓†·", "counters-tied-writes")
        assert verdict("dyck-2", architecture, task=task).status == "no"
    assert verdict("dyck-1", "gru").status == verdict("dyck-1", "retnet").status == "no"


def test_t5_ttt_does_every_regular_language_in_floats_without_a_network() -> None:
    for text in ("z3", "a5-generators"):
        assert verdict(text, "ttt-linear", "ieee").mark == "✓†·"


@pytest.mark.parametrize("text", ["(ab)*", "d-3", "d-12", "dyck-2-3"])
def test_w2_bounded_sums_are_exact_in_order(text: str) -> None:
    for architecture in ("transformer-nope", "transformer-alibi", "transformer", "transformer-periodic"):
        assert verdict(text, architecture, "ieee").status == "yes"


def test_w5_sums_in_order_leave_no_assumption_behind() -> None:
    for text in ("flip-flop", "set-reset"):
        assert verdict(text, "transformer-alibi", "ieee").mark == "✓†·"
        assert verdict(text, "transformer-nope", "ieee").status == "open"
    for architecture in ("transformer-nope", "transformer-alibi", "mamba-attention", "transformer-periodic"):
        for sense in ("ieee", FINITE):
            found = verdict("parity", architecture, sense)
            assert (found.status, found.conditional_on, found.assumptions) == ("no", "", ())
    for text in ("parity", "dyck-1"):
        assert verdict(text, "transformer", "ieee").mark.startswith("✗°")
    assert "maps between layers" in verdict("a5", "transformer-nope", "exact").conditional_on
