"""Tables of settings: from TOML files, from `--set a.b=c`, and joined."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nerode.core import FormatError, InputError


def read_toml(path: Path) -> dict[str, Any]:
    """Returns the tables of a TOML file.

    Raises:
        FormatError: if it cannot be read or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", path=path) from None
    except UnicodeDecodeError:
        raise FormatError("is not UTF-8 text", path=path) from None
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"is not TOML: {error}", path=path) from None


def parse_assignments(assignments: Iterable[str]) -> dict[str, Any]:
    """Returns nested tables for texts like "optimiser.rate=1e-3".

    What stands behind the sign is read as a TOML value (numbers, lists, true, tables), and as plain text if
    it is none.

    Raises:
        InputError: for a text without a name or a sign, or for names that contradict each other.
    """
    tables: dict[str, Any] = {}
    for text in assignments:
        name, sign, value = text.partition("=")
        parts = [part.strip() for part in name.split(".")]
        if not sign or not all(parts):
            raise InputError(f"{text!r} does not set anything; write it like optimiser.rate=1e-3")
        place = tables
        for part in parts[:-1]:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise InputError(f"{text!r} sets a part of {part}, which another setting made a plain value")
        place[parts[-1]] = _value(value.strip())
    return tables


def merge_tables(base: Mapping[str, Any], *others: Mapping[str, Any]) -> dict[str, Any]:
    """Returns tables joined, later ones over earlier ones, table by table."""
    joined = dict(base)
    for other in others:
        for name, value in other.items():
            before = joined.get(name)
            both = isinstance(before, Mapping) and isinstance(value, Mapping)
            joined[name] = merge_tables(before, value) if both else value  # type: ignore[arg-type]
    return joined


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
