"""Files: read within a byte limit, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from nerode.core.errors import FormatError, InputError

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
            data = file.read(max_bytes + 1)
    except FormatError:
        raise
    except (OSError, ValueError) as error:
        raise FormatError(f"the file cannot be read ({error})", path=path, hint=hint) from None
    if len(data) > max_bytes:
        raise FormatError(f"the file has more than {max_bytes:,} bytes, the most that is read", path=path)
    return data


def read_text(path: Path, *, max_bytes: int = MAX_BYTES, hint: str = "") -> str:
    """Returns the text of a file, without a byte order mark; the arguments are those of `read_bytes`.

    Raises:
        FormatError: as `read_bytes`, and if the file is empty or not UTF-8 (with the line).
    """
    text = decode_text(read_bytes(path, max_bytes=max_bytes, hint=hint), path=path)
    if not text.strip():
        raise FormatError("the file is empty", path=path)
    return text


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


def write_atomically(path: Path, text: str | bytes) -> None:
    """Writes a file so that a reader sees the old content or the new, never a part.

    Raises:
        InputError: if the folder cannot be made or written to, or if the text is not Unicode.
    """
    content = text if isinstance(text, bytes) else _encode(path, text)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except ValueError as error:
        raise InputError(f"cannot write {str(path)!r}: {error}; choose another name") from None
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; choose another place") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files that only the owner can read; a page is for everybody the folder is for.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; choose another place") from None
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def _encode(path: Path, text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        # Python turns arguments that are not UTF-8 into such characters.
        found = f"U+{ord(text[error.start]):04X}"
        raise InputError(
            f"cannot write {str(path)!r}: its text has {found}, half a character; write it in UTF-8"
        ) from None
