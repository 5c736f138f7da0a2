"""Replaying a certificate of a softmax decoder: the lemmas about heads are applied to its tensors again."""

from __future__ import annotations

import random

import torch

from nerode.core import Budget
from nerode.kernel import Certificate, Failure, first_not_implied
from nerode.languages import Language, Legal
from nerode.models import Model
from nerode.proofs.answers import wrong_answer
from nerode.proofs.replay.attention.checker import audit, check_decoder
from nerode.proofs.replay.attention.records import METHOD, NotProved
from nerode.proofs.replay.bits import find_foreign
from nerode.proofs.replay.listing import fingerprint

_WORDS, _LETTERS = 4, 24
"""Words that the decoder itself reads, after the proof."""

_REPEATED = ("dtype", "scores", "heads", "recurrent", "levels", "joint_states", "order")
"""Entries of the evidence that have to be found again."""


def replay_heads(
    model: Model,
    language: Language,
    certificate: Certificate,
    *,
    network: str,
    budget: Budget | None = None,
) -> Failure | None:
    """Returns why a certificate does not hold for a decoder, None if it holds.

    Args:
        model: the decoder.
        language: what it should do.
        certificate: claims with the evidence of this method only.
        network: the SHA-256 of the network that the decoder was written from.
        budget: limits the time.
    """
    if foreign := find_foreign(certificate, METHOD, language, network):
        return foreign
    listed = certificate.evidence[METHOD]
    if not isinstance(listed, dict) or listed.get("module") != fingerprint(model):
        return Failure(what="the certificate is for another decoder", entry=f"evidence.{METHOD}.module")
    try:
        proof = check_decoder(model, language, budget=budget)
    except NotProved as refusal:
        return Failure(what=str(refusal), entry="model")
    again = proof.evidence()
    for key in _REPEATED:
        if listed.get(key) != again[key]:
            return Failure(what=f"the evidence says otherwise: {key}", entry=f"evidence.{METHOD}.{key}")
    return (
        first_not_implied(certificate.claims, [proof.claim()])
        or find_unsound(model)
        or _contradiction(model, language, proof.length)
    )


@torch.no_grad()
def _contradiction(model: Model, language: Language, length: int | str) -> Failure | None:
    """A guard: why the decoder itself is wrong on one of some words, None if it is not.

    Lemmas that are right never refuse here, so that this is no part of the proof.
    """
    choose, letters = random.Random(fingerprint(model)), range(len(language.alphabet))
    for number in range(_WORDS):
        state, at = model.initial_state(1), language.initial()
        word: list[int] = []
        for _ in range(_LETTERS if length == "all" else min(_LETTERS, int(length))):
            legal = sorted(language.legal(at).symbols) if number % 2 else list(letters)
            word.append(choose.choice(legal or list(letters)))
            scores, state = model.step(torch.tensor(word[-1:]), state)
            at = language.advance(at, word[-1])
            *flags, end = (scores[0] > 0.5).tolist()
            got = Legal(frozenset(a for a in letters if flags[a]), end)
            if got != language.legal(at) or not bool(scores.isfinite().all()):
                return wrong_answer(language.alphabet, word, language.legal(at), got)
    return None


def find_unsound(model: Model) -> Failure | None:
    """Returns why this machine does not compute as the lemmas assume, None if nothing was found."""
    problem = audit(model)
    return None if problem is None else Failure(what=f"on this machine {problem}", entry="exp")
