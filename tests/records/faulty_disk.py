"""A file system whose k-th operation fails."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from nerode.core import Disk


class FaultyDisk(Disk):
    """Fails at the operation number `fail_at`, counted from 0, and at all later ones if `stays`."""

    def __init__(self, fail_at: int, *, code: int = errno.EIO, stays: bool = False) -> None:
        self.fail_at, self.code, self.stays = fail_at, code, stays
        self.count = 0

    def _fails(self) -> bool:
        number, self.count = self.count, self.count + 1
        return number == self.fail_at or (self.stays and number > self.fail_at)

    def _tick(self, path: Path) -> None:
        if self._fails():
            raise OSError(self.code, os.strerror(self.code), str(path))

    def make_folder(self, path: Path) -> None:
        self._tick(path)
        super().make_folder(path)

    def write(self, path: Path, content: bytes) -> None:
        self._tick(path)
        if self._fails():
            path.write_bytes(content[: len(content) // 2])
            raise OSError(self.code, os.strerror(self.code), str(path))
        super().write(path, content)
        self._tick(path)

    def sync(self, path: Path) -> None:
        self._tick(path)
        super().sync(path)

    def rename(self, source: Path, target: Path) -> None:
        self._tick(target)
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        self._tick(path)
        super().remove(path)
