"""Several runs side by side, one process each, with one place that sees how they get on."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing.connection import wait as wait_for_end
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any

from nerode.training.loop import Sight
from nerode.training.record import RunRecord
from nerode.training.run_folder import run_in
from nerode.training.spec import TrainSpec

WatchAll = Callable[[int, Sight], None]
"""Is told the number of a run and how it gets on."""

_SECONDS_BETWEEN_LOOKS = 0.2


def run_all(
    specs: Sequence[TrainSpec], out: Path, *, jobs: int = 1, watch: WatchAll | None = None
) -> Iterator[tuple[int, RunRecord]]:
    """Yields the number and the record of each run as it ends.

    Runs that are in `out` are not made again. If the caller goes away, the processes end, too; what they had
    in hand goes on from its checkpoint when it is asked for again.

    Args:
        specs: the runs.
        out: where the folders of runs are.
        jobs: processes at once; with 1, all is done here.
        watch: is told how each run gets on.
    """
    if jobs == 1 or len(specs) == 1:
        for number, spec in enumerate(specs):
            yield number, run_in(out, spec, watch=watch_of(number, watch))
        return
    # Not by forking this process: torch has threads, and those do not survive a fork.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["nerode.training.run_folder"])
    sights: SimpleQueue[tuple[int, Sight]] = context.SimpleQueue()
    pool = ProcessPoolExecutor(
        max_workers=min(jobs, len(specs)), mp_context=context, initializer=_begin, initargs=(sights,)
    )
    try:
        waiting: dict[Future[RunRecord], int] = {
            pool.submit(_run, number, spec, out): number for number, spec in enumerate(specs)
        }
        while waiting:
            ended, _ = wait(waiting, timeout=_SECONDS_BETWEEN_LOOKS, return_when=FIRST_COMPLETED)
            while not sights.empty():
                number, sight = sights.get()
                if watch is not None:
                    watch(number, sight)
            for future in ended:
                yield waiting.pop(future), future.result()
    finally:
        _end(pool)


def watch_of(number: int, watch: WatchAll | None) -> Callable[[Sight], None] | None:
    """Returns who is told of one of the runs."""
    return None if watch is None else lambda sight: watch(number, sight)


def _end(pool: ProcessPoolExecutor) -> None:
    """Ends the processes at once, in the middle of their runs if need be."""
    processes: list[Any] = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()


_sights: SimpleQueue[tuple[int, Sight]] | None = None
"""In a worker: where to say how a run gets on."""


def _begin(sights: SimpleQueue[tuple[int, Sight]]) -> None:
    global _sights
    _sights = sights
    threading.Thread(target=_end_with_the_caller, daemon=True).start()


def _end_with_the_caller() -> None:
    """A caller that is killed cannot end its processes; this one notices."""
    caller = multiprocessing.parent_process()
    if caller is not None:
        wait_for_end([caller.sentinel])
        os._exit(1)


def _run(number: int, spec: TrainSpec, out: Path) -> RunRecord:
    def tell(sight: Sight) -> None:
        assert _sights is not None
        _sights.put((number, sight))

    return run_in(out, spec, watch=tell)
