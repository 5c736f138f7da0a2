"""What theory says about a line: the verdict on its architecture and language."""

from __future__ import annotations

import functools

from nerode.core import Budget
from nerode.languages import resolve_language
from nerode.records import TheorySummary
from nerode.verdict import Sense, Task, VerdictTable, decide


def theory_of(language: str, architecture: str) -> TheorySummary | None:
    """Returns the verdict, None if a line names no language or no architecture."""
    if not language or not architecture:
        return None
    table = _table(language, architecture)
    found = table[architecture, Sense.FINITE_PRECISION]
    return TheorySummary(
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
