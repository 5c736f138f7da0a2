"""JSON files from outside: one reader with limits, and an error that names the fault and its line.

What Python's `json` accepts although JSON forbids it, or although no record here means it, is refused: NaN
and infinities (also as `1e999`), a key that an object has twice, half of a surrogate pair, nesting without
end. The C parser reads; only where something is wrong is the text scanned again, for the line.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any, NoReturn

from nerode.core.errors import FormatError
from nerode.core.files import MAX_BYTES, decode_text, excerpt, read_text

Json = Any
"""A value that JSON can hold: None, bool, int, float, str, and lists and dicts of such values."""

MAX_DEPTH = 200
"""Lists and objects that may be nested in each other."""
MAX_DIGITS = 4300
"""Digits of a whole number; Python's own limit for reading one."""

_HALF_CHARACTER = re.compile("\\\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_TOKEN = re.compile(r'"(?:[^"\\]+|\\.)*"|[\[\]{}]|[^\s\[\]{}:,"]+', re.DOTALL)
_KEY_FOLLOWS = re.compile(r"\s*:")
_INTEGER = re.compile(r"-?([0-9]+)(?![0-9]|\.[0-9]|[eE][-+]?[0-9])")
_FLOAT = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_CONSTANTS = ("NaN", "Infinity", "-Infinity")


class _Refused(Exception):
    """The text has a fault; `_first_fault` finds it."""


def read_json(
    path: Path,
    *,
    max_bytes: int = MAX_BYTES,
    max_depth: int = MAX_DEPTH,
    max_digits: int = MAX_DIGITS,
    hint: str = "",
) -> Json:
    """Returns the value of a JSON file.

    Args:
        path: the file.
        max_bytes: the largest size that is read.
        max_depth: lists and objects that may be nested in each other.
        max_digits: digits that a whole number may have.
        hint: what a user can do where the file is missing or unreadable.

    Raises:
        FormatError: with the path, and the line where there is one; see the head of this file.
    """
    text = read_text(path, max_bytes=max_bytes, hint=hint)
    return parse_json(text, path=path, max_depth=max_depth, max_digits=max_digits)


def read_json_lines(path: Path, *, max_bytes: int = MAX_BYTES) -> list[Json]:
    """Returns the values of a file with one JSON value per line; empty lines are passed over.

    Raises:
        FormatError: as `read_json`, with the line of the file.
    """
    lines = read_text(path, max_bytes=max_bytes).split("\n")
    return [parse_json(text, path=path, line=i) for i, text in enumerate(lines, start=1) if text.strip()]


def parse_json(
    text: str | bytes,
    *,
    path: Path | str,
    line: int = 1,
    max_depth: int = MAX_DEPTH,
    max_digits: int = MAX_DIGITS,
) -> Json:
    """Returns the value of a JSON text.

    Args:
        text: the text; bytes must be UTF-8.
        path: the name of the source in messages.
        line: the line of the source on which the text begins.
        max_depth: lists and objects that may be nested in each other.
        max_digits: digits that a whole number may have, at most 4,300.

    Raises:
        FormatError: with the path and the line.
    """
    if isinstance(text, bytes):
        text = decode_text(text, path=path)

    def short_integer(digits: str) -> int:
        if len(digits.lstrip("-")) > max_digits:
            raise _Refused
        return int(digits)

    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_constant=_refuse_constant,
            # A hook costs time per number; Python itself refuses what is above its own limit.
            parse_int=short_integer if max_digits < MAX_DIGITS else None,
        )
        _check_values(value, max_depth, _HALF_CHARACTER.search(text) is not None)
    except json.JSONDecodeError as error:
        what = f"this is not JSON: {error.msg} at column {error.colno}"
        raise FormatError(what, path=path, line=line + error.lineno - 1) from None
    except (_Refused, RecursionError, ValueError):
        what, position = _first_fault(text, max_depth, max_digits)
        raise FormatError(what, path=path, line=line + text.count("\n", 0, position)) from None
    return value


def _unique_keys(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Refused
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise _Refused


def _check_values(value: Json, max_depth: int, has_half_characters: bool) -> None:
    """Raises _Refused for nesting that is too deep, an infinite number, or half a character."""
    level: list[Json] = [[value]]
    depth = 0
    while level:
        deeper: list[Json] = []
        for container in level:
            if has_half_characters and isinstance(container, dict) and not all(map(_is_text, container)):
                raise _Refused
            for child in container.values() if isinstance(container, dict) else container:
                kind = type(child)
                if kind is list or kind is dict:
                    deeper.append(child)
                elif (kind is float and math.isinf(child)) or (
                    has_half_characters and kind is str and not _is_text(child)
                ):
                    raise _Refused
        level, depth = deeper, depth + 1
        if level and depth > max_depth:
            raise _Refused


def _is_text(text: str) -> bool:
    """Whether a string has no half of a surrogate pair, so that it can be written as UTF-8."""
    return not any("\ud800" <= c <= "\udfff" for c in text)


def _first_fault(text: str, max_depth: int, max_digits: int) -> tuple[str, int]:
    """Returns the first thing in a text that `parse_json` refuses, and its position."""
    keys: list[set[str]] = []
    for match in _TOKEN.finditer(text):
        token, start = match.group(), match.start()
        if token in ("[", "{"):
            keys.append(set())
            if len(keys) > max_depth:
                return f"lists or objects are nested too deeply; at most {max_depth} levels are read", start
        elif token in ("]", "}"):
            keys.pop()
        elif token.startswith('"'):
            string = json.loads(token, strict=False)
            if not _is_text(string):
                return f"the text {excerpt(string)} has half a character; write it in UTF-8", start
            if _KEY_FOLLOWS.match(text, match.end()):
                if string in keys[-1]:
                    return f"the key {excerpt(string)} is there twice", start
                keys[-1].add(string)
        elif token.startswith(_CONSTANTS):
            return f"{token[:20]} is no number of JSON", start
        elif integer := _INTEGER.match(token):
            if len(integer[1]) > max_digits:
                return f"the number {token[:20]}… is too long; at most {max_digits:,} digits are read", start
        elif (number := _FLOAT.match(token)) and math.isinf(float(number[0])):
            return f"{token[:20]} is no number of JSON", start
    raise AssertionError("a text was refused that has no fault")
