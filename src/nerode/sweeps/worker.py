"""A process that carries out one run after the other for a driver, and dies with it.

Jobs come as JSON lines on standard input, outcomes go as JSON lines to standard output. When the input ends,
the driver is gone or wants no more, and the worker ends at once, in the middle of a run if need be: a run
counts only when it is published.
"""

from __future__ import annotations

import ctypes
import json
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import TextIO

from nerode.core import from_mapping, to_mapping
from nerode.sweeps.execution import execute
from nerode.sweeps.runner import Job, load_runner
from nerode.sweeps.store import RunStore

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    """Works until the input ends. Arguments: the store, the kind of run, the process of the driver."""
    root, runner_name, driver = arguments
    _die_with(int(driver))
    # Control-C goes to the whole group; the driver tells the workers what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
    answers = _take_over_output()
    threading.Thread(target=_listen, args=(jobs,), daemon=True).start()
    store, runner = RunStore(Path(root)), load_runner(runner_name)
    while True:
        outcome = execute(store, runner, jobs.get())
        answers.write(json.dumps(to_mapping(outcome)) + "\n")
        answers.flush()


def _die_with(driver: int) -> None:
    """Asks the kernel for SIGKILL when the driver dies; the end of the input is the second guard."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != driver:
        os._exit(1)


def _take_over_output() -> TextIO:
    """Keeps standard output for outcomes; what runs print goes to standard error."""
    sys.stdout.flush()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _listen(jobs: queue.SimpleQueue[Job]) -> None:
    for line in sys.stdin:
        jobs.put(from_mapping(Job, json.loads(line)))
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
