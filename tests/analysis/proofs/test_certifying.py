"""From a model to a proof: what is found is checked again, and planted wrong networks are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import nn

from nerode.analysis.proofs import certifying
from nerode.analysis.proofs.certificate_training import (
    CertificateTraining,
    Spans,
    flat_state,
    letter_vectors,
    step_boxes,
)
from nerode.analysis.proofs.certifying import CertifySettings, prove_model
from nerode.analysis.proofs.fine_tuning import FineTuning, accuracy, draw_words, fine_tune
from nerode.analysis.proofs.goals import goal_of
from nerode.analysis.proofs.trained_network import trained_network
from nerode.core import BudgetExceeded, InputError, stream
from nerode.languages import describe_language, language_hash
from nerode.languages.bestiary import find_language
from nerode.network import network_hash, network_to_json
from nerode.proofs import UNDER_NOISE, Unproved, certificate_to_json, certify_state_boxes, check
from nerode.records import TaskConfig
from nerode.tasks import build_task
from tests.analysis.proofs.test_trained_network import make_model

QUICK = CertifySettings(
    fine_tuning=FineTuning(steps=120, longest=12, rate=1e-2),
    certificate_training=CertificateTraining(steps=400, every=50, ramp=200, rate=1e-2),
)
TASK = build_task(TaskConfig(name="predict-set-reset"))


@pytest.fixture(scope="module")
def proof():
    """A tanh network for the flip-flop of two writes and a hold, from random weights."""
    return prove_model(make_model("elman-tanh", TASK, hidden=8), TASK, seed=0, settings=QUICK)


def verdict(network, language, certificate):
    parts = (network_to_json(network), describe_language(language), certificate_to_json(certificate))
    return check(*(json.loads(json.dumps(part)) for part in parts))


def test_a_network_is_proved_for_all_lengths(proof):
    assert proof.attempt.proved
    assert proof.attempt.reason is None
    assert proof.attempt.eps == str(proof.certificate.claims[1].eps)
    assert verdict(proof.network, proof.goal.language, proof.certificate).ok
    assert trained_network(proof.model, proof.goal) == proof.network


def test_the_module_is_right_on_long_words_in_float32(proof):
    rng = np.random.default_rng(3)
    assert accuracy(proof.model, proof.goal, words=16, length=2_000, rng=rng) == 1.0


def test_float32_is_covered_and_its_claim_says_on_what_terms(proof):
    (claim,) = [claim for claim in proof.certificate.claims if claim.dtype == "float32"]
    assert claim.scope == UNDER_NOISE
    assert claim.eps == Fraction(proof.attempt.eps) / 2
    assert "rounds to nearest" in claim.covers
    stronger = replace(claim, eps=claim.eps * 2)
    planted = replace(proof.certificate, claims=(*proof.certificate.claims[:2], stronger))
    assert not verdict(proof.network, proof.goal.language, planted).ok


def test_tanh_of_torch_is_within_what_the_claim_allows():
    x = torch.linspace(-12, 12, 2_000_001)
    assert float((x.tanh().double() - x.double().tanh()).abs().max()) < 2.0**-20


def test_one_changed_weight_is_refused_by_the_hash(proof):
    wrong = changed_weight(proof)
    refused = verdict(wrong, proof.goal.language, proof.certificate)
    assert not refused.ok
    assert "another network" in refused.failure.what


def test_one_changed_weight_with_the_hash_made_right_is_refused_by_the_boxes(proof):
    wrong = changed_weight(proof)
    planted = replace(proof.certificate, network=network_hash(wrong))
    refused = verdict(wrong, proof.goal.language, planted)
    assert not refused.ok
    assert refused.failure.refutation is not None or "box" in refused.failure.what


def changed_weight(proof):
    """The network with one recurrent weight moved by 3."""
    (layer,) = proof.network.layers
    update = layer.recurrence.update
    (first, *row), *rows = update.rows
    moved = (*row[:-1], (row[-1][0], row[-1][1] + 3))
    recurrence = replace(layer.recurrence, update=replace(update, rows=((first, *moved), *rows)))
    return replace(proof.network, layers=(replace(layer, recurrence=recurrence),))


def test_a_network_that_was_trained_on_another_language_is_not_certified(proof):
    from nerode.languages import RegularLanguage
    from nerode.languages.operations import complement

    other = RegularLanguage(
        name="not set-reset", automaton=complement(proof.goal.dfa), convention="the others"
    )
    assert isinstance(certify_state_boxes(proof.network, other), Unproved)
    planted = replace(proof.certificate, language=language_hash(other))
    refused = verdict(proof.network, other, planted)
    assert not refused.ok
    assert refused.failure.refutation is not None


def test_no_proof_is_said_plainly_with_what_was_tried():
    nothing = CertifySettings(
        fine_tuning=FineTuning(steps=2), certificate_training=CertificateTraining(steps=2), rounds=1
    )
    found = prove_model(make_model("lstm", TASK), TASK, settings=nothing)
    assert not found.attempt.proved
    assert found.certificate is None
    assert found.attempt.reason
    assert found.attempt.stages[0].name == "trained"
    assert found.attempt.stages[-1].name == "certificate training"


@pytest.mark.parametrize("weight", [float("nan"), float("inf")])
def test_a_model_that_diverged_is_refused(weight):
    model = make_model("elman-tanh", TASK)
    with torch.no_grad():
        model.layers[0].recurrent[0, 0] = weight
    with pytest.raises(InputError, match="not finite"):
        prove_model(model, TASK, settings=QUICK)


def test_training_that_diverges_ends_the_search_and_is_told():
    wild = CertifySettings(fine_tuning=FineTuning(steps=3, rate=1e30), rounds=5)
    found = prove_model(make_model("lstm", TASK), TASK, settings=wild)
    assert not found.attempt.proved
    assert "diverged" in found.attempt.reason
    assert [stage.name for stage in found.attempt.stages] == ["trained", "fine-tuning"]


def test_a_check_that_takes_too_long_is_no_proof(proof, monkeypatch):
    def check_without_end(*parts, budget):
        raise BudgetExceeded("seconds", budget.seconds)

    monkeypatch.setattr(certifying, "check", check_without_end)
    settings = replace(QUICK, rounds=0)
    found = prove_model(proof.model, TASK, settings=settings)
    assert not found.attempt.proved
    assert "the kernel refuses" in found.attempt.reason


def test_two_biases_are_not_covered_in_float32(proof):
    """Two biases that nearly cancel round far worse than the one number that the network has for them."""
    model = make_model("elman-tanh", TASK, hidden=8, recurrent_bias=True)
    weights = {name: value.clone() for name, value in proof.model.state_dict().items()}
    bias = weights["blocks.0.layer.read.bias"] / 2
    halves = {"blocks.0.layer.read.bias": bias, "blocks.0.layer.recurrent_bias": bias}
    model.load_state_dict(weights | halves)
    found = prove_model(model, TASK, settings=replace(QUICK, rounds=0))
    assert found.network == proof.network
    assert not found.attempt.float32


def test_the_given_model_is_not_changed():
    model = make_model("elman-tanh", TASK)
    before = [p.clone() for p in model.parameters()]
    prove_model(
        model,
        TASK,
        settings=CertifySettings(
            fine_tuning=FineTuning(steps=1), certificate_training=CertificateTraining(steps=1), rounds=1
        ),
    )
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


@pytest.mark.parametrize("cell", ["elman-tanh", "gru-reset-first", "lstm", "slstm"])
def test_boxes_of_a_step_hold_the_states_of_a_step(cell):
    """Random points of a box, stepped by the module, stay in the image of the box."""
    settings = {"cap": 0.75} if cell == "gru-reset-first" else {}
    model = make_model(cell, TASK, **settings)
    layer = model.layers[0]
    generator = torch.Generator().manual_seed(1)
    start = layer.initial_state(64)
    centre = flat_state(layer, start) + 0.2
    width = centre.shape[1]
    radius = 0.15
    for letter in range(3):
        image = step_boxes(
            model,
            Spans(centre[:1] - radius, centre[:1] + radius),
            torch.tensor([0]),
            torch.tensor([letter]),
        )
        points = centre + radius * (2 * torch.rand(64, width, generator=generator) - 1)
        blocks = points.chunk(len(image.low[0]) // layer.outputs, dim=1)
        state = dict(zip("hcn", blocks, strict=False))
        if cell == "slstm":
            state["m"] = torch.zeros_like(state["h"])
        x = letter_vectors(model)[letter].expand(64, -1)
        after = flat_state(layer, layer.step(x, state)[1])
        assert bool((after >= image.low - 1e-5).all())
        assert bool((after <= image.high + 1e-5).all())


def test_words_pass_the_states_of_the_automaton():
    goal = goal_of(build_task(TaskConfig(name="predict-tomita-2")))
    words, states = draw_words(goal, 200, 10, np.random.default_rng(0), stray=0.1)
    language = find_language("tomita-2")
    for word, passed in zip(words[:20].tolist(), states[:20].tolist(), strict=True):
        found = [language.initial()]
        for letter in word:
            found.append(language.advance(found[-1], letter))
        assert [language.legal(c) for c in found] == [goal.legal[q] for q in passed]
    ended_dead = goal.dead[states[:, -1]].mean()
    assert 0.2 < ended_dead < 0.95


def test_fine_tuning_learns_and_is_repeatable():
    goal = goal_of(TASK)
    found = []
    for _ in range(2):
        model, head = make_model("elman-tanh", TASK, hidden=8), nn.Linear(8, 2)
        nn.init.zeros_(head.weight)
        nn.init.zeros_(head.bias)
        fine_tune(model, goal, head, QUICK.fine_tuning, rng=stream(0, "test"))
        found.append(model)
    assert accuracy(found[0], goal, words=32, length=20, rng=stream(0, "accuracy")) > 0.95
    assert all(torch.equal(a, b) for a, b in zip(found[0].parameters(), found[1].parameters(), strict=True))


@pytest.mark.parametrize(
    "make",
    [
        lambda: FineTuning(steps=-1),
        lambda: FineTuning(longest=1),
        lambda: CertificateTraining(every=0),
        lambda: CertificateTraining(rate=0.0),
        lambda: CertifySettings(rounds=-1),
        lambda: CertifySettings(seconds=0.0),
    ],
)
def test_settings_that_make_no_sense_are_refused(make):
    with pytest.raises(InputError):
        make()
