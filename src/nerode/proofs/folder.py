"""A network on disk: config.json, language.json, certificate.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nerode.core import DTYPES, Budget, FormatError, InputError, write_atomically
from nerode.languages import Language, describe_language, language_from_description
from nerode.network import Network, network_from_json, network_to_json
from nerode.proofs.certificate import Certificate, certificate_to_json
from nerode.proofs.checker import (
    CERTIFICATE_FILE,
    LANGUAGE_FILE,
    MAX_BYTES,
    NETWORK_FILE,
)


def write_folder(
    folder: Path,
    network: Network,
    language: Language,
    certificate: Certificate | None = None,
    *,
    budget: Budget | None = None,
) -> None:
    """Writes a network, its language and, if there is one, its certificate into a folder.

    Certificates, those of float formats too, are removed first and the new one is written last, so that a
    folder never holds one for other files.
    """
    target = folder / CERTIFICATE_FILE
    try:
        for old in (target, *(folder / f"certificate.{dtype}.json" for dtype in DTYPES)):
            old.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot write into {folder}: {error.strerror}; choose another folder") from None
    write_atomically(folder / LANGUAGE_FILE, _text(describe_language(language, budget)))
    write_atomically(folder / NETWORK_FILE, _text(network_to_json(network)))
    if certificate is not None:
        write_atomically(target, _text(certificate_to_json(certificate)))


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


def _read(path: Path) -> Any:
    """The JSON values of a file."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES[path.name]:
            raise FormatError(f"is larger than {MAX_BYTES[path.name]:,} bytes", path=path)
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FormatError(
            f"cannot be read: {error.strerror}",
            path=path,
            hint="`nerode compile … -o DIR` writes such a folder",
        ) from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"is not JSON: {error}", path=path) from None


def _text(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"
