"""The study of one language within a budget, and of many named ones in processes of their own, kept on disk.

`study_language` is the whole way; its first two steps are in `check`, for those who need no more. Pages and
terminals draw a study; they do not compute.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from nerode.algebra import Profile
from nerode.core import (
    Budget,
    BudgetExceeded,
    Emit,
    FormatError,
    InputError,
    LostJob,
    WorkerPool,
    read_json,
    started,
    write_atomically,
)
from nerode.languages import Dfa, Language
from nerode.languages.bestiary import find_language
from nerode.study.check import profile_language
from nerode.study.eggboxes import MAX_ELEMENTS, Box, draw_eggboxes
from nerode.study.networks import NetworkStudy, study_networks
from nerode.verdict import VerdictTable, VerdictTask, decide


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A language with its algebra, its verdicts and its networks.

    Attributes:
        language: the language.
        profile: what the algebra found.
        table: verdicts for one task; any number of architectures and senses.
        automaton: the minimal automaton; None if there is none or it was too large to build.
        eggboxes: the D-classes of the syntactic monoid; none if it was not enumerated.
        networks: compiled networks with their certificates; none if they were not asked for.
    """

    language: Language
    profile: Profile
    table: VerdictTable
    automaton: Dfa | None = None
    eggboxes: tuple[Box, ...] = ()
    networks: tuple[NetworkStudy, ...] = ()


def study_language(
    language: Language,
    *,
    architectures: Iterable[str] | None = None,
    task: VerdictTask | str = VerdictTask.PREDICT,
    dtype: str = "float32",
    networks: bool = False,
    budget: Budget | None = None,
    seconds_each: float = math.inf,
) -> Study:
    """Returns what is known about a language within the budget.

    Args:
        language: the language.
        architectures: names; all named architectures when None.
        task: what the verdicts are about.
        dtype: the float format of the IEEE sense.
        networks: whether to compile and certify networks too.
        budget: limits; half of the seconds are for the networks.
        seconds_each: the most that a network or a proof may take.
    """
    budget = started(budget)
    first = budget.part() if networks else budget
    with first.running():
        known = profile_language(language, budget=first)
        table = decide(
            language, architectures=architectures, task=task, dtype=dtype, profile=known.profile, budget=first
        )
        eggboxes = _eggboxes(known.automaton, known.profile, first)
    made: list[NetworkStudy] = []
    if networks:
        with budget.running():
            made = study_networks(language, profile=known.profile, budget=budget, seconds_each=seconds_each)
    return Study(
        language=language,
        profile=known.profile,
        table=table,
        automaton=known.automaton,
        eggboxes=eggboxes,
        networks=tuple(made),
    )


def _eggboxes(automaton: Dfa | None, found: Profile, budget: Budget) -> tuple[Box, ...]:
    if automaton is None or found.monoid_size is None or found.monoid_size > MAX_ELEMENTS:
        return ()
    try:
        return tuple(draw_eggboxes(automaton, budget))
    except BudgetExceeded:
        return ()


T = TypeVar("T")

_SECONDS_PER_PROOF = 6.0
"""Among many languages a network that takes longer to certify has no proof."""

_CODE = (".py", ".j2", ".bib")
_LATER = ("models", "conformance", "tasks", "training", "sweeps", "analysis", "reproduce", "explorer", "cli")
"""Stages that have no part in a study or in what is drawn of it."""


def study_named(name: str, *, networks: bool = True, budget: Budget | None = None) -> Study:
    """Returns the study of a named language as one of many, with little time for each proof."""
    budget = started(budget)
    language = find_language(name, budget)
    return study_language(language, networks=networks, budget=budget, seconds_each=_SECONDS_PER_PROOF)


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
    """An estimate of the time for a language: its letters times its states, or its letters cubed.

    One that takes long must not be the last, while other processes wait.
    """
    language = find_language(name)
    letters, states = len(language.alphabet), language.num_states()
    return letters**3 if states is None else letters * states


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
            data = read_json(self._path(self.folder, name))
        except FormatError:
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
