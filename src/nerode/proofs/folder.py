"""A network on disk: network.json, language.json, certificate.json; written, read and checked again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nerode import kernel
from nerode.core import (
    Budget,
    BudgetExceeded,
    FormatError,
    InputError,
    claim_folder,
    read_json,
    whole_folder,
    write_atomically,
)
from nerode.kernel import (
    ANY_ORDER,
    CERTIFICATE_FILE,
    DTYPES,
    EXACT,
    LANGUAGE_FILE,
    LANGUAGE_TASKS,
    MAX_BYTES,
    NETWORK_FILE,
    Certificate,
    CheckResult,
    Claim,
    OverBudget,
    Unreadable,
    certificate_from_json,
    certificate_to_json,
    content_hash,
)
from nerode.languages import Language, describe_language, language_from_description
from nerode.network import NETWORK_FORMAT, Network, network_from_json, network_to_json
from nerode.proofs.proving import exceeded, kernel_budget
from nerode.records import (
    SUBJECT_FILE,
    WEIGHTS_FILE,
    AskedQuestion,
    ModelClaim,
    NetworkEntry,
    SubjectRecord,
    TokenLetters,
    unexamined,
)

Json = Any

MODEL_FOLDER = "model"
"""The weights of a real architecture, in the folder of its network."""

_MAX_FLOATS = 1 << 26
"""Bytes of a certificate for a float format."""

_FOLDERS = "`nerode compile … -o DIR` writes such a folder"
"""What to do about a folder that has no network."""


def write_folder(
    folder: Path,
    network: Network,
    language: Language,
    certificate: Certificate | None = None,
    *,
    budget: Budget | None = None,
) -> None:
    """Writes a network, its language and, if there is one, its certificate into a folder.

    Certificates, those of float formats too, and the model of an older network are removed first and the new
    certificate is written last, so that a folder never holds one for other files.
    """
    try:
        _remove_model(folder / MODEL_FOLDER)
        for old in (folder / CERTIFICATE_FILE, *(float_path(folder, dtype) for dtype in DTYPES)):
            old.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot write into {folder}: {error.strerror}; choose another folder") from None
    with whole_folder(folder) as place:
        described, written = describe_language(language, budget), network_to_json(network)
        write_atomically(place / LANGUAGE_FILE, _text(described))
        write_atomically(place / NETWORK_FILE, _text(written))
        subject = SubjectRecord(
            network=NetworkEntry(kind="exact", target=network.target),
            letters=TokenLetters.numbered(network.alphabet.symbols),
            question=AskedQuestion(name=language.name, asks="next"),
            origin={"kind": "trained" if network.origin.weights else "compiled"},
            files={NETWORK_FILE: content_hash(written), LANGUAGE_FILE: content_hash(described)},
        )
        write_atomically(place / SUBJECT_FILE, _text(subject.to_json()))
        if certificate is not None:
            write_certificate(place / CERTIFICATE_FILE, certificate)


def _remove_model(place: Path) -> None:
    """Removes the weights of an older network with their certificates; other files there stay."""
    if not (place / SUBJECT_FILE).is_file():
        return
    names = (SUBJECT_FILE, WEIGHTS_FILE, LANGUAGE_FILE, *(float_path(place, dtype).name for dtype in DTYPES))
    for name in names:
        (place / name).unlink(missing_ok=True)
    if not any(place.iterdir()):
        place.rmdir()


def write_certificate(path: Path, certificate: Certificate) -> None:
    """Writes a certificate whole or not at all."""
    write_atomically(path, _text(certificate_to_json(certificate)))


def claim_network_folder(folder: Path, *, force: bool = False) -> None:
    """Refuses a folder for a network that holds other things, before any work is done.

    Raises:
        InputError: as `claim_folder`.
    """
    claim_folder(folder, holds=(NETWORK_FILE,), form=NETWORK_FORMAT, of="a compiled network", force=force)


def float_path(folder: Path, dtype: str) -> Path:
    """Returns where the certificate for a float format is kept."""
    return folder / f"certificate.{dtype}.json"


def write_float_certificate(folder: Path, dtype: str, certificate: Certificate) -> Path:
    """Writes the certificate for a float format beside what it is about; returns where."""
    path = float_path(folder, dtype)
    write_atomically(path, json.dumps(certificate_to_json(certificate), sort_keys=True) + "\n")
    return path


def read_float_certificate(folder: Path, dtype: str) -> Certificate | None:
    """Returns the certificate for a float format; None if the folder has none.

    Raises:
        FormatError: if it does not read.
    """
    path = float_path(folder, dtype)
    return read_certificate(path) if path.exists() else None


def read_certificate(path: Path) -> Certificate:
    """Returns the certificate in a file.

    Raises:
        FormatError: if it does not read.
    """
    content = read_json(path, max_bytes=_MAX_FLOATS, hint="`nerode prove` writes it")
    try:
        return certificate_from_json(content)
    except (InputError, ValueError, RecursionError) as error:
        raise FormatError(f"is not a certificate: {error}", path=path) from None


def read_network(folder: Path) -> Network:
    """Returns the network of a folder.

    Raises:
        FormatError: if the folder has no network or one that does not read.
    """
    data = _read(folder / NETWORK_FILE)
    try:
        return network_from_json(data)
    except InputError as error:
        raise FormatError(str(error), path=folder / NETWORK_FILE) from None


def read_language(folder: Path) -> Language:
    """Returns the language of a folder.

    Raises:
        FormatError: if the folder has no language or one that does not read.
    """
    data = _read(folder / LANGUAGE_FILE)
    try:
        return language_from_description(data)
    except InputError as error:
        raise FormatError(str(error), path=folder / LANGUAGE_FILE) from None


def check_folder(folder: Path | str, *, budget: Budget | None = None) -> CheckResult:
    """Returns whether the kernel accepts the certificate in a folder.

    Raises:
        FormatError: for a file that is missing, too large, cut short or not what it should be.
        BudgetExceeded: if the budget ends before the check does.
    """
    folder = Path(folder)
    try:
        result = kernel.check_folder(folder, budget=kernel_budget(budget))
        if result.ok:
            # The kernel reads what it needs; what it accepts must also be a network of nerode.
            read_network(folder), read_language(folder)
        return result
    except Unreadable as error:
        missing = "No such file" in error.what or "Not a directory" in error.what
        hint = _FOLDERS if missing else ""
        raise FormatError(error.what, path=error.path or folder, hint=hint) from None
    except OverBudget as stop:
        raise exceeded(stop, budget) from None


def stated_claims(folder: Path) -> tuple[Claim, ...]:
    """Returns what the certificate in a folder states, unchecked; none if there is none that can be read."""
    try:
        return certificate_from_json(_read(folder / CERTIFICATE_FILE)).claims
    except (FormatError, Unreadable):
        return ()


def graph_claims(folder: Path, *, dtype: str, budget: Budget | None = None) -> tuple[ModelClaim, ...]:
    """Returns what is known of the network in a folder when any program runs it in floats, step by step.

    The certificate is checked again. A proof for any order of evaluation holds for every program whose
    products and sums are those of the format; one about the roundings of a module does not, so that there may
    be no claim about the format.
    """
    if not (folder / CERTIFICATE_FILE).exists():
        return (unexamined("The network has no certificate.", dtype=dtype),)
    try:
        result = check_folder(folder, budget=budget)
    except (InputError, BudgetExceeded) as error:
        return (unexamined(f"The certificate of the network was not checked again: {error}", dtype=dtype),)
    if result.failure is not None:
        reason = f"The certificate of the network is refused: {result.failure.what}."
        return (unexamined(reason, dtype=dtype),)
    claims = [c for c in result.claims if c.scope == EXACT or (c.scope, c.dtype) == (ANY_ORDER, dtype)]
    return tuple(
        ModelClaim(scope=c.scope, says=c.covers, dtype=c.dtype, length=c.length)
        for c in claims
        if c.task in LANGUAGE_TASKS
    )


def check(network: Json, language: Json, certificate: Json, *, budget: Budget | None = None) -> CheckResult:
    """Returns whether the kernel accepts a certificate; all three are JSON values.

    Raises:
        FormatError: if one of them does not have the form it should have.
        BudgetExceeded: if the budget ends before the check does.
    """
    try:
        return kernel.check(network, language, certificate, budget=kernel_budget(budget))
    except Unreadable as error:
        raise FormatError(error.what, path=error.path or "certificate") from None
    except OverBudget as stop:
        raise exceeded(stop, budget) from None


def _read(path: Path) -> Json:
    limit = MAX_BYTES.get(path.name, _MAX_FLOATS)
    return read_json(path, max_bytes=limit, hint=_FOLDERS)


def _text(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"
