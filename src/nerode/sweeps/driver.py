"""A sweep from beginning to end: what is done stays, what is missing is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nerode.core import FormatError, InputError
from nerode.sweeps.index import list_runs
from nerode.sweeps.lock import locked
from nerode.sweeps.runner import Executor, Job, Outcome, Watch
from nerode.sweeps.store import RunStore, read_key


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """How a sweep ended.

    Attributes:
        keys: all runs of the sweep.
        before: those that were done before.
        outcomes: of the others, in the order in which they ended.
        set_aside: folders that could not be read and were moved away, to be run again.
    """

    keys: tuple[str, ...]
    before: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    set_aside: tuple[Path, ...]

    @property
    def problems(self) -> list[Outcome]:
        """The runs that are not done."""
        return [outcome for outcome in self.outcomes if outcome.status != "done"]


def run_sweep(
    jobs: Sequence[Job], *, root: Path, runner: str, executor: Executor, watch: Watch | None = None
) -> SweepReport:
    """Carries out the runs that are not done yet, and returns how it went.

    Args:
        jobs: all runs of the sweep.
        root: where the store is, or is to be.
        runner: "module:name" of the kind of run.
        executor: who carries them out.
        watch: is told how each run ended.

    Raises:
        InputError: if the store cannot be written, or another driver has it. What is done is safe.
    """
    store = RunStore(root)
    store.create()
    outcomes: list[Outcome] = []

    def note(outcome: Outcome) -> None:
        outcomes.append(outcome)
        if watch is not None:
            watch(outcome)

    with locked(root):
        store.clear_attempts()
        set_aside = [store.set_aside(folder) for job in jobs if _is_damaged(folder := store.folder(job.key))]
        before = [job.key for job in jobs if store.is_done(job.key)]
        done = set(before)
        missing = [job for job in jobs if job.key not in done]
        if missing:
            executor.run(missing, store=root, runner=runner, watch=note)
        list_runs(store)
    for outcome in outcomes:
        if outcome.status == "disk":
            finished = len(before) + sum(o.status == "done" for o in outcomes)
            raise InputError(
                f"cannot write {root}: {outcome.message}. The {finished} finished runs of {len(jobs)} are "
                "safe; make room, or make the folder writable, and run again"
            )
    return SweepReport(
        keys=tuple(job.key for job in jobs),
        before=tuple(before),
        outcomes=tuple(outcomes),
        set_aside=tuple(set_aside),
    )


def _is_damaged(folder: Path) -> bool:
    if not folder.exists():
        return False
    try:
        read_key(folder)
    except FormatError:
        return True
    return False
