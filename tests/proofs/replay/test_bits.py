"""Replaying the evidence: what holds is accepted, whatever was planted is refused."""

import copy
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings, strategies as st

from nerode.core import Budget, BudgetExceeded
from nerode.kernel import certificate_from_json, certificate_to_json, language_claim
from nerode.languages import resolve_language
from nerode.proofs.find.closure import certify_module
from nerode.proofs.replay.bits import METHOD, _StateTable, limits, recheck
from nerode.proofs.replay.listing import fingerprint, read_listing
from tests.proofs.floats.languages import NOTHING_YET, register_language
from tests.proofs.floats.modules import BatchDependent, Register, TanhRegister

LANGUAGE = register_language()
MODULE = Register(hold=1.0, overwrite=0.25, dtype=torch.bfloat16)
PROOF = certify_module(MODULE, LANGUAGE, empty=NOTHING_YET).certificate
PARTIAL = certify_module(
    Register(hold=0.75), LANGUAGE, empty=NOTHING_YET, budget=Budget(seconds=30)
).certificate


def check(certificate, module=MODULE, language=LANGUAGE, **options):
    return recheck(module, language, certificate, **{"empty": NOTHING_YET, **options})


def changed(certificate, **entries):
    evidence = copy.deepcopy(dict(certificate.evidence[METHOD]))
    for name, change in entries.items():
        evidence[name] = change(evidence[name])
    return replace(certificate, evidence={METHOD: evidence})


def test_a_proof_holds_after_a_round_trip_through_json():
    assert check(certificate_from_json(certificate_to_json(PROOF))) is None
    assert PROOF.claims[0].length == "all"
    assert PARTIAL.claims[0].length == 3
    assert check(PARTIAL, Register(hold=0.75)) is None


def test_another_module_is_refused_by_its_weights():
    assert "another" in check(PROOF, Register(hold=0.75, overwrite=0.25, dtype=torch.bfloat16)).what
    assert "another" in check(PROOF, Register(hold=1.0, overwrite=0.25)).what


def test_a_module_with_the_same_weights_that_does_something_else_is_refused_with_a_word():
    module = Register(hold=1.0, overwrite=0.25, dtype=torch.bfloat16, threshold=1.1)
    failure = check(PROOF, module)
    assert failure.refutation.word == ("h",)
    assert failure.refutation.expected == ("l", "h", "i", "$")


class Sly(Register):
    """The same weights, but once in a while other bits."""

    def step(self, x, state):
        scores, after = super().step(x, state)
        return scores, {"h": torch.where(state["h"] == 1.25, after["h"] + 2**-7, after["h"])}


Sly.__module__, Sly.__qualname__ = Register.__module__, Register.__qualname__


def test_other_bits_on_one_transition_are_refused():
    failure = check(PROOF, Sly(hold=1.0, overwrite=0.25, dtype=torch.bfloat16))
    assert "other bits" in failure.what
    assert failure.refutation is None


def test_another_start_is_refused():
    class Late(Register):
        def initial_state(self, batch):
            return {"h": torch.full((batch, 1), 0.5, dtype=self.gates.dtype)}

    Late.__module__, Late.__qualname__ = Register.__module__, Register.__qualname__
    late = Late(hold=1.0, overwrite=0.25, dtype=torch.bfloat16)
    assert "other bits" in check(PROOF, late).what


def test_another_language_or_network_is_refused():
    assert check(PROOF, language=resolve_language("flip-flop")).entry == "language"
    assert check(PROOF, network="0" * 64).entry == "network"
    assert check(replace(PROOF, network="0" * 64)).entry == "network"


def test_the_empty_prefix_is_part_of_the_claim():
    assert "empty" in check(PROOF, empty=None).what
    bare = certify_module(Register(), LANGUAGE).certificate
    assert "not covered" in bare.claims[0].covers
    assert check(bare, Register(), empty=None) is None
    said = language_claim(task="predict", method=METHOD, dtype="float32", order="rounded")
    assert "does not follow" in check(replace(bare, claims=(said,)), Register()).what


def test_more_than_was_shown_is_refused():
    longer = replace(PARTIAL.claims[0], length=4)
    module = Register(hold=0.75)
    assert "does not follow" in check(replace(PARTIAL, claims=(longer,)), module).what
    everything = language_claim(task="predict", method=METHOD, dtype="float32", order="rounded")
    assert "does not follow" in check(replace(PARTIAL, claims=(everything,)), module).what
    assert "lacks the move" in check(changed(PARTIAL, length=lambda _: 4), module).what
    assert "lacks the move" in check(changed(PARTIAL, length=lambda _: "all"), module).what
    shorter = replace(PARTIAL.claims[0], length=2)
    assert check(replace(PARTIAL, claims=(shorter,)), module) is None


def test_a_batch_that_rounds_differently_is_refused():
    module = BatchDependent()
    proof = certify_module(module, LANGUAGE, empty=NOTHING_YET).certificate
    assert proof.evidence[METHOD]["batches"] == [1]
    assert check(proof, module) is None
    assert "in batches of 2" in check(changed(proof, batches=lambda _: [1, 2]), module).what


@pytest.mark.parametrize(
    "entries",
    [
        {"task": lambda _: "guess"},
        {"dtype": lambda _: "float32"},
        {"length": lambda _: -1},
        {"length": lambda _: True},
        {"empty": lambda _: 1},
        {"batches": lambda _: []},
        {"batches": lambda _: [0]},
        {"layout": lambda _: [["h", [2], "bfloat16"]]},
        {"layout": lambda _: 7},
        {"batches": lambda _: [10**9]},
        {"arithmetic": lambda _: "this one"},
        {"moves": lambda moves: [row[:2] for row in moves]},
        {"moves": lambda moves: [[10**9] * 3, *moves[1:]]},
        {"moves": lambda moves: [moves[1], moves[0], *moves[2:]]},
        {"moves": lambda moves: [[-1, -1, -1], *moves[1:]]},
        {"module": lambda _: "0" * 64},
        {"moves": lambda _: []},
    ],
)
def test_evidence_that_makes_no_sense_is_refused(entries):
    assert check(changed(PROOF, **entries)) is not None


def test_states_that_would_not_fit_into_memory_are_refused(monkeypatch):
    monkeypatch.setattr("nerode.proofs.replay.bits.MOST_BYTES", 3)
    assert "more than 3 bytes" in check(PROOF).what


def test_a_state_is_asked_about_only_when_its_bits_are_known():
    """Otherwise the replay would ask about the bits that stand there before they are learned."""
    listed = read_listing(PROOF.evidence[METHOD], 3)
    table = _StateTable(MODULE, replace(listed, moves=((1, 2, 1),) * 3))
    table.known[2] = True
    transitions = [(0, 2, 1, ()), (1, 0, 1, ()), (2, 0, 1, ())]
    assert table.with_known_sources(transitions) == transitions[:1]
    assert table.with_known_sources(transitions[::2]) == transitions[::2]


@pytest.mark.parametrize("size", [1, 2, 5, 64])
def test_states_may_be_numbered_in_any_order_within_a_length(size):
    def swap(moves):
        moves[2], moves[3] = moves[3], moves[2]
        return [[{2: 3, 3: 2}.get(target, target) for target in row] for row in moves]

    said = PROOF.claims[0].covers.replace(*(limits(sizes, covers_empty=True) for sizes in ([1, 64], [size])))
    other = changed(PROOF, moves=swap, batches=lambda _: [size])
    assert check(replace(other, claims=(replace(PROOF.claims[0], covers=said),))) is None


def test_keys_that_are_missing_or_too_many_are_refused():
    evidence = dict(PROOF.evidence[METHOD])
    assert "keys" in check(replace(PROOF, evidence={METHOD: {**evidence, "more": 1}})).what
    evidence.pop("moves")
    assert "keys" in check(replace(PROOF, evidence={METHOD: evidence})).what
    assert "alone" in check(replace(PROOF, evidence={METHOD: {}, "boxes": {}})).what


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_every_change_of_a_move_is_refused(data):
    count = len(PROOF.evidence[METHOD]["moves"])
    number, letter = data.draw(st.integers(0, count - 1)), data.draw(st.integers(0, 2))
    old = PROOF.evidence[METHOD]["moves"][number][letter]
    new = data.draw(st.integers(-1, count - 1).filter(lambda target: target != old))

    def change(moves):
        moves[number][letter] = new
        return moves

    assert check(changed(PROOF, moves=change)) is not None


class Strided(Register):
    """Hands on tensors with gaps, and computes something else from them."""

    def step(self, x, state):
        scores, after = super().step(x, state)
        h = after["h"] if state["h"].stride(0) == 1 else after["h"] + 2.0**-20
        return scores, {"h": torch.stack([h, h], dim=1)[:, 0]}


def test_a_state_with_gaps_that_is_computed_otherwise_is_refused():
    module = Strided()
    verdict = certify_module(module, LANGUAGE, empty=NOTHING_YET, budget=Budget(seconds=10))
    assert verdict.certificate is None
    assert "a run comes" in verdict.reason


def test_time_ends_a_replay():
    module = TanhRegister()
    proof = certify_module(module, LANGUAGE, empty=NOTHING_YET).certificate
    with pytest.raises(BudgetExceeded):
        check(proof, module, budget=Budget(seconds=1e-9))


class LastRow(Register):
    """Right in every row of a batch but the last."""

    def step(self, x, state):
        scores, after = super().step(x, state)
        if len(x) > 1:
            after["h"][-1] += 2.0**-20
        return scores, after


def test_a_row_that_is_computed_otherwise_is_refused():
    module = LastRow()
    proof = certify_module(module, LANGUAGE, empty=NOTHING_YET).certificate
    assert proof.evidence[METHOD]["batches"] == [1]
    assert "in batches of 64" in check(changed(proof, batches=lambda _: [1, 64]), module).what


class NotANumber(Register):
    """Keeps a NaN that is never read, beside a register that is right."""

    def initial_state(self, batch):
        return {**super().initial_state(batch), "k": torch.zeros(batch, 1)}

    def step(self, x, state):
        scores, after = super().step(x, state)
        return scores, {**after, "k": state["k"] / 0.0}


def test_a_state_with_a_nan_is_refused_even_if_its_bits_close():
    module = NotANumber()
    plain = certify_module(Register(), LANGUAGE, empty=NOTHING_YET).certificate
    evidence = {
        **plain.evidence[METHOD],
        "batches": [1],
        "module": fingerprint(module),
        "layout": [["h", [1], "float32"], ["k", [1], "float32"]],
        "moves": [[1, 2, 1], [1, 2, 1], [1, 2, 2]],
    }
    planted = replace(plain, network=fingerprint(module), evidence={METHOD: evidence})
    assert "NaN" in check(planted, module).what


def test_a_claim_about_batches_says_what_is_taken_for_granted():
    together = certify_module(Register(), LANGUAGE, empty=NOTHING_YET).certificate
    assert max(together.evidence[METHOD]["batches"]) > 1
    assert "taken for granted" in together.claims[0].covers
    alone = certify_module(BatchDependent(), LANGUAGE, empty=NOTHING_YET).certificate
    assert "taken for granted" not in alone.claims[0].covers
