"""Verdicts about attention: what the tests on components say, by sense and task, and how far floats reach."""

from __future__ import annotations

import pytest

from nerode.languages.bestiary import find_language
from nerode.verdict import decide

NAMES = [
    "transformer-nope",
    "transformer-alibi",
    "transformer-periodic",
    "transformer-hard",
    "mamba-attention",
]


def answers(name, task, sense):
    table = decide(find_language(name), architectures=NAMES, task=task)
    return {n.removeprefix("transformer-"): str(table[n, sense].status) for n in NAMES}


@pytest.mark.parametrize("task", ["predict", "recognise"])
def test_flip_flop_in_floats(task):
    found = answers("flip-flop", task, "ieee")
    assert found == {"nope": "no", "alibi": "no", "periodic": "no", "hard": "yes", "mamba-attention": "yes"}


def test_prediction_is_easier_than_recognition():
    """(ab)* is predicted by the last letter; that a letter was wrong needs a look one position back."""
    assert answers("ab-star", "predict", "ieee")["nope"] == "yes"
    assert answers("ab-star", "recognise", "ieee")["nope"] == "no"
    assert answers("ab-star", "recognise", "ieee")["alibi"] == "yes"


@pytest.mark.parametrize(
    ("name", "nope", "alibi"), [("dyck-2-3", "yes", "yes"), ("tomita-4", "no", "yes"), ("parity", "no", "no")]
)
def test_counting_at_finite_precision(name, nope, alibi):
    found = answers(name, "recognise", "finite-precision")
    assert (found["nope"], found["alibi"]) == (nope, alibi)


def test_lengths_by_a_clock():
    assert answers("aa-star", "recognise", "ieee")["periodic"] == "yes"
    assert answers("parity", "recognise", "ieee")["periodic"] == "no"


def test_what_floats_reach_although_they_do_not_reach_every_length():
    verdict = decide(find_language("flip-flop"), architectures=NAMES)["transformer-alibi", "ieee"]
    assert verdict.horizon == {"float64": 1 << 53, "float32": 1 << 24}
    assert verdict.to_json()["horizon"]["float32"] == 1 << 24
    assert "up to 16,777,216 letters: yes" in verdict.reason
    assert verdict.witness["fixed_by"]
    yes = decide(find_language("tomita-4"), architectures=NAMES)["transformer-alibi", "ieee"]
    assert yes.horizon is None


def test_witnesses_are_states_of_one_component():
    language = find_language("flip-flop")
    dfa = language.dfa()
    witness = decide(language, architectures=NAMES)["transformer-nope", "ieee"].witness
    ends = [int(dfa.action(language.alphabet.encode(witness[w]))[dfa.start]) for w in ("first", "second")]
    letter = language.alphabet.encode(witness["letter"])[0]
    after = [int(dfa.transitions[q, letter]) for q in ends]
    assert after[0] != after[1]
    assert all(dfa.live[q] for q in (*ends, *after))


def test_rotations_fade_in_floats():
    """From some length on the rotations of a format are the same, so that rotary attention is one without."""
    for name in ("flip-flop", "ab-star", "tomita-7", "parity", "dyck-1", "even-pairs"):
        table = decide(
            find_language(name), architectures=["transformer", "transformer-nope"], task="recognise"
        )
        assert table["transformer", "ieee"].status == table["transformer-nope", "ieee"].status != "open"


def test_averages_with_slopes_are_the_star_free_languages():
    """The counter of parity needs a clock or exact counts; the latest write needs a slope alone."""
    for name, alibi, periodic in (("flip-flop", "yes", "yes"), ("aa-star", "no", "yes"), ("z3", "no", "no")):
        found = answers(name, "recognise", "finite-precision")
        assert (found["alibi"], found["periodic"]) == (alibi, periodic)


def test_over_the_reals_the_mark_tells_the_position():
    for name in ("s4", "flip-flop", "dyck-2"):
        table = decide(find_language(name), architectures=NAMES, task="recognise")
        verdict = table["transformer-nope", "exact"]
        assert verdict.status == "yes"
        assert "divides" in verdict.assumptions[0]
    verdict = decide(find_language("a5"), architectures=NAMES)["transformer-nope", "exact"]
    assert (verdict.status, verdict.conditional_on) == ("no", "TC0 ≠ NC1")


def test_a_stack_has_more_prefixes_than_counts_tell_apart():
    assert answers("dyck-2", "predict", "finite-precision")["nope"] == "no"
    assert answers("dyck-2", "predict", "finite-precision")["alibi"] == "open"
