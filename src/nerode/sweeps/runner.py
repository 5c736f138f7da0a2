"""Kinds of runs, jobs and executors; one job from beginning to end."""

from __future__ import annotations

import errno
import importlib
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from nerode.core import InputError
from nerode.records import RunFailure, RunOutput, RunStore


class RunKind(Protocol):
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
class RunJob:
    """A run that is asked for."""

    key: str
    spec: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """The end of a job.

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


OnOutcome = Callable[[RunOutcome], None]


class Executor(Protocol):
    """A way to carry out jobs: processes here, or a cluster."""

    def run(self, jobs: Sequence[RunJob], *, store: Path, runner: str, on_outcome: OnOutcome) -> None:
        """Carries out all jobs; ends early when the disk fails.

        Args:
            jobs: the runs, in the order in which they are to be begun.
            store: the folder of the run store.
            runner: "module:name" of the kind of run, for processes that begin with nothing.
            on_outcome: is called with the end of each job, in the process that called.
        """
        ...


def load_run_kind(name: str) -> RunKind:
    """Returns the kind of run that "module:name" says. Only for names from this program, never from files.

    Raises:
        InputError: if there is none.
    """
    module_name, _, attribute = name.partition(":")
    try:
        runner: RunKind = getattr(importlib.import_module(module_name), attribute)
    except (ModuleNotFoundError, AttributeError, ValueError) as error:
        raise InputError(f"there is no kind of run {name!r}: {error}") from None
    return runner


DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})
"""Errors that the next run would meet as well."""


def execute(store: RunStore, runner: RunKind, job: RunJob) -> RunOutcome:
    """Carries out a run unless it is done, and returns its outcome. No error of the run leaves it."""
    begun = time.monotonic()

    def ended(status: str, message: str = "") -> RunOutcome:
        return RunOutcome(key=job.key, status=status, message=message, seconds=time.monotonic() - begun)  # type: ignore[arg-type]

    try:
        if store.is_done(job.key):
            return ended("done")
        attempt = store.begin(job.key)
    except (OSError, InputError) as error:
        return ended("disk", _reason(error))
    try:
        output = runner.run(job.spec, attempt.out, attempt.scratch)
        store.publish(attempt, job.spec, output)
        return ended("done")
    except Exception as error:
        store.abandon(attempt)
        message = _reason(error)
        if isinstance(error, FileNotFoundError) and store.is_done(job.key):
            # Another process had the same run, was faster, and has cleared the work away.
            return ended("done")
        if _is_disk_error(error):
            return ended("disk", message)
        with suppress(OSError):
            failure = RunFailure(key=job.key, message=message, trace=traceback.format_exc())
            store.note_failure(failure)
        return ended("failed", message)


def _is_disk_error(error: BaseException) -> bool:
    """Whether the disk is behind it: `write_atomically` turns its errors into InputErrors of this context."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno in DISK_ERRORS:
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return f"{type(error).__name__}: {error}"
