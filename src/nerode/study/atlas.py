"""The studies of many named languages, in processes of their own, with what was made of each kept on disk."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from nerode.core import Budget, Emit, InputError, LostJob, WorkerPool, write_atomically
from nerode.languages.bestiary import find_language
from nerode.study.language import Study, study_language

T = TypeVar("T")

_SECONDS_PER_PROOF = 10.0
"""Among many languages a network that takes longer to certify has no proof."""

_CODE = (".py", ".j2", ".bib")
_LATER = ("models", "conformance", "tasks", "training", "sweeps", "analysis", "reproduce", "explorer", "cli")
"""Stages that have no part in a study or in what is drawn of it."""


def study_named(name: str, *, networks: bool = True, budget: Budget | None = None) -> Study:
    """Returns the study of a named language as one of many, with little time for each proof."""
    budget = budget or Budget()
    limits = replace(budget, seconds=min(budget.seconds, _SECONDS_PER_PROOF)) if networks else budget
    language = find_language(name, budget.start())
    return study_language(language, networks=networks, budget=limits.start())


def for_all_languages(
    names: Sequence[str], work: Callable[[str], T], *, jobs: int
) -> Iterator[tuple[str, T]]:
    """Yields names with what `work` returns, as it is ready; in several processes slow languages come first.

    Args:
        names: of languages.
        work: what to do with each; it must be picklable if there are several jobs.
        jobs: how many processes.

    Raises:
        InputError: if a process died, for want of memory perhaps.
    """
    if jobs == 1 or len(names) <= 1:
        for name in names:
            yield name, work(name)
        return
    order = sorted(names, key=lambda name: -_cost(name))
    pool: WorkerPool[str, T] = WorkerPool(functools.partial(_carry_out, work), processes=jobs)
    for number, found in pool.run(order):
        if isinstance(found, LostJob):
            raise InputError(f"{order[number]} was not studied: {found.message}; try fewer --jobs")
        yield order[number], found


def _carry_out(work: Callable[[str], T], name: str, _: Emit) -> T:
    return work(name)


def _cost(name: str) -> int:
    """An estimate of the time for a language: its letters times its states."""
    language = find_language(name)
    return len(language.alphabet) * (language.num_states() or 1)


@functools.cache
def code_hash() -> str:
    """Returns a hash of the source of all stages that a study and its drawing depend on."""
    root = Path(str(resources.files("nerode")))
    digest = hashlib.sha256()
    for path in sorted(_sources(root)):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _sources(root: Path) -> Iterable[Path]:
    stages = [folder for folder in root.iterdir() if folder.is_dir() and folder.name not in _LATER]
    return (path for stage in stages for path in stage.rglob("*") if path.suffix in _CODE)


class StudyCache:
    """A folder with one JSON file per language: what was made of its study.

    Args:
        folder: the place of the files; None keeps nothing.
        settings: everything that a file depends on besides the language and the code.
    """

    def __init__(self, folder: Path | None, settings: dict[str, Any]) -> None:
        self.folder = folder
        self._settings = json.dumps(settings, sort_keys=True)

    def read(self, name: str) -> dict[str, Any] | None:
        """Returns the values of a named language, None if they have to be computed.

        A file that does not read is as good as none: it is computed again.
        """
        if self.folder is None:
            return None
        try:
            data = json.loads(self._path(self.folder, name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(data, dict) or data.pop("key", None) != self._key(name):
            return None
        return data

    def write(self, name: str, values: dict[str, Any]) -> None:
        """Keeps the values of a language."""
        if self.folder is not None:
            data = {"key": self._key(name), **values}
            write_atomically(self._path(self.folder, name), json.dumps(data, ensure_ascii=False))

    def _path(self, folder: Path, name: str) -> Path:
        return folder / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.json"

    def _key(self, name: str) -> str:
        # The meaning of a name is part of the code.
        text = "\0".join((code_hash(), self._settings, name))
        return hashlib.sha256(text.encode()).hexdigest()
