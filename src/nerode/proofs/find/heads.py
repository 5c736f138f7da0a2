"""Certificates for softmax decoders that were compiled: found, and tested on words.

A folder of a network with attention layers holds the decoder itself in `model/`. Its certificate in a float
format is checked by the lemmas of `attention.py`, which read the tensors of the decoder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from nerode.core import Budget, InputError, NotCompilable
from nerode.kernel import PREDICT, TESTED, Certificate, Claim, Failure, Refutation
from nerode.languages import Language, language_hash, legal_bits
from nerode.models import Model, dtype_of, read_model
from nerode.models.lower import network_to_decoder
from nerode.network import Network
from nerode.proofs.answers import refutation
from nerode.proofs.folder import MODEL_FOLDER
from nerode.proofs.replay.attention.checker import check_decoder
from nerode.proofs.replay.attention.records import METHOD, NotProved
from nerode.proofs.replay.listing import describe_arithmetic, fingerprint
from nerode.proofs.runner import as_legal

Json = Any

AGREEMENT = "decoder-against-language"

_WORDS, _LENGTH = 6, 200
"""Random words on which `forward` and `step` are compared with the language."""


def read_decoder(folder: Path | None, network: Network, dtype: str) -> Model:
    """Returns the decoder of a folder if it has this format, otherwise a new one.

    Raises:
        FormatError: if the stored decoder was altered.
        InputError: if the network's target is a class and no model.
    """
    wanted = getattr(torch, dtype)
    if folder is not None and (folder / MODEL_FOLDER).is_dir():
        model = read_model(folder / MODEL_FOLDER)
        if next(model.parameters()).dtype == wanted:
            return model
    try:
        return network_to_decoder(network, network.target, dtype=wanted)
    except NotCompilable as refusal:
        raise InputError("; ".join(refusal.reasons)) from None


def certify_decoder(
    model: Model, network: Network, language: Language, *, budget: Budget | None = None
) -> Certificate | Failure:
    """Returns the certificate of a decoder, or why there is none."""
    try:
        proof = check_decoder(model, language, budget=budget)
    except NotProved as refusal:
        return Failure(what=str(refusal), entry="model")
    evidence = {**proof.evidence(), "module": fingerprint(model), "arithmetic": describe_arithmetic()}
    return Certificate(
        network=fingerprint(model),
        language=language_hash(language, budget),
        claims=(proof.claim(),),
        evidence={METHOD: evidence},
    )


def decoder_length(
    network: Network, language: Language, *, dtype: str, budget: Budget | None = None
) -> int | str | None:
    """Returns the number of letters up to which the decoder of a network is proved in a format, or "all".

    None if nothing is proved.
    """
    try:
        proof = check_decoder(read_decoder(None, network, dtype), language, budget=budget)
    except (NotProved, InputError):
        return None
    return proof.length


@torch.no_grad()
def run_decoder(
    model: Model, language: Language, *, words: int = _WORDS, length: int = _LENGTH
) -> Refutation | Claim:
    """Returns a word on which a decoder fails, or the claim that it agreed with the language on some."""
    rng = np.random.default_rng(0)
    chosen = [_random_word(language, rng, length, stays=number % 2 == 0) for number in range(words)]
    letters = torch.tensor(chosen)
    size = len(language.alphabet)
    legal = [np.array([legal_bits(may, size) for may in language.legal_along(word)[1:]]) for word in chosen]
    expected = torch.from_numpy(np.stack(legal))
    state, stepped = model.initial_state(words), []
    for position in letters.unbind(1):
        score, state = model.step(position, state)
        stepped.append(score)
    for scores in (model(letters)[0], torch.stack(stepped, dim=1)):
        wrong = ((scores > 0.5) != expected).any(-1).nonzero()
        if len(wrong):
            word, place = wrong[0].tolist()
            said = as_legal((scores[word, place] > 0.5).numpy())
            correct = as_legal(legal[word][place])
            return refutation(language.alphabet, chosen[word][: place + 1], correct, said)
    return Claim(
        scope=TESTED,
        method=AGREEMENT,
        task=PREDICT,
        covers=(
            f"On {words} random words of {length} letters the decoder gave the answers of the language, "
            "letter by letter with its cache and for whole words by the fused kernel. This is a test, not a "
            "proof."
        ),
        dtype=dtype_of(model),
        length=length,
    )


def _random_word(language: Language, rng: np.random.Generator, length: int, *, stays: bool) -> list[int]:
    """A random word, mostly of legal letters if it `stays`."""
    word: list[int] = []
    configuration = language.initial()
    for _ in range(length):
        choices = sorted(language.legal(configuration).symbols) if stays else []
        word.append(int(rng.choice(choices or list(range(len(language.alphabet))))))
        configuration = language.advance(configuration, word[-1])
    return word
