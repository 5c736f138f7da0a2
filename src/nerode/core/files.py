"""Files: read within a byte limit, written whole or not at all, never over what somebody else wrote.

`write_atomically` is the one way in which a file is written, `claim_file` and `claim_folder` decide whether a
command may write there. A file is nerode's own if it says so in the way of its format: a comment, the
generator of a page, the format of a record. Formats without such a field (.att, .syms) never count as own.

What Python's `json` accepts although JSON forbids it, or although no record here means it, is refused by the
reader of JSON: NaN and infinities (also as `1e999`), a key that an object has twice, half of a surrogate
pair, nesting without end. The C parser reads; only where something is wrong is the text scanned again, for
the line.
"""

from __future__ import annotations

import errno
import fcntl
import json
import math
import os
import re
import select
import shutil
import stat
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from nerode.core.errors import FormatError, InputError

_PART = 1 << 20
_PATIENCE = 5.0
"""Seconds in which a writer has to come to a pipe."""

MAX_BYTES = 32 * 2**20
"""Largest file that is read unless a caller says otherwise (32 MiB)."""


def read_bytes(path: Path, *, max_bytes: int = MAX_BYTES, hint: str = "") -> bytes:
    """Returns the content of a file; no more than the limit is ever read.

    Args:
        path: the file.
        max_bytes: the largest size that is accepted.
        hint: what a user can do where the file is missing or unreadable.

    Raises:
        FormatError: if the file is missing, no regular file, unreadable or too large.
    """
    try:
        if not path.exists():
            raise FormatError("there is no such file", path=path, hint=hint)
        if not path.is_file():
            raise FormatError("this is a directory or a device, not a file", path=path, hint=hint)
        with path.open("rb") as file:
            # In parts: Python allocates all that it is asked for, however small the file is.
            data = bytearray()
            while len(data) <= max_bytes and (part := file.read(min(_PART, max_bytes + 1 - len(data)))):
                data += part
    except FormatError:
        raise
    except (OSError, ValueError) as error:
        raise FormatError(f"the file cannot be read ({error})", path=path, hint=hint) from None
    if len(data) > max_bytes:
        raise FormatError(f"the file has more than {max_bytes:,} bytes, the most that is read", path=path)
    return bytes(data)


def read_text(path: Path, *, max_bytes: int = MAX_BYTES, hint: str = "") -> str:
    """Returns the text of a file, without a byte order mark; the arguments are those of `read_bytes`.

    Raises:
        FormatError: as `read_bytes`, and if the file is empty or not UTF-8 (with the line).
    """
    text = decode_text(read_bytes(path, max_bytes=max_bytes, hint=hint), path=path)
    if not text.strip():
        raise FormatError("the file is empty", path=path)
    return text


@contextmanager
def open_stream(path: Path) -> Iterator[BinaryIO]:
    """Opens a file, a device or a pipe to be read from part by part; "-" is standard input.

    A pipe that nobody writes into is an error after a few seconds, not a wait without end.

    Raises:
        InputError: if it cannot be opened or read.
    """
    if str(path) == "-":
        if sys.stdin is None:
            raise InputError("standard input is closed; name a file instead of -")
        yield sys.stdin.buffer
        return
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            if stat.S_ISFIFO(os.fstat(handle).st_mode) and not select.select([handle], [], [], _PATIENCE)[0]:
                raise InputError(f"{path} is a pipe that nobody writes into; start the writer first")
            os.set_blocking(handle, True)
            yield file
    except (OSError, ValueError) as error:
        if isinstance(error, InputError | BrokenPipeError):
            raise
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot read {str(path)!r}: {reason}; name a file that can be read") from None


def read_lines(stream: BinaryIO, *, name: str, max_bytes: int) -> Iterator[str]:
    """Yields the lines of a stream without their ends, one at a time.

    Args:
        stream: may be endless.
        name: for messages.
        max_bytes: the longest line that is read.

    Raises:
        InputError: for a longer line, and for one that is not UTF-8.
    """
    number = 0
    while line := stream.readline(max_bytes + 1):
        number += 1
        if len(line) > max_bytes:
            raise InputError(f"line {number} of {name} is too long; at most {max_bytes:,} bytes are read")
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise InputError(f"line {number} of {name} is not UTF-8; save it as UTF-8") from None
        yield text.rstrip("\r\n")


def decode_text(data: bytes, *, path: Path | str) -> str:
    """Returns bytes as text, without a byte order mark.

    Raises:
        FormatError: with the line of the first byte that is not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(
            f"the byte 0x{data[error.start]:02x} is not UTF-8", path=path, line=line, hint="Save it as UTF-8"
        ) from None


def excerpt(text: str) -> str:
    """Returns a piece of a file in quotes for a message, shortened when it is long."""
    return repr(text if len(text) <= 60 else text[:59] + "…")


MARK = "written by nerode"
"""Files with comments say this in one."""

_OWN = re.compile(
    rb'written by nerode|name="generator" content="nerode|"format": ?"nerode-'
    # The producer of an ONNX graph; tables without comments are known by their columns.
    rb"|\A\x08[\s\S]\x12\x06nerode"
    rb'|\Akey,spec\.|\A\{"key": "[0-9a-f]{64}", "spec\.|\Atask,model,seed,length,measure,'
)
_HEAD, _TAIL = 1 << 16, 1 << 12
"""Bytes at the beginning and at the end of a file in which its mark is looked for."""


class Disk:
    """The file system below outputs; tests put one in its place that fails. Every method raises OSError."""

    def make_folder(self, path: Path) -> None:
        """Makes a folder and those above it."""
        path.mkdir(parents=True, exist_ok=True)

    def write(self, path: Path, content: bytes) -> None:
        """Writes a file and waits until it is on the disk. A reader may see a part of it."""
        with path.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def sync(self, path: Path) -> None:
        """Waits until a file, or the list of names in a folder, is on the disk."""
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def rename(self, source: Path, target: Path) -> None:
        """Gives a file or folder another name in one step; a file of that name is replaced."""
        os.rename(source, target)

    def remove(self, path: Path) -> None:
        """Removes a file, or a folder with all that is in it; nothing if there is none."""
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def replace(self, path: Path, content: bytes) -> None:
        """Writes a file so that a reader sees the old content or the new, never a part."""
        temporary = path.with_name(f".{uuid.uuid4().hex}.new")
        try:
            self.write(temporary, content)
            self.rename(temporary, path)
            self.sync(path.parent)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise


def write_atomically(path: Path, text: str | bytes) -> None:
    """Writes a file so that a reader sees the old content or the new, never a part.

    A link stays, and what it points to is written. What is no file (a pipe, /dev/stdout) is written into.

    Raises:
        InputError: if the folder cannot be made or written to, or if the text is not Unicode.
    """
    content = text if isinstance(text, bytes) else _encode(path, text)
    disk = Disk()
    with _write_errors(path):
        if path.exists() and not path.is_file() and not path.is_dir():
            _write_into(path, content)
            return
        place = _behind_links(path)
        disk.make_folder(place.parent)
        disk.replace(place, content)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Yields a folder to fill, which gets the name `folder` once all of it is written; else nothing is left.

    Where the folder is already there and holds something, it is that one: its files are replaced one by one.

    Raises:
        InputError: if it cannot be made.
    """
    if folder.is_dir() and any(folder.iterdir()):
        yield folder
        return
    making = folder.parent / f".{uuid.uuid4().hex}.new"
    disk = Disk()
    with _write_errors(folder):
        disk.make_folder(making)
    try:
        yield making
        with _write_errors(folder):
            disk.rename(making, folder)
            disk.sync(folder.parent)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def is_own(path: Path, *, form: str = "") -> bool:
    """Returns whether nerode wrote a file.

    Args:
        path: the file.
        form: the format of the record that it must be, such as "nerode-run"; any when not given.
    """
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(_HEAD)
            file.seek(max(len(head), os.fstat(file.fileno()).st_size - _TAIL))
            tail = file.read(_TAIL)
    except (OSError, ValueError):
        return False
    if form:
        return re.search(rb'"format": ?"' + re.escape(form).encode() + rb"[-\"]", head + tail) is not None
    return _OWN.search(head) is not None or _OWN.search(tail) is not None


def claim_file(path: Path, *, force: bool = False) -> None:
    """Refuses a place for an output before any work is done.

    Args:
        path: the file to be written. One that is there must be nerode's own, empty, or no file (a device).
        force: whether it may be replaced all the same.

    Raises:
        InputError: if it may not be replaced, or cannot be written.
    """
    with _write_errors(path):
        if path.is_dir():
            raise InputError(f"cannot write {path}: it is a folder; name a file")
        if path.exists():
            if path.is_file() and path.stat().st_size and not force and not is_own(path):
                raise InputError(
                    f"{path} is there, and nerode did not write it (or its format cannot tell); choose "
                    "another name, or replace it with --force"
                )
            if not path.is_file():
                return
        place = _behind_links(path)
        with suppress(FileNotFoundError):
            # A name that is too long, or that no file can have.
            place.lstat()
        _try_place(place.parent)


def claim_folder(
    folder: Path,
    *,
    holds: tuple[str, ...],
    form: str = "",
    of: str = "",
    force: bool = False,
    ignored: tuple[str, ...] = (),
) -> None:
    """Refuses a folder for outputs before any work is done.

    Args:
        folder: the folder to be filled. One that is not empty must be nerode's own.
        holds: names with wildcards; the folder is nerode's own if one is a folder, or a file it wrote.
        form: the format of the record that the file must be.
        of: what such folders hold, for the message ("runs", "a network").
        force: whether it may be filled all the same.
        ignored: names with wildcards of files that a stopped command leaves before it has written anything.

    Raises:
        InputError: if it may not be filled, or cannot be written.
    """
    with _write_errors(folder):
        if folder.exists() and not folder.is_dir():
            raise InputError(f"cannot write {folder}: it is no folder; name another")
        left = {path for name in ignored for path in folder.glob(name)}
        if folder.is_dir() and not force and any(path not in left for path in folder.iterdir()):
            found = (path for name in holds for path in folder.glob(name))
            if not any(path.is_dir() or is_own(path, form=form) for path in found):
                raise InputError(
                    f"{folder} has files in it, but not {of or 'what nerode writes there'}; choose another "
                    "folder, or fill this one with --force"
                )
        _try_place(folder)


def _try_place(folder: Path) -> None:
    """Raises OSError if a folder, or the nearest one that is there, cannot be written to."""
    with suppress(FileNotFoundError):
        folder.lstat()
    there = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    with tempfile.TemporaryFile(dir=there):
        pass


def _behind_links(path: Path) -> Path:
    """The file that a link leads to; a link to itself leads nowhere and is replaced."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _write_into(path: Path, content: bytes) -> None:
    """Writes into a device or a pipe; one that nobody reads is an error, not a wait."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise InputError(f"cannot write {path}: nobody reads this pipe; start the reader first") from None
    if stat.S_ISFIFO(os.fstat(handle).st_mode):
        fcntl.fcntl(handle, fcntl.F_SETFL, fcntl.fcntl(handle, fcntl.F_GETFL) & ~os.O_NONBLOCK)
    with os.fdopen(handle, "wb") as file:
        file.write(content)


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    """Turns errors of the system into an error that names the place."""
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"cannot write {str(path)!r}: {error}; choose another name") from None
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; choose another place") from None


def _encode(path: Path, text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        # Python turns arguments that are not UTF-8 into such characters.
        found = f"U+{ord(text[error.start]):04X}"
        raise InputError(
            f"cannot write {str(path)!r}: its text has {found}, half a character; write it in UTF-8"
        ) from None


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
    hint: str = "",
) -> Json:
    """Returns the value of a JSON file.

    Args:
        path: the file.
        max_bytes: the largest size that is read.
        hint: what a user can do where the file is missing or unreadable.

    Raises:
        FormatError: with the path, and the line where there is one; see the head of this file.
    """
    return parse_json(read_text(path, max_bytes=max_bytes, hint=hint), path=path)


def read_json_lines(path: Path) -> list[Json]:
    """Returns the values of a file with one JSON value per line; empty lines are passed over.

    Raises:
        FormatError: as `read_json`, with the line of the file.
    """
    lines = read_text(path, max_bytes=MAX_BYTES).split("\n")
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
