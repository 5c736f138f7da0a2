"""What theory says about a line: the verdict on its architecture and language."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from nerode.core import Budget
from nerode.languages import resolve_language
from nerode.verdict import Sense, Task, VerdictTable, decide


@dataclass(frozen=True, slots=True, kw_only=True)
class Theory:
    """A verdict in short.

    Attributes:
        status: "yes", "no" or "open": can it be right at every length, at finite precision?
        robust: the same under noise at every step.
        reason: of the first.
        reference: of the first; empty if it is open.
    """

    status: str
    robust: str
    reason: str
    reference: str


def theory_of(language: str, architecture: str) -> Theory | None:
    """Returns the verdict, None if a line names no language or no architecture."""
    if not language or not architecture:
        return None
    table = _table(language, architecture)
    found = table[architecture, Sense.FINITE_PRECISION]
    return Theory(
        status=found.status.value,
        robust=table[architecture, Sense.ROBUST].status.value,
        reason=found.reason,
        reference="" if found.reference is None else str(found.reference),
    )


@functools.lru_cache(maxsize=512)
def _table(language: str, architecture: str) -> VerdictTable:
    return decide(
        resolve_language(language),
        architectures=[architecture],
        task=Task.PREDICT,
        budget=Budget(seconds=60.0),
    )
