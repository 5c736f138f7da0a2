"""Planted errors in decoders of 16 bits and in hybrids: each is refused, or the answers stay correct."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from benchmarks._forged_modules import (
    HYBRID,
    LAST_AB,
    PLANTED,
    TWO_A,
    hybrid,
    latest_letter,
    read_before,
    short_decoder,
)
from nerode.core import Budget, BudgetExceeded
from nerode.kernel import Certificate, Claim
from nerode.languages import language_hash, resolve_language
from nerode.languages.bestiary import find_language
from nerode.proofs.find.heads import run_decoder
from nerode.proofs.replay.attention.checker import check_decoder, replay_heads
from nerode.proofs.replay.attention.heads import Rounding, Values
from nerode.proofs.replay.attention.records import METHOD as HEADS, NotProved
from nerode.proofs.replay.attention.weights import explore_streams
from nerode.proofs.replay.listing import fingerprint

SHORT = [torch.bfloat16, torch.float16]
VALUES = (math.nan, math.inf, -math.inf, 6e4, -6e4, 1e-7, 0.0, 1.0, -1.0, 0.5)


@torch.no_grad()
@pytest.mark.parametrize("dtype", SHORT)
def test_planted_errors_in_short_formats_are_refused(dtype):
    dfa = find_language("flip-flop").dfa()
    assert check_decoder(short_decoder(dtype), dfa).length in (1 << 24, 1_046_527)
    for plant in PLANTED.values():
        model = short_decoder(dtype)
        found = plant(model)
        with pytest.raises(NotProved):
            check_decoder(found if isinstance(found, torch.nn.Module) else model, dfa)


@torch.no_grad()
@pytest.mark.parametrize("what", HYBRID)
def test_planted_errors_in_hybrids_are_refused(what):
    model = hybrid()
    HYBRID[what](model)
    with pytest.raises((NotProved, BudgetExceeded)):
        check_decoder(model, find_language("flip-flop"), budget=Budget(elements=2_000))


@torch.no_grad()
def test_products_that_only_a_rounding_cancels_are_no_match():
    """A fused product differs: read as a sequence, where this torch fuses, the decoder is wrong."""
    language = resolve_language(LAST_AB)
    assert check_decoder(latest_letter(), language).length > 1 << 50
    for model in (latest_letter(twin=2.0**60), latest_letter(slope=1024 * (1 + 2.0**-52))):
        with pytest.raises(NotProved):
            check_decoder(model, language)


@torch.no_grad()
def test_a_head_does_not_copy_an_error_that_was_made_later():
    """The copy is of the place as it was before, so that the difference has all of the error."""
    model, language = read_before(), resolve_language(TWO_A)
    with pytest.raises(NotProved, match="so near to 1/2"):
        check_decoder(model, language)
    state = model.initial_state(1)
    for _ in range(2):
        scores, state = model.step(torch.tensor([0]), state)
    assert (language.accepts((0, 0)), bool(scores[0, 2] > 0.5)) == (True, False)


@torch.no_grad()
def test_errors_of_a_place_that_was_copied_are_those_of_one_place():
    stream = Values(np.zeros((1, 3)), np.array([[0.5, 0.0, 0.0]]), np.eye(3))
    stream.mix[1, 0] = 1.0
    stream.widen(np.array([[0.25, 0.125]]))
    # The first place was copied to the second: its new error is one of its own.
    difference = np.array([[1.0, -1.0, 0.0]])
    assert stream.off().tolist() == [[0.75, 0.625, 0.0]]
    carried, _ = Rounding(24, -126, 127).errors(difference, stream)
    assert carried.tolist() == [[0.375]]
    stream.widen(np.array([[0.25, 0.0]]))
    assert stream.error.shape == (1, 4)


def test_lemmas_that_are_blind_meet_the_decoder_itself(monkeypatch):
    """A proof of the right decoder, taken for one of a decoder that calls a and b by each other's names."""
    language, model = resolve_language(LAST_AB), latest_letter()
    proof = check_decoder(model, language)
    with torch.no_grad():
        model.embedding.weight[:2] = model.embedding.weight[[1, 0]].clone()
    monkeypatch.setattr("nerode.proofs.replay.attention.checker.check_decoder", lambda *_, **__: proof)
    evidence = {HEADS: {**proof.evidence(), "module": fingerprint(model)}}
    certificate = Certificate(
        network="0" * 64, language=language_hash(language), claims=(proof.claim(),), evidence=evidence
    )
    failure = replay_heads(model, language, certificate, network="0" * 64)
    assert failure is not None
    assert failure.refutation is not None


@torch.no_grad()
def test_the_mark_is_run_as_the_model_runs_it():
    model = hybrid()
    streams = explore_streams(model, Budget().start())
    stream, _ = model._begin(1)
    recurrent = model._embed(torch.tensor([[model.config.letters]]), model._blank(1))[0]
    for block in list(model.blocks)[: streams.blocks]:
        recurrent, _ = block(recurrent)
    assert torch.equal(torch.from_numpy(streams.values[0, -1]), recurrent[0, 0].double())
    assert stream.shape == recurrent.shape


@torch.no_grad()
@pytest.mark.parametrize("count", [8, pytest.param(150, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "make", [lambda: short_decoder(torch.bfloat16), lambda: short_decoder(torch.float16), hybrid]
)
def test_random_forgeries_are_refused_or_true(make, count):
    language, rng, model = find_language("flip-flop"), np.random.default_rng(11), make()
    tensors = {name: value.clone() for name, value in model.state_dict().items()}
    accepted = 0
    for _ in range(count):
        model.load_state_dict(tensors)
        name = str(rng.choice(sorted(tensors)))
        flat = model.state_dict()[name].view(-1)
        flat[int(rng.integers(len(flat)))] = float(rng.choice(VALUES))
        try:
            check_decoder(model, language, budget=Budget(elements=2_000))
        except (NotProved, BudgetExceeded):
            continue
        accepted += 1
        assert isinstance(run_decoder(model, language, words=2, length=30), Claim), name
    assert accepted < count
