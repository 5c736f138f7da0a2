"""One run from beginning to end, in the process that carries it out."""

from __future__ import annotations

import errno
import time
import traceback
from contextlib import suppress

from nerode.core import InputError
from nerode.sweeps.runner import Job, Outcome, Runner
from nerode.sweeps.store import RunStore

DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})
"""What will meet the next run as well."""


def execute(store: RunStore, runner: Runner, job: Job) -> Outcome:
    """Carries out a run unless it is done, and returns how it ended. No error of the run leaves it."""
    begun = time.monotonic()

    def ended(status: str, message: str = "") -> Outcome:
        return Outcome(key=job.key, status=status, message=message, seconds=time.monotonic() - begun)  # type: ignore[arg-type]

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
            store.note_failure(job.key, message, traceback.format_exc())
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
