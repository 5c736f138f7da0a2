"""What is run: a kind of run has a key for each spec, and a function that carries it out."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from nerode.core import InputError
from nerode.sweeps.store import RunOutput


class Runner(Protocol):
    """A kind of run. A run is a pure function of its spec."""

    def key(self, spec: dict[str, Any]) -> str:
        """Returns the SHA-256 hash that names the run; raises InputError for a spec that does not fit."""
        ...

    def run(self, spec: dict[str, Any], out: Path, scratch: Path) -> RunOutput:
        """Carries the run out.

        Args:
            spec: all that it depends on.
            out: an empty folder for files that belong to its result.
            scratch: a folder that is still there when the run was stopped and is begun again.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A run that is asked for."""

    key: str
    spec: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a job ended.

    Attributes:
        key: of the run.
        status: "done"; "failed", the run raised an error; "lost", its process died too often; "disk", the
            store could not be written.
        message: what was wrong.
        seconds: of the clock, for the last attempt.
    """

    key: str
    status: Literal["done", "failed", "lost", "disk"]
    message: str = ""
    seconds: float = 0.0


Watch = Callable[[Outcome], None]


class Executor(Protocol):
    """Who carries jobs out."""

    def run(self, jobs: Sequence[Job], *, store: Path, runner: str, watch: Watch) -> None:
        """Carries out all jobs, telling `watch` of each that ended; ends early when the disk fails.

        Args:
            jobs: the runs, in the order in which they are to be begun.
            store: the folder of the run store.
            runner: "module:name" of the kind of run, for processes that begin with nothing.
            watch: is told how each job ended, in the process that called.
        """
        ...


def load_runner(name: str) -> Runner:
    """Returns the kind of run that "module:name" says. Only for names from this program, never from files.

    Raises:
        InputError: if there is none.
    """
    module_name, _, attribute = name.partition(":")
    try:
        runner: Runner = getattr(importlib.import_module(module_name), attribute)
    except (ModuleNotFoundError, AttributeError, ValueError) as error:
        raise InputError(f"there is no kind of run {name!r}: {error}") from None
    return runner
