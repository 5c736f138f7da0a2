"""JSON values that nobody vouches for: read with bounds on size, nesting, digits and characters.

Everything that the kernel computes with passes through here first. What is wrong is said in one sentence
(`Unreadable`), before any arithmetic has begun.

The form of a value is declared once, by readers that are put together: `record({"start": whole(0, 9)})`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from nerode.kernel.work import Unreadable, WorkCount

Json = Any

Reader = Callable[[Json, str], Any]
"""Returns what a value stands for, from the value and its name in messages; raises Unreadable."""

MAX_DIGITS = 1_000
"""Digits of a whole number, above or below a fraction line."""

MAX_BITS = 3_322
"""Bits of a number of so many digits."""

MAX_DEPTH = 40
"""Lists and objects inside each other."""

_SHOWN = 40
"""Characters of a value that a message repeats."""


def read_json(path: Path, max_bytes: int) -> Json:
    """Returns the JSON values of a file.

    Raises:
        Unreadable: if the file is missing, no ordinary file, too large, cut short or not JSON.
    """
    try:
        if path.exists() and not path.is_file():
            raise Unreadable("is not a file", path=str(path))
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}", path=str(path)) from None
    if len(content) > max_bytes:
        raise Unreadable(f"is larger than {max_bytes:,} bytes", path=str(path))
    try:
        return json.loads(content.decode(), object_pairs_hook=_no_repetition, parse_constant=_no_constant)
    except RecursionError:
        raise Unreadable("is nested too deeply", path=str(path)) from None
    except json.JSONDecodeError as error:
        raise Unreadable(f"line {error.lineno} is not JSON: {error.msg}", path=str(path)) from None
    except ValueError as error:
        raise Unreadable(f"is not JSON text: {quoted(error, 200)}", path=str(path)) from None


def _no_repetition(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has the same key twice")
    return found


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is not a number")


def check_values(data: Json, work: WorkCount) -> None:
    """Looks at every value inside JSON values.

    Raises:
        Unreadable: for values nested too deeply, a text with half a character (a surrogate), a whole number
            with too many digits, or anything that is no JSON value.
    """
    level = [data]
    for _ in range(MAX_DEPTH):
        below: list[Json] = []
        for value in level:
            kind = type(value)
            if kind is str:
                _check_text(value)
            elif kind is int:
                if value.bit_length() > MAX_BITS:
                    raise Unreadable(f"a number has more than {MAX_DIGITS:,} digits")
            elif kind is list or kind is tuple:
                below.extend(value)
            elif kind is dict:
                below.extend(value)
                below.extend(value.values())
            elif value is not None and kind is not bool and kind is not float:
                raise Unreadable(f"a value of the type {kind.__name__}, which JSON does not have")
        work.spend(len(level))
        if not below:
            return
        level = below
    raise Unreadable(f"lists and objects are nested more than {MAX_DEPTH} deep")


def _check_text(text: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Unreadable(f"the text {quoted(text)} has half a character (a surrogate)") from None


def canonical_text(data: Json) -> str:
    """Returns the text of JSON values whose SHA-256 stands for them."""
    return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def content_hash(data: Json) -> str:
    """Returns the SHA-256 of the canonical text of JSON values."""
    return hashlib.sha256(canonical_text(data).encode()).hexdigest()


def quoted(value: object, most: int = _SHOWN) -> str:
    """Returns the beginning of a value for a message, in characters that every terminal prints."""
    text = repr(value) if isinstance(value, str) else str(value)
    text = text if len(text) <= most else text[: most - 1] + "…"
    return text.encode("utf-8", "backslashreplace").decode()


def check_keys(
    data: Json, wanted: Collection[str], what: str, optional: Collection[str] = ()
) -> Mapping[str, Json]:
    """Returns an object that has exactly the keys that it should have.

    Raises:
        Unreadable: with the keys that it has.
    """
    if not isinstance(data, dict):
        raise Unreadable(f"{what} is {quoted(data)}, not an object")
    if not set(wanted) <= data.keys() <= {*wanted, *optional}:
        also = f" (and may have {', '.join(sorted(optional))})" if optional else ""
        found = quoted(", ".join(sorted(data)) or "none", 200)
        raise Unreadable(
            f"{what} must have exactly the keys {', '.join(sorted(wanted))}{also}; it has {found}"
        )
    return data


def whole(low: int, high: int) -> Reader:
    """Returns a reader of whole numbers between bounds."""

    def read(data: Json, what: str) -> int:
        if type(data) is not int or not low <= data <= high:
            raise Unreadable(f"{what} must be a whole number from {low:,} to {high:,}, not {quoted(data)}")
        return data

    return read


def choice(*allowed: Json) -> Reader:
    """Returns a reader of one of some values."""

    def read(data: Json, what: str) -> Json:
        if not any(data == value and type(data) is type(value) for value in allowed):
            raise Unreadable(f"{what} is {quoted(data)}; it must be one of {', '.join(map(str, allowed))}")
        return data

    return read


flag = choice(True, False)


def anything(data: Json, what: str) -> Json:
    """Returns a value that is read elsewhere, or not at all."""
    return data


def text(data: Json, what: str) -> str:
    """Returns a text.

    Raises:
        Unreadable: if it is something else.
    """
    if not isinstance(data, str):
        raise Unreadable(f"{what} is {quoted(data)}, not text")
    return data


def optional(item: Reader) -> Reader:
    """Returns a reader of values that may be null."""
    return lambda data, what: None if data is None else item(data, what)


def listing(item: Reader, *, length: int | None = None, most: int | None = None) -> Reader:
    """Returns a reader of lists, of one length or up to one."""

    def read(data: Json, what: str) -> list[Any]:
        if not isinstance(data, list):
            raise Unreadable(f"{what} must be a list, not {quoted(data)}")
        if length is not None and len(data) != length:
            raise Unreadable(f"{what} has {len(data):,} entries where {length:,} belong")
        if most is not None and len(data) > most:
            raise Unreadable(f"{what} has {len(data):,} entries; {most:,} is the limit")
        return data if item is anything else [item(entry, what) for entry in data]

    return read


def entries(*items: Reader) -> Reader:
    """Returns a reader of lists with one entry of each kind."""

    def read(data: Json, what: str) -> tuple[Any, ...]:
        listed = listing(anything, length=len(items))(data, what)
        return tuple([item(entry, what) for item, entry in zip(items, listed, strict=True)])

    return read


def names(most: int, *, distinct: bool = True) -> Reader:
    """Returns a reader of printable texts."""

    def read(data: Json, what: str) -> tuple[str, ...]:
        found = listing(anything, most=most)(data, what)
        if not all(isinstance(name, str) and name.isprintable() for name in found):
            raise Unreadable(f"{what} must be printable texts")
        if distinct and len(set(found)) != len(found):
            raise Unreadable(f"{what} has a name twice")
        return tuple(found)

    return read


def table(item: Reader) -> Reader:
    """Returns a reader of objects with any keys."""

    def read(data: Json, what: str) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise Unreadable(f"{what} must be an object, not {quoted(data)}")
        return {key: item(value, f"{quoted(key)} of {what}") for key, value in data.items()}

    return read


def record(fields: Mapping[str, Reader], optional: Mapping[str, Reader] | None = None) -> Reader:
    """Returns a reader of objects with exactly these keys, and some that may be missing."""
    readers = {**fields, **(optional or {})}

    def read(data: Json, what: str) -> dict[str, Any]:
        check_keys(data, fields, what, optional or ())
        return {key: readers[key](value, f"{key!r} of {what}") for key, value in data.items()}

    return read


def file_record(form: str, version: int, fields: Mapping[str, Reader]) -> Reader:
    """Returns a reader of the object of a whole file, whose `format` and `version` must be these."""
    whole_file = record({"format": anything, "version": anything, **fields})

    def read(data: Json, what: str) -> dict[str, Any]:
        check_keys(data, ("format", "version", *fields), what)
        if data["format"] != form or data["version"] != version or type(data["version"]) is not int:
            raise Unreadable(
                f"this is {quoted(data['format'])} version {quoted(data['version'])}, "
                f"not {form!r} version {version}"
            )
        found: dict[str, Any] = whole_file(data, what)
        return found

    return read
