"""The table of replays: which function checks the evidence of which method, and the files of a folder.

    bit-closure           every listed step, computed by the module            replay/bits.py
    fading-boxes          both ends of every box, computed by the module       replay/fading.py
    attention-rounding    lemmas about heads, applied to the tensors again     replay/attention/
    exact-sums            the step on forms, beside that of the exact network  replay/sums.py

Claims about exact networks are the kernel's. Every replay runs on one thread, as the searches do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from nerode.core import Budget, FormatError, InputError
from nerode.kernel import CERTIFICATE_FILE, DTYPES, PREDICT, Certificate, Claim, Failure
from nerode.languages import Language, LanguageQuestion, Legal, MooreQuestion, Question, language_hash
from nerode.models import Model, fixed_bits, read_model
from nerode.models.network_module import load_model
from nerode.network import Network, network_hash
from nerode.proofs.folder import (
    MODEL_FOLDER,
    check_folder,
    float_path,
    read_certificate,
    read_float_certificate,
    read_language,
    read_network,
)
from nerode.proofs.proving import STATE_BOXES
from nerode.proofs.reading import decode
from nerode.proofs.replay.attention.checker import replay_heads
from nerode.proofs.replay.attention.records import METHOD as HEADS
from nerode.proofs.replay.bits import METHOD as BITS, covers_single_words, recheck
from nerode.proofs.replay.fading import FADING, replay_fading
from nerode.proofs.replay.lift import carried_claim, find_unlifted, is_carried
from nerode.proofs.replay.listing import describe_arithmetic
from nerode.proofs.replay.softmax import outward_decoder
from nerode.proofs.replay.subject import Subject, make_subject, open_subject
from nerode.proofs.replay.sums import METHOD as SUMS, replay_sums
from nerode.records import SETTLED, Reading

Json = Any

ABOVE_HALF = Reading(kind="above", threshold="1/2")
"""How the scores of written models are read."""


def _model(subject: Subject) -> Model:
    """The module as a model of the zoo; InputError if it is another."""
    if not isinstance(subject.module, Model):
        raise InputError("this evidence is about models of the zoo")
    return subject.module


def _language(subject: Subject) -> Language:
    """The language whose next letters are asked for; InputError if the question is another."""
    asked = subject.asked
    if isinstance(asked, LanguageQuestion) and asked.asks == "next":
        return asked.language
    raise InputError("this evidence is about what may follow in a language")


def _require_reading(subject: Subject, reading: Reading) -> None:
    """Raises InputError if the scores are read in another way than a method is about."""
    if subject.reading != reading:
        raise InputError(f"this evidence is about {reading}; the scores are read as {subject.reading}")


def _bits(subject: Subject, certificate: Certificate, names: str, budget: Budget | None) -> Failure | None:
    return recheck(
        subject.module,  # type: ignore[arg-type]
        subject.asked,
        certificate,
        decode=None if subject.reading is None else outward_decoder(subject.reading),
        empty=subject.empty,
        network=names,
        budget=budget,
    )


def _fading(subject: Subject, certificate: Certificate, names: str, budget: Budget | None) -> Failure | None:
    _require_reading(subject, Reading(kind="above"))
    return replay_fading(_model(subject), _language(subject), certificate, network=names, budget=budget)


def _heads(subject: Subject, certificate: Certificate, names: str, budget: Budget | None) -> Failure | None:
    _require_reading(subject, ABOVE_HALF)
    return replay_heads(_model(subject), _language(subject), certificate, network=names, budget=budget)


def _sums(subject: Subject, certificate: Certificate, names: str, budget: Budget | None) -> Failure | None:
    _require_reading(subject, ABOVE_HALF)
    return replay_sums(_model(subject), _language(subject), certificate, network=names, budget=budget)


METHODS = {BITS: "closure", FADING: "fading", HEADS: "heads", SUMS: "sums", STATE_BOXES: "boxes"}
"""The names of the methods in settlements."""

REPLAYS: dict[str, Callable[[Subject, Certificate, str, Budget | None], Failure | None]] = {
    BITS: _bits,
    FADING: _fading,
    HEADS: _heads,
    SUMS: _sums,
}


@fixed_bits(1)
def replay(
    subject: Subject, certificate: Certificate, *, names: str, budget: Budget | None = None
) -> Failure | None:
    """Returns why a certificate does not hold for a module, None if every step was replayed and it does.

    Args:
        subject: the module with its question.
        certificate: about it.
        names: the SHA-256 that it has to name: of the subject, or of the network that was made a module.
        budget: limits the CPU seconds.

    Raises:
        BudgetExceeded: if the time is up first.
    """
    methods = sorted(certificate.evidence)
    if len(methods) != 1 or methods[0] not in REPLAYS:
        known = ", ".join(REPLAYS)
        return Failure(what=f"the evidence is that of {', '.join(methods)}; one of {known} is replayed")
    try:
        return REPLAYS[methods[0]](subject, certificate, names, budget)
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
        details: the arithmetic of the replay, and that of the search where it was another (`made_on`); the
            method, the number of states, and whether words are covered that are read alone.
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

    They are about the network as nerode's module runs it.

    Raises:
        FormatError: if a certificate does not read.
        BudgetExceeded: if the time is up before every step has been replayed.
    """
    for dtype in DTYPES:
        certificate = read_float_certificate(folder, dtype)
        if certificate is not None:
            module = load_model(network, dtype=getattr(torch, dtype)).eval()
            subject = make_subject(
                folder.name,
                module=module,
                question=LanguageQuestion(language),
                empty=network.decoder.empty,
            )
            names = network_hash(network)
            yield _replayed(subject, certificate, names, dtype, float_path(folder, dtype), budget)


def replay_weights(folder: Path, language: Language, *, budget: Budget | None = None) -> Iterator[Replayed]:
    """Yields the replays of the certificates of the weights in `model/`, one for each format that has one.

    Raises:
        FormatError: if a certificate or the model does not read, or it is asked about another language.
        BudgetExceeded: if the time is up before every step has been replayed.
    """
    place = folder / MODEL_FOLDER
    found = [(dtype, read_float_certificate(place, dtype)) for dtype in DTYPES]
    if not any(certificate for _, certificate in found):
        return
    if place.is_symlink():
        raise FormatError("is a link; the weights of a network lie in its own folder", path=place)
    weights = open_subject(place)
    if weights.asked.hash != language_hash(language):
        raise FormatError("is asked about another language than its network", path=place)
    if weights.reading != ABOVE_HALF:
        raise FormatError(
            f"is read as {weights.reading}; written models are read as {ABOVE_HALF}", path=place
        )
    for dtype, certificate in found:
        if certificate is not None:
            model = read_model(place, dtype=getattr(torch, dtype)).eval()
            empty, asked = answer_on_empty_word(model), LanguageQuestion(language)
            subject = replace(weights, module=model, question=asked, empty=empty)
            yield _replayed(subject, certificate, weights.hash, dtype, float_path(place, dtype), budget)


def replay_settled(folder: Path, subject: Subject, *, budget: Budget | None = None) -> Replayed:
    """Returns the replay of the proof with which a subject was settled; it knows nothing of the search.

    Args:
        folder: of the subject; the proof is in `settled/`.
        subject: opened from it.
        budget: limits the CPU seconds.

    Raises:
        FormatError: if the certificate does not read.
        BudgetExceeded: if the time is up.
    """
    place = folder / SETTLED
    for path in (place, *(place.iterdir() if place.is_dir() else ())):
        if path.is_symlink():
            raise FormatError("is a link; the files of a network lie in its own folder", path=path)
    path, dtype = place / CERTIFICATE_FILE, subject.record.network.dtype or ""
    certificate = read_certificate(path)
    if STATE_BOXES in certificate.evidence:
        return _replay_lifted(place, subject, budget)
    assert subject.module is not None
    return _replayed(subject, certificate, subject.hash, dtype, path, budget)


def _replay_lifted(place: Path, subject: Subject, budget: Budget | None) -> Replayed:
    """The replay of a proof about the exact network that a cell means."""
    path, dtype = place / CERTIFICATE_FILE, subject.record.network.dtype or ""
    found = check_folder(place, budget=budget)
    model, problem = subject.module, ""
    if found.ok and not isinstance(model, Model):
        problem = "it is not a model of the zoo"
    elif found.ok:
        assert isinstance(model, Model)
        assert subject.reading is not None
        network, language = read_network(place), read_language(place)
        problem = find_unlifted(model, subject.asked, subject.reading, network, language)
        if isinstance(subject.asked, MooreQuestion) and any(c.task != PREDICT for c in found.claims):
            problem = problem or "classes are named after all words, and it is about fewer"
        if not all(is_carried(model, claim) for claim in found.claims):
            problem = problem or "a claim is about another format, or about one bias, and the cell adds two"
    if problem:
        what = f"the proof is not about the weights that it lies with: {problem}"
        return Replayed(dtype=dtype, place=path, failure=Failure(what=what, entry="network"))
    claims = tuple(map(carried_claim, found.claims))
    details = {"method": METHODS[STATE_BOXES]}
    return Replayed(dtype=dtype, place=path, claims=claims, failure=found.failure, details=details)


@fixed_bits(1)
def _replayed(
    subject: Subject, certificate: Certificate, names: str, dtype: str, place: Path, budget: Budget | None
) -> Replayed:
    failure = replay(subject, certificate, names=names, budget=budget)
    if failure is None and any(claim.dtype != dtype for claim in certificate.claims):
        failure = Failure(what=f"a claim is not about {dtype}, as its weights are", entry="claims")
    details: dict[str, Json] = {"replayed": str(place), "arithmetic": describe_arithmetic()}
    (method, listed), *_ = certificate.evidence.items()
    made_on = listed.get("arithmetic") if isinstance(listed, dict) else None
    if method != SUMS and made_on != details["arithmetic"]:
        # What holds here holds on the arithmetic of this machine; of the other one nothing was seen.
        details["made_on"] = made_on
    if failure is None:
        details |= {"method": METHODS[method], "states": len(listed.get("moves", ()))}
        details["alone"] = covers_single_words(certificate)
    claims = () if failure else certificate.claims
    return Replayed(dtype=dtype, place=place, claims=claims, failure=failure, details=details)


def is_proof(question: Question, replayed: Replayed) -> bool:
    """Whether a replay shows that a question is answered correctly: at every length, also of single words.

    Where the strongest answer to a question is asked for, valid prefixes are enough.
    """
    tasks = {PREDICT, *question.tasks}
    shown = any(claim.length == "all" and claim.task in tasks for claim in replayed.claims)
    return shown and bool(replayed.details.get("alone", True))


@torch.no_grad()
def answer_on_empty_word(model: Model) -> Legal | None:
    """Returns what a model says before any letter; None if it has no beginning mark, or no finite score."""
    scores = model.empty_scores()
    if scores is None or not bool(scores.isfinite().all()):
        return None
    *letters, end = decode(ABOVE_HALF, scores)[0].tolist()
    return Legal(frozenset(a for a, legal in enumerate(letters) if legal), end)
