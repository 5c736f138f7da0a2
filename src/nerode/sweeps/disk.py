"""The few things that a store asks of a file system; tests put one in its place that fails."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


class Disk:
    """A file system. Every method raises OSError."""

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
        temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
        try:
            self.write(temporary, content)
            self.rename(temporary, path)
            self.sync(path.parent)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
