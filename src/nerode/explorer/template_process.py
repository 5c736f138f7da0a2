"""A process that has imported everything and waits to be copied: one copy for each request.

The server holds one end of a control socket and sends, for each request, the end of a fresh socket pair.
The copy reads a JSON object from it, computes within limits of the operating system, writes a JSON object
and a line feed, and ends. A copy that runs out of time or memory cannot harm anything but itself, and the
next one is made in milliseconds.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import socket
import sys
import traceback
from typing import Any

DONE = b"\n"
"""The last byte of a whole answer, which JSON on one line does not have; without it the answer was cut."""


def main(kind: str) -> None:
    """Serves until the server goes away.

    Args:
        kind: "floats" for requests that need torch, "exact" for the others.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Copies that have ended are not waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    control = socket.socket(fileno=os.dup(0))
    from nerode.explorer.jobs import rehearse

    rehearse(kind)
    control.sendall(DONE)
    while True:
        _, handles, _, _ = socket.recv_fds(control, 1, 1)
        if not handles:
            return
        if os.fork() == 0:
            control.close()
            _serve(socket.socket(fileno=handles[0]))
        os.close(handles[0])


def _serve(connection: socket.socket) -> None:
    """Computes one answer; never returns."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with connection, connection.makefile("rwb") as stream:
            stream.write(f"{os.getpid()}\n".encode())
            stream.flush()
            order = json.loads(stream.readline())
            set_limits(**order["limits"])
            stream.write(_answer(order["job"], order["payload"]))
        code = 0
    finally:
        # What an ordinary end would run belongs to the template, not to its copy.
        os._exit(code)


def _answer(job: str, payload: dict[str, Any]) -> bytes:
    from nerode.explorer.jobs import run_job

    try:
        text = json.dumps(run_job(job, payload), ensure_ascii=False, allow_nan=False)
    except MemoryError:
        text = _problem("memory", "this needs more memory than a request may have")
    except Exception as error:
        # A bug, which the terminal tells in full; the page must not take it for a limit.
        traceback.print_exc()
        text = _problem(
            "internal", f"nerode failed with {type(error).__name__}; see its terminal, and report it"
        )
    return text.encode() + DONE


def _problem(kind: str, message: str) -> str:
    return json.dumps({"error": {"kind": kind, "message": message}})


def set_limits(*, seconds: float, cpu_seconds: int, memory: int) -> None:
    """Lets the operating system end this process when it has used too much.

    Args:
        seconds: of the clock.
        cpu_seconds: of the processor.
        memory: bytes of address space.
    """
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    _lower(resource.RLIMIT_CPU, math.ceil(cpu_seconds))
    _lower(resource.RLIMIT_AS, memory)
    _lower(resource.RLIMIT_CORE, 0)


def _lower(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (limit, limit))


if __name__ == "__main__":
    main(sys.argv[1])
