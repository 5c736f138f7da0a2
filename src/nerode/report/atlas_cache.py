"""Entries of the atlas on disk, so that only what changed is computed again."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import asdict, fields
from importlib import resources
from pathlib import Path
from typing import Any

from nerode.core import write_atomically
from nerode.report.atlas_entry import AtlasEntry

_CODE = (".py", ".j2", ".bib")


@functools.cache
def code_hash() -> str:
    """Returns a hash of all that an entry is computed by: the source of the stages up to the report."""
    digest = hashlib.sha256()
    root = Path(str(resources.files("nerode")))
    stages = ("core", "languages", "algebra", "verdict", "compiler", "certificates", "report")
    for path in sorted(p for stage in stages for p in (root / stage).rglob("*") if p.suffix in _CODE):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


class AtlasCache:
    """A folder with one file for each language.

    Args:
        folder: where they are; None keeps nothing.
        settings: all that entries depend on besides the language and the code.
    """

    def __init__(self, folder: Path | None, settings: dict[str, Any]) -> None:
        self.folder = folder
        self._settings = json.dumps(settings, sort_keys=True)

    def read(self, name: str) -> AtlasEntry | None:
        """Returns what is known about a named language, None if it has to be computed.

        A file that does not read is as good as none: it is computed again.
        """
        if self.folder is None:
            return None
        try:
            data = json.loads(self._path(self.folder, name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        wanted = {field.name for field in fields(AtlasEntry)}
        if not isinstance(data, dict) or data.pop("key", None) != self._key(name):
            return None
        return AtlasEntry(**data) if data.keys() == wanted else None

    def write(self, name: str, entry: AtlasEntry) -> None:
        """Keeps what was computed about a language."""
        if self.folder is not None:
            data = {"key": self._key(name), **asdict(entry)}
            write_atomically(self._path(self.folder, name), json.dumps(data, ensure_ascii=False))

    def _path(self, folder: Path, name: str) -> Path:
        return folder / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.json"

    def _key(self, name: str) -> str:
        # What a name stands for is part of the code.
        text = "\0".join((code_hash(), self._settings, name))
        return hashlib.sha256(text.encode()).hexdigest()
