"""Verdicts about attention: what the tests on components say, by sense and task, and how far floats reach."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nerode.languages import START, Alphabet
from nerode.languages.bestiary import find_language
from nerode.languages.counters import CounterMachine, CounterRule
from nerode.verdict import collect_facts, decide, find_architecture, verdict_for
from nerode.verdict.classes import ArchitectureClass, ClassCondition, MemoryKind, State
from nerode.verdict.decision import ContradictionError
from nerode.verdict.records import Sense, VerdictTask
from nerode.verdict.theorems import THEOREMS

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
    assert found == {
        "nope": "open",
        "alibi": "yes",
        "periodic": "yes",
        "hard": "yes",
        "mamba-attention": "yes",
    }


def test_prediction_is_easier_than_recognition():
    """(ab)* is predicted by the last letter; that a letter was wrong needs a count or a look back."""
    table = {task: decide(find_language("ab-star"), architectures=NAMES, task=task) for task in VerdictTask}
    assert table["predict"]["transformer-nope", "ieee"].theorem == "soft-letter-constant"
    assert table["recognise"]["transformer-nope", "ieee"].theorem == "soft-in-order-counts"
    assert table["recognise"]["transformer-alibi", "ieee"].theorem == "soft-locally-r-trivial"


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
    assert "in any order up to 16,777,216 letters" in verdict.reason
    assert (verdict.mark, verdict.theorem) == ("✓†·", "soft-in-order-registers")
    yes = decide(find_language("tomita-4"), architectures=NAMES)["transformer-alibi", "ieee"]
    assert yes.horizon is None


def test_witnesses_are_states_of_one_component():
    language = find_language("flip-flop")
    dfa = language.dfa()
    witness = decide(language, architectures=["transformer-hard-left"])["transformer-hard-left"].witness
    ends = [int(dfa.action(language.alphabet.encode(witness[w]))[dfa.start]) for w in ("first", "second")]
    letter = language.alphabet.encode(witness["letter"])[0]
    after = [int(dfa.transitions[q, letter]) for q in ends]
    assert after[0] != after[1]
    assert all(dfa.live[q] for q in (*ends, *after))


def test_rotations_fade_in_floats():
    """If from some length on the rotations are the same, rotary attention is one without."""
    for name in ("flip-flop", "ab-star", "tomita-7", "parity", "dyck-1", "even-pairs"):
        table = decide(
            find_language(name), architectures=["transformer", "transformer-nope"], task="recognise"
        )
        rotated, plain = table["transformer", "ieee"], table["transformer-nope", "ieee"]
        assert rotated.status == plain.status
        assert ("positions" in rotated.conditional_on) == (plain.status == "no")
        assert not plain.conditional_on


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
    assert verdict.status == "no"
    assert verdict.conditional_on.startswith("TC0 ≠ NC1, and maps between layers")


def test_a_stack_has_more_prefixes_than_counts_tell_apart():
    assert answers("dyck-2", "predict", "finite-precision")["nope"] == "no"
    assert answers("dyck-2", "predict", "finite-precision")["alibi"] == "open"


def hybrid_of(*parts):
    """A hybrid that no row names."""
    properties = ArchitectureClass(recurrence=MemoryKind.HYBRID, state=State.CACHE, parts=parts)
    row = find_architecture("mamba-attention")
    return replace(row, name="-".join(parts), properties=properties)


PARTS = [
    "mamba",
    "mamba-signed",
    "gated-deltanet",
    "deltaproduct-signed",
    "lstm",
    "pd-ssm",
    "transformer-nope",
]


@pytest.mark.parametrize("task", ["predict", "recognise"])
@pytest.mark.parametrize("name", ["a5", "parity", "flip-flop", "dyck-1", "tomita-4"])
def test_a_hybrid_does_what_each_of_its_parts_does(name, task):
    """DeltaProduct and LSTM track A5; a theorem about attention and diagonal layers says nothing of them."""
    facts = collect_facts(find_language(name), task=task)
    for sense in ("exact", "finite-precision", "ieee"):
        alone = {part: verdict_for(facts, find_architecture(part), Sense(sense)) for part in PARTS}
        for part in PARTS[:-1]:
            found = verdict_for(facts, hybrid_of(part, "transformer-nope"), Sense(sense))
            firm = [v for v in (alone[part], alone["transformer-nope"]) if v.status == "yes"]
            if any(not v.conditional_on for v in firm):
                assert found.status == "yes", (part, sense, found.theorem)
            elif firm:
                assert found.status != "no" or found.conditional_on, (part, sense, found.theorem)


def test_what_is_in_tc0_are_hybrids_of_diagonal_layers_and_attention():
    facts = collect_facts(find_language("a5"))
    finite = Sense.FINITE_PRECISION
    found = {p: verdict_for(facts, hybrid_of(p, "transformer-nope"), finite) for p in ("mamba", "lstm")}
    assert found["mamba"].status == "no"
    assert "transformers-in-tc0" in (found["mamba"].theorem, *found["mamba"].also)
    assert found["lstm"].status == "yes"
    # Two kinds of which neither does it, one of them outside TC0 as far as anyone knows.
    assert verdict_for(facts, hybrid_of("rwkv-7", "transformer-nope"), finite).status != "no"


def test_a_part_that_contradicts_a_hybrid_is_a_bug_of_the_table(monkeypatch):
    facts = collect_facts(find_language("parity"))
    row = THEOREMS["hybrid-no-periods"]
    wrong = replace(row, architecture=ClassCondition("any hybrid", lambda c: bool(c.parts)))
    monkeypatch.setitem(THEOREMS._rows, "hybrid-no-periods", wrong)
    with pytest.raises(ContradictionError, match="for mamba-signed alone"):
        verdict_for(facts, hybrid_of("mamba-signed", "transformer-nope"), Sense.FINITE_PRECISION)


def counter_language(*, in_blocks):
    """As many a as b; c may stand anywhere but, in the first form, not twice in a row."""
    a, b, c = range(3)
    anything = frozenset((a, b, c))
    rules = (
        CounterRule(after=frozenset((START, a, b)), symbols=anything),
        CounterRule(after=frozenset((c,)), symbols=frozenset((a, b))),
        CounterRule(zero=frozenset((0,)), end=True),
    )
    if in_blocks:
        rules = (
            CounterRule(after=frozenset((START, a)), symbols=frozenset((a, b))),
            CounterRule(after=frozenset((b,)), positive=frozenset((0,)), symbols=frozenset((b,))),
            CounterRule(zero=frozenset((0,)), end=True),
        )
    machine = CounterMachine(
        alphabet=Alphabet(("a", "b", "c")), start=(0,), increments=((1,), (-1,), (0,)), rules=rules
    )
    return replace(find_language("anbn"), name="own", machine=machine, family="", parameters={})


def test_counts_do_not_tell_the_letter_before():
    """A wrong "yes" of the first table: "no cc" is no language of C-RASP, beside a counter or not."""
    own = decide(counter_language(in_blocks=False), architectures=NAMES, task="recognise")
    assert own["transformer-nope", "finite-precision"].status == "open"
    assert own["transformer-alibi", "finite-precision"].theorem == "sloped-counts"
    predicted = decide(counter_language(in_blocks=False), architectures=NAMES, task="predict")
    assert predicted["transformer-nope", "finite-precision"].theorem == "attention-counts"
    blocks = decide(counter_language(in_blocks=True), architectures=NAMES, task="recognise")
    assert blocks["transformer-nope", "finite-precision"].theorem == "attention-counts"
