"""Writing files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from nerode.core.errors import InputError


def write_atomically(path: Path, text: str | bytes) -> None:
    """Writes a file so that a reader sees the old content or the new, never a part.

    Raises:
        InputError: if the folder cannot be made or written to, or if the text is not Unicode.
    """
    content = text if isinstance(text, bytes) else _encode(path, text)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
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
