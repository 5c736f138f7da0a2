"""The record of an imported model: where its weights come from, and what its letters mean."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nerode.core import FormatError, InputError, from_mapping, read_bytes, to_mapping

IMPORT_FILE = "import.json"
IMPORT_FORMAT = "nerode-import"

_MAX_RECORD = 1 << 27


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRecord:
    """The origin of an imported model, and what its letters mean.

    Attributes:
        library: the library it comes from.
        kind: the name of the format.
        source: the folder or file that it was read from.
        config: the library's config.
        letters: the letters in order.
        tokens: the token of each letter.
        begin: the token that is read before every word; None for none.
        end: the token of the last score; None for none.
        cap: the cap that the library puts on the scores; 0 for none.
        difference: the largest difference from the library's scores, as a share of the largest; None where
            the library is not installed.
        compared: the library and version compared with, or why it was not.
        language: the language that the model is about, as `nerode check` takes it; empty if not known.
        recognises: whether the scores say out and in; otherwise they say which letters may follow.
    """

    library: str
    kind: str
    source: str
    config: dict[str, Any] = field(default_factory=dict)
    letters: tuple[str, ...]
    tokens: tuple[int, ...]
    begin: int | None = None
    end: int | None = None
    cap: float = 0.0
    difference: float | None = None
    compared: str = ""
    language: str = ""
    recognises: bool = False

    def to_json(self) -> dict[str, Any]:
        """Returns plain values."""
        return {"format": IMPORT_FORMAT, "version": 1, **to_mapping(self)}


def read_import(folder: Path) -> ImportRecord:
    """Returns the record of an imported model.

    Raises:
        FormatError: if it cannot be read.
    """
    path = folder / IMPORT_FILE
    try:
        data = json.loads(read_bytes(path, max_bytes=_MAX_RECORD))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"is not JSON: {error}", path=path) from None
    if not isinstance(data, dict) or data.pop("format", None) != IMPORT_FORMAT or data.pop("version", 0) != 1:
        raise FormatError(f"is not the record of an import: its format is not {IMPORT_FORMAT!r}", path=path)
    try:
        return from_mapping(ImportRecord, data, where=IMPORT_FILE)
    except InputError as error:
        raise FormatError(str(error), path=path) from None
