"""A folder on disk: its files are opened once each, by name, and are what its subject says they are.

A link, a device, a name with a separator and a file above its limit are refused; the folder itself may be
reached by a link. Nothing looks at a parent folder. The hash of weights is over the sorted names, types,
shapes and bytes of tensors.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from functools import cached_property
from pathlib import Path
from typing import Any

from nerode.core import FormatError, parse_json
from nerode.kernel import content_hash
from nerode.records.subject import SUBJECT_FILE, WEIGHTS_FILE, SubjectRecord


def hash_tensors(content: bytes) -> str:
    """Returns the SHA-256 of the tensors in the bytes of a safetensors file.

    Raises:
        ValueError, KeyError, TypeError, AttributeError or RecursionError: if they are no such file.
    """
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    digest = hashlib.sha256()
    for name in sorted(header.keys() - {"__metadata__"}):
        entry = header[name]
        first, last = (8 + size + int(offset) for offset in entry["data_offsets"])
        digest.update(f"{name} {entry['dtype']} {entry['shape']}\n".encode())
        digest.update(content[first:last])
    return digest.hexdigest()


MAX_WEIGHTS = 20_000_000_000
"""Bytes of weights; larger files are not read."""

MAX_JSON = 1 << 28
"""Bytes of any other file."""

_PART = 1 << 24

_MADE_AGAIN = "older folders are not read; `nerode train`, `nerode compile` and `nerode import` make them"


class Folder:
    """The files of one folder.

    Args:
        path: of the folder.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._content: dict[str, bytes] = {}

    def __contains__(self, name: str) -> bool:
        return os.path.lexists(self.path / name)

    def read(self, name: str, *, max_bytes: int = MAX_JSON, hint: str = "") -> bytes:
        """Returns the content of a file; it is opened once.

        Raises:
            FormatError: if it is missing, a link, no regular file, unreadable or too large.
        """
        if name not in self._content:
            self._content[name] = self._open(name, max_bytes, hint)
        return self._content[name]

    def _open(self, name: str, max_bytes: int, hint: str) -> bytes:
        path = self.path / name
        if Path(name).name != name:
            raise FormatError("is no name of a file in the folder", path=path)
        try:
            place = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                # A fifo would wait for somebody who writes.
                file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
            finally:
                os.close(place)
        except (FileNotFoundError, NotADirectoryError):
            raise FormatError("there is no such file", path=path, hint=hint) from None
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno == errno.ELOOP:
                raise FormatError(
                    "is a link; the files of a network lie in its own folder", path=path
                ) from None
            raise FormatError(f"the file cannot be read ({error})", path=path, hint=hint) from None
        content = bytearray()
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise FormatError("this is a directory or a device, not a file", path=path, hint=hint)
            while len(content) <= max_bytes and (
                part := os.read(file, min(_PART, max_bytes + 1 - len(content)))
            ):
                content += part
        finally:
            os.close(file)
        if len(content) > max_bytes:
            raise FormatError(f"the file has more than {max_bytes:,} bytes, the most that is read", path=path)
        return bytes(content)

    def read_json(self, name: str, *, max_bytes: int = MAX_JSON, hint: str = "") -> Any:
        """Returns the values of a JSON file.

        Raises:
            FormatError: as `read`, and with the line of a fault.
        """
        return parse_json(self.read(name, max_bytes=max_bytes, hint=hint), path=self.path / name)

    @cached_property
    def subject(self) -> SubjectRecord:
        """The subject.

        Raises:
            FormatError: if there is none, or it is damaged.
        """
        data = self.read_json(SUBJECT_FILE, hint=_MADE_AGAIN)
        return SubjectRecord.from_json(data, path=self.path / SUBJECT_FILE)

    def file_hash(self, name: str) -> str:
        """Returns the hash of a file: of its tensors, or of its values.

        Raises:
            FormatError: if it does not read.
        """
        if not name.endswith(".safetensors"):
            return content_hash(self.read_json(name))
        try:
            return hash_tensors(self.read(name, max_bytes=MAX_WEIGHTS))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise FormatError("is not a safetensors file", path=self.path / name) from None

    def require_files(self) -> None:
        """Raises FormatError unless each file that the subject names has the hash that it states."""
        for name, stated in self.subject.files.items():
            if self.file_hash(name) != stated:
                path = self.path / name
                raise FormatError(
                    f"is not the file that {self.path / SUBJECT_FILE} was written with", path=path
                )

    @property
    def weights(self) -> bytes:
        """The content of the file of weights."""
        return self.read(WEIGHTS_FILE, max_bytes=MAX_WEIGHTS)


def is_import(path: Path) -> bool:
    """Whether a folder holds weights that were imported; a folder that is no subject does not."""
    folder = Folder(path)
    return SUBJECT_FILE in folder and folder.subject.imported is not None
