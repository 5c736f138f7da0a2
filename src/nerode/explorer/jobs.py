"""The table of jobs that a request can ask for."""

from __future__ import annotations

import base64
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


JOBS: dict[str, tuple[type, Callable[[Any], Any]]] = {
    "language": (LanguageOrder, networks.describe),
    "network": (NetworkOrder, networks.draw),
    "proof": (NetworkOrder, networks.prove),
    "folder": (NetworkOrder, networks.pack),
    "word": (WordOrder, networks.find_word),
    "trace": (TraceOrder, traces.trace),
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
