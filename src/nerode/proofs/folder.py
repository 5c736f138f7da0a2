"""A network on disk: config.json, language.json, certificate.json; written, read and checked again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from nerode import kernel
from nerode.core import (
    Budget,
    BudgetExceeded,
    FormatError,
    InputError,
    claim_folder,
    read_bytes,
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
    Failure,
    OverBudget,
    Unreadable,
    certificate_from_json,
    certificate_to_json,
)
from nerode.languages import Language, describe_language, language_from_description
from nerode.network import NETWORK_FORMAT, Network, network_from_json, network_to_json
from nerode.proofs.proving import exceeded, kernel_budget
from nerode.records import RESULT, ModelClaim, hash_tensors, unexamined

Json = Any

RUN_WEIGHTS = Path("model") / "model.safetensors"
"""The weights of a run, in its folder."""

MODEL_FOLDER = "model"
"""The weights of a real architecture, in the folder of its network."""

OWN_WEIGHTS = Path("model") / "weights.safetensors"
"""The weights of a run of a model of the user's own."""

MAX_WEIGHTS = 1 << 31
"""Bytes of weights; larger files are not read."""

_MAX_FLOATS = 1 << 26
"""Bytes of a certificate for a float format."""

_FOLDERS = "`nerode compile … -o DIR` writes such a folder"
"""What to do about a folder that has no network."""

OLD_VERSION = 1
"""Certificates of this version are not read."""


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
        write_atomically(place / LANGUAGE_FILE, _text(describe_language(language, budget)))
        write_atomically(place / NETWORK_FILE, _text(network_to_json(network)))
        if certificate is not None:
            write_certificate(place / CERTIFICATE_FILE, certificate)


def _remove_model(place: Path) -> None:
    """Removes the weights of an older network with their certificates; other files there stay."""
    if not (place / NETWORK_FILE).is_file():
        return
    names = (NETWORK_FILE, RUN_WEIGHTS.name, *(float_path(place, dtype).name for dtype in DTYPES))
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
    if not path.exists():
        return None
    content = read_json(path, max_bytes=_MAX_FLOATS)
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


def tensor_hash(path: Path) -> str:
    """Returns the SHA-256 of the names, types, shapes and bytes of the tensors in a safetensors file.

    Raises:
        FormatError: if the file is missing or is no such file.
    """
    try:
        return hash_tensors(read_bytes(path, max_bytes=MAX_WEIGHTS))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FormatError("is no file of safetensors", path=path) from None


def run_tensor_hash(run: Path) -> str:
    """Returns the hash of the tensors of a run; a model of the user's own keeps them in another file.

    Raises:
        FormatError: if there is no such file.
    """
    own = run / OWN_WEIGHTS
    return tensor_hash(own if own.exists() else run / RUN_WEIGHTS)


def check_folder(folder: Path | str, *, budget: Budget | None = None) -> CheckResult:
    """Returns whether the kernel accepts the certificate in a folder.

    Inside the folder of a run the network must also name the weights of this run.

    Raises:
        FormatError: for a file that is missing, too large, cut short or not what it should be, and for a
            certificate of version 1.
        BudgetExceeded: if the budget ends before the check does.
    """
    folder = Path(folder)
    try:
        result = kernel.check_folder(folder, budget=kernel_budget(budget))
        if result.ok:
            # The kernel reads what it needs; what it accepts must also be a network of nerode.
            read_network(folder), read_language(folder)
        failure = _other_weights(folder) if result.ok else None
        return result if failure is None else CheckResult(ok=False, claims=(), failure=failure)
    except Unreadable as error:
        if _is_old(folder / CERTIFICATE_FILE):
            raise FormatError(
                f"is a certificate of version {OLD_VERSION}",
                path=folder / CERTIFICATE_FILE,
                hint="`nerode compile` writes the network and its certificate again",
            ) from None
        missing = "No such file" in error.what or "Not a directory" in error.what
        hint = _FOLDERS if missing else ""
        raise FormatError(error.what, path=error.path or folder, hint=hint) from None
    except OverBudget as stop:
        raise exceeded(stop, budget) from None


def _other_weights(folder: Path) -> Failure | None:
    """The failure of a proof that lies in the folder of a run and is not about its weights."""
    run = run_of(folder)
    if run is None:
        return None
    if failure := find_link(run):
        return failure
    stated = read_network(folder).origin.weights
    weights = run / RUN_WEIGHTS
    if weights.is_file() and stated == tensor_hash(weights):
        return None
    return Failure(
        what=f"the proof is not about the weights of the run in {run.name}, in whose folder it lies",
        entry="network.origin.weights",
    )


def run_of(folder: Path) -> Path | None:
    """Returns the run in whose folder another folder lies, by its path as it is given; None if in none.

    A link is not followed: what it leads to belongs to another run.
    """
    parent = Path(os.path.abspath(folder)).parent
    return parent if os.path.lexists(parent / RESULT) else None


def find_link(run: Path) -> Failure | None:
    """Returns the failure that something in the folder of a run is a link; the folder itself may be one."""
    for place, folders, files in os.walk(run):
        for path in (Path(place) / name for name in sorted([*folders, *files])):
            if path.is_symlink():
                entry = str(path.relative_to(run))
                what = f"{entry} in the run {run.name} is a link; the files of a run lie in its own folder"
                return Failure(what=what, entry=entry)
    return None


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


def _is_old(path: Path) -> bool:
    """Whether a file is a certificate of version 1."""
    try:
        data = _read(path)
    except FormatError:
        return False
    return isinstance(data, dict) and (data.get("format"), data.get("version")) == (
        kernel.FORMAT,
        OLD_VERSION,
    )


def _read(path: Path) -> Json:
    limit = MAX_BYTES.get(path.name, _MAX_FLOATS)
    return read_json(path, max_bytes=limit, hint=_FOLDERS)


def _text(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"
