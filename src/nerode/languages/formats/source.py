"""Files as text: bounded, UTF-8, with every failure told as a FormatError."""

from __future__ import annotations

from pathlib import Path

from nerode.core import FormatError, InputError

MAX_BYTES = 32 * 2**20
"""Largest file that is read (32 MiB)."""


def read_text(path: Path, *, max_bytes: int = MAX_BYTES) -> str:
    """Returns the text of a file, without a byte order mark.

    Raises:
        FormatError: if the file is missing, no regular file, unreadable, too large, empty or not UTF-8.
    """
    try:
        if not path.exists():
            raise FormatError("there is no such file", path=path)
        if not path.is_file():
            raise FormatError("this is a directory or a device, not a file", path=path)
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"the file cannot be read ({error})", path=path) from None
    if len(data) > max_bytes:
        raise FormatError(f"the file has more than {max_bytes:,} bytes, the most that is read", path=path)
    return _decode(data, path)


def write_text(path: Path, text: str) -> None:
    """Writes a file in UTF-8 with Unix line ends.

    Raises:
        InputError: if the place cannot be written to.
    """
    try:
        path.write_bytes(text.encode())
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: the file cannot be written ({error})") from None


def excerpt(text: str) -> str:
    """Returns a piece of a file in quotes for a message, shortened when it is long."""
    return repr(text if len(text) <= 60 else text[:59] + "…")


def _decode(data: bytes, path: Path) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(
            f"the byte 0x{data[error.start]:02x} is not UTF-8", path=path, line=line, hint="Save it as UTF-8"
        ) from None
    if not text.strip():
        raise FormatError("the file is empty", path=path)
    return text
