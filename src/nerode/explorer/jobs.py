"""The table of jobs that a request can ask for, and how a process carries one out within limits."""

from __future__ import annotations

import base64
import functools
import importlib.util
import json
import math
import resource
import signal
import traceback
from collections.abc import Callable
from typing import Any

from nerode.core import BudgetExceeded, FormatError, NerodeError, PatternError, UnknownName, from_mapping
from nerode.explorer import networks, standalone, traces
from nerode.explorer.orders import (
    LanguageOrder,
    NetworkOrder,
    PageOrder,
    TraceOrder,
    WordOrder,
)
from nerode.report import visible


def _trace(order: TraceOrder) -> dict[str, Any]:
    if order.arithmetic == "exact":
        return traces.trace(order)
    from nerode.explorer.floats import float_steps

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


def rehearse() -> None:
    """Does everything once, so that templates, tables and registries are at hand when a request comes."""
    language = {"text": "(ab)*"}
    run_job("language", {"language": language})
    run_job("network", {"language": language, "target": "mamba"})
    run_job("proof", {"language": language, "target": "mamba"})
    # Without torch there are no steps in floats; all else can be asked.
    for arithmetic in ("exact", "float32") if importlib.util.find_spec("torch") else ("exact",):
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


def answer(job: str, payload: dict[str, Any]) -> bytes:
    """Returns the answer to a request as JSON on one line, whatever goes wrong."""
    try:
        text = json.dumps(run_job(job, payload), ensure_ascii=False, allow_nan=False)
    except MemoryError:
        text = _problem("memory", "this needs more memory than a request may have")
    except Exception as error:
        # A bug, which the terminal shows in full; the page must not take it for a limit.
        traceback.print_exc()
        text = _problem(
            "internal", f"nerode failed with {type(error).__name__}; see its terminal, and report it"
        )
    return text.encode()


def _problem(kind: str, message: str) -> str:
    return json.dumps({"error": {"kind": kind, "message": message}})


def set_limits(*, seconds: float, cpu_seconds: int, memory: int) -> None:
    """Lets the operating system end this process when it has used too much.

    Args:
        seconds: of the clock.
        cpu_seconds: of the processor.
        memory: bytes of address space.
    """
    # Control-C ends the server, which ends what it waits for.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    _lower(resource.RLIMIT_CPU, math.ceil(cpu_seconds))
    _lower(resource.RLIMIT_AS, memory)
    _lower(resource.RLIMIT_CORE, 0)


def _lower(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (limit, limit))
