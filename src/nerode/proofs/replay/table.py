"""The table of replays: which function checks the evidence of which method, and the files of a folder.

    bit-closure           every listed step, computed by the module            replay/bits.py
    fading-boxes          both ends of every box, computed by the module       replay/fading.py
    attention-rounding    lemmas about heads, applied to the tensors again     replay/attention/

Claims about exact networks are the kernel's. Every replay runs on one thread, as the searches do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nerode.core import Budget, InputError
from nerode.kernel import DTYPES, Certificate, Claim, Failure
from nerode.languages import Language, Legal, Question
from nerode.models import Model, fixed_bits, read_model
from nerode.models.network_module import load_model
from nerode.network import Network, network_hash
from nerode.proofs.folder import MODEL_FOLDER, float_path, read_float_certificate
from nerode.proofs.reading import decoder
from nerode.proofs.replay.attention.records import METHOD as HEADS
from nerode.proofs.replay.bits import METHOD as BITS, recheck
from nerode.proofs.replay.fading import FADING, replay_fading
from nerode.proofs.replay.heads import replay_heads
from nerode.proofs.replay.listing import describe_arithmetic
from nerode.records import Reading

Json = Any

ABOVE_HALF = Reading(kind="above", threshold="1/2")
"""How the scores of written models are read."""


@dataclass(frozen=True, kw_only=True)
class ReplaySubject:
    """A module with all that a replay needs to know of it.

    Attributes:
        module: in evaluation mode.
        asked: the question, or the language.
        decode: from scores to answers; None for the module's own.
        empty: what it says before the first letter; None if it says nothing there.
        network: the SHA-256 of the network that it was made from; None for a module that stands for itself.
    """

    module: nn.Module
    asked: Language | Question
    decode: Callable[[Tensor], Tensor] | None = None
    empty: Legal | None = None
    network: str | None = None

    @property
    def model(self) -> Model:
        """The module as a model of the zoo, in a language; InputError if it is another."""
        if not isinstance(self.module, Model) or not isinstance(self.asked, Language):
            raise InputError("this evidence is about models of the zoo that predict what may follow")
        return self.module


def _bits(subject: ReplaySubject, certificate: Certificate, budget: Budget | None) -> Failure | None:
    return recheck(
        subject.module,  # type: ignore[arg-type]
        subject.asked,
        certificate,
        decode=subject.decode,
        empty=subject.empty,
        network=subject.network,
        budget=budget,
    )


def _fading(subject: ReplaySubject, certificate: Certificate, budget: Budget | None) -> Failure | None:
    assert isinstance(subject.asked, Language)
    return replay_fading(subject.model, subject.asked, certificate, budget=budget)


def _heads(subject: ReplaySubject, certificate: Certificate, budget: Budget | None) -> Failure | None:
    assert isinstance(subject.asked, Language)
    return replay_heads(
        subject.model, subject.asked, certificate, network=subject.network or "", budget=budget
    )


REPLAYS: dict[str, Callable[[ReplaySubject, Certificate, Budget | None], Failure | None]] = {
    BITS: _bits,
    FADING: _fading,
    HEADS: _heads,
}


@fixed_bits(1)
def replay(
    subject: ReplaySubject, certificate: Certificate, *, budget: Budget | None = None
) -> Failure | None:
    """Returns why a certificate does not hold for a module, None if every step was replayed and it does.

    Raises:
        BudgetExceeded: if the time is up first.
    """
    methods = sorted(certificate.evidence)
    if len(methods) != 1 or methods[0] not in REPLAYS:
        known = ", ".join(REPLAYS)
        return Failure(what=f"the evidence is that of {', '.join(methods)}; one of {known} is replayed")
    try:
        return REPLAYS[methods[0]](subject, certificate, budget)
    except InputError as error:
        return Failure(what=str(error), entry=f"evidence.{methods[0]}")


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """A stored certificate in a float format, replayed.

    Attributes:
        dtype: the format.
        place: the file.
        claims: what it shows; none if it is refused.
        failure: why it is refused.
        details: the arithmetic of the replay, and that of the search where it was another.
    """

    dtype: str
    place: Path
    claims: tuple[Claim, ...] = ()
    failure: Failure | None = None
    details: dict[str, Json] = field(default_factory=dict)


def replay_network(
    folder: Path, network: Network, language: Language, *, budget: Budget | None = None
) -> Iterator[Replayed]:
    """Yields the replays of the float certificates beside a network, one for each format that has one.

    Raises:
        FormatError: if a certificate or a model does not read.
        BudgetExceeded: if the time is up before every step has been replayed.
    """
    for dtype in DTYPES:
        certificate = read_float_certificate(folder, dtype)
        if certificate is not None:
            subject = _subject_of(folder, network, language, certificate, dtype)
            yield _replayed(subject, certificate, dtype, float_path(folder, dtype), budget)


def replay_weights(folder: Path, language: Language, *, budget: Budget | None = None) -> Iterator[Replayed]:
    """Yields the replays of the certificates of the weights in `model/`, one for each format that has one.

    Raises:
        FormatError: if a certificate or the model does not read.
        BudgetExceeded: if the time is up before every step has been replayed.
    """
    place = folder / MODEL_FOLDER
    for dtype in DTYPES:
        certificate = read_float_certificate(place, dtype)
        if certificate is not None:
            model = read_model(place, dtype=getattr(torch, dtype)).eval()
            read = decoder(ABOVE_HALF)
            subject = ReplaySubject(
                module=model, asked=language, decode=read, empty=answer_on_empty_word(model)
            )
            yield _replayed(subject, certificate, dtype, float_path(place, dtype), budget)


def _subject_of(
    folder: Path, network: Network, language: Language, certificate: Certificate, dtype: str
) -> ReplaySubject:
    """The softmax decoder in `model/` if the evidence is about heads, the network as a module otherwise."""
    sha, wanted = network_hash(network), getattr(torch, dtype)
    if HEADS in certificate.evidence:
        return ReplaySubject(module=read_model(folder / MODEL_FOLDER), asked=language, network=sha)
    module = load_model(network, dtype=wanted).eval()
    return ReplaySubject(module=module, asked=language, empty=network.decoder.empty, network=sha)


@fixed_bits(1)
def _replayed(
    subject: ReplaySubject, certificate: Certificate, dtype: str, place: Path, budget: Budget | None
) -> Replayed:
    failure = replay(subject, certificate, budget=budget)
    if failure is None and any(claim.dtype != dtype for claim in certificate.claims):
        failure = Failure(what=f"a claim is not about {dtype}, as the name of its file says", entry="claims")
    details: dict[str, Json] = {"replayed": str(place), "arithmetic": describe_arithmetic()}
    made_on = next((e.get("arithmetic") for e in certificate.evidence.values() if isinstance(e, dict)), None)
    if made_on != details["arithmetic"]:
        # What holds here holds on the arithmetic of this machine; of the other one nothing was seen.
        details["made_on"] = made_on
    claims = () if failure else certificate.claims
    return Replayed(dtype=dtype, place=place, claims=claims, failure=failure, details=details)


@torch.no_grad()
def answer_on_empty_word(model: Model) -> Legal | None:
    """Returns what a model says before any letter; None if it has no beginning mark, or no finite score."""
    scores = model.empty_scores()
    if scores is None or not bool(scores.isfinite().all()):
        return None
    *letters, end = decoder(ABOVE_HALF)(scores).tolist()
    return Legal(frozenset(a for a, legal in enumerate(letters) if legal), end)
