"""The processes that compute: the table of jobs that a request can ask for, and how a copy carries one out.

A template imports everything once. Each copy of it reads a JSON object from its socket, computes within
limits of the operating system, writes a JSON object and a line feed, and ends. `workers` is the server's.
"""

from __future__ import annotations

import base64
import functools
import gc
import json
import math
import os
import resource
import signal
import socket
import traceback
from collections.abc import Callable
from typing import Any

from nerode.core import BudgetExceeded, FormatError, NerodeError, PatternError, UnknownName, from_mapping
from nerode.explorer import networks, runs, standalone, traces
from nerode.explorer.orders import (
    AttentionOrder,
    LanguageOrder,
    NetworkOrder,
    PageOrder,
    RunOrder,
    RunsOrder,
    TraceOrder,
    WordOrder,
)
from nerode.explorer.workers import DONE
from nerode.report import visible


def _look(order: RunOrder) -> dict[str, Any]:
    from nerode.explorer import inside

    return inside.look(order)


def _extract(order: RunOrder) -> dict[str, Any]:
    from nerode.explorer import inside

    return inside.extract_automaton(order)


def _attend(order: AttentionOrder) -> dict[str, Any]:
    from nerode.explorer import inside

    return inside.attend(order)


def _trace(order: TraceOrder) -> dict[str, Any]:
    if order.arithmetic == "exact":
        return traces.trace(order)
    from nerode.explorer.inside import float_steps

    take_steps = functools.partial(float_steps, dtype=order.arithmetic, noise=order.noise, seed=order.seed)
    return traces.trace(order, take_steps)


JOBS: dict[str, tuple[type, Callable[[Any], Any]]] = {
    "language": (LanguageOrder, networks.describe),
    "network": (NetworkOrder, networks.draw),
    "proof": (NetworkOrder, networks.prove),
    "folder": (NetworkOrder, networks.pack),
    "word": (WordOrder, networks.find_word),
    "trace": (TraceOrder, _trace),
    "page": (PageOrder, standalone.freeze),
    "runs": (RunsOrder, runs.list_all),
    "run": (RunOrder, runs.show),
    "analysis": (RunOrder, _look),
    "extraction": (RunOrder, _extract),
    "attention": (AttentionOrder, _attend),
}
"""The order that each job reads, and what carries it out."""


def run_job(job: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer to a request, or under "error" why there is none; files come in base 64."""
    order, carry_out = JOBS[job]
    try:
        found = carry_out(from_mapping(order, payload))
    except NerodeError as error:
        return {"error": _error(error)}
    if isinstance(found, bytes):
        return {"file": base64.b64encode(found).decode()}
    assert isinstance(found, dict)
    return found


def rehearse(kind: str) -> None:
    """Does everything once, so that templates, tables and registries are at hand when a request comes.

    Args:
        kind: "floats" also takes a step in floats.
    """
    language = {"text": "(ab)*"}
    run_job("language", {"language": language})
    run_job("network", {"language": language, "target": "mamba"})
    run_job("proof", {"language": language, "target": "mamba"})
    arithmetic = "float32" if kind == "floats" else "exact"
    run_job("trace", {"language": language, "target": "mamba", "word": "ab", "arithmetic": arithmetic})


def _error(error: NerodeError) -> dict[str, Any]:
    match error:
        case PatternError():
            text = f"{error.what} at column {error.column}"
            hint = visible(error.hint)
            return {"kind": "pattern", "message": visible(text), "column": error.column, "hint": hint}
        case UnknownName(kind="language"):
            text = f"there is no language called {error.name[:60]}"
            hint = "choose “regex” to read it as a pattern"
            return {"kind": "name", "message": visible(text), "nearest": list(error.nearest), "hint": hint}
        case FormatError():
            return {"kind": "format", "message": visible(str(error)), "line": error.line}
        case BudgetExceeded():
            return {"kind": "budget", "message": visible(str(error))}
    return {"kind": "input", "message": visible(str(error))}


def main(kind: str) -> None:
    """Serves until the server goes away.

    Args:
        kind: "floats" for requests that need torch, "exact" for the others.
    """
    # Copies that have ended are not waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    control = socket.socket(fileno=os.dup(0))
    rehearse(kind)
    gc.collect()
    gc.freeze()  # A collection in a copy would write to every page that it shares with the template.
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
