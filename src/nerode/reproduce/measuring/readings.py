"""From the record of a run to the number of a cell, and the lengths that have to be tested for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nerode.core import InputError
from nerode.records import RunRecord
from nerode.reproduce.records import AxisValue, Finding, Lengths, Line, Measure, Noise, Reading
from nerode.tasks import Task
from nerode.training import require_tests

_LENGTHS_OF_A_RANGE = 4
"""Lengths that stand for a range, its ends among them."""

_TRIES = 12
"""Shorter lengths that are tried where a language has no word of a length."""


def lengths_to_test(task: Task, readings: Iterable[Reading]) -> tuple[int, ...]:
    """Returns the lengths that the readings need, those without test sequences replaced by shorter ones."""
    found: set[int] = set()
    for reading in readings:
        if isinstance(reading, Lengths):
            found |= {
                n for target in _spread(reading) if (n := _nearest(task, target, reading.low)) is not None
            }
    return tuple(sorted(found))


def _spread(lengths: Lengths) -> list[int]:
    steps = _LENGTHS_OF_A_RANGE - 1
    return sorted({lengths.low + (lengths.high - lengths.low) * k // steps for k in range(steps + 1)})


def _nearest(task: Task, length: int, low: int) -> int | None:
    for shorter in range(length, max(low, length - _TRIES) - 1, -1):
        try:
            require_tests(task, [shorter])
        except InputError:
            continue
        return shorter
    return None


def read_value(reading: Reading, record: RunRecord) -> float | None:
    """Returns the share that a reading finds; 0 for a run that diverged, None if it was not tested."""
    if record.divergence is not None:
        return 0.0
    match reading:
        case Lengths():
            return _at_lengths(reading, record)
        case AxisValue():
            scores = [s.score for s in record.axes if (s.axis, s.value) == (reading.axis, reading.value)]
            return scores[0].accuracy(reading.measure) if scores else None
        case Finding():
            return _finding(reading, record.examination)
        case Noise():
            return None


def _at_lengths(reading: Lengths, record: RunRecord) -> float | None:
    scores = [s for s in record.evaluations if reading.low <= s.length <= reading.high]
    if not scores:
        return None
    weights = [s.positions if _by_position(reading.measure) else s.sequences for s in scores]
    total = sum(w * s.accuracy(reading.measure) for w, s in zip(weights, scores, strict=True))
    return (total / sum(weights) - reading.chance) / (1 - reading.chance)


def _by_position(measure: Measure) -> bool:
    return measure in ("token", "scaled")


def _finding(reading: Finding, examination: dict[str, Any]) -> float | None:
    match reading.name:
        case "greedy" | "sampled":
            value = examination.get(reading.name)
            return None if value is None else float(value)
        case "two-isi" | "double-isi":
            tests = [t for t in examination.get("phase_alignment", ()) if t["name"] == reading.name]
            return float(tests[0]["passed"]) if tests else None
        case "survives":
            rows = examination.get("streams")
            return None if not rows else float(all(r["survived"] >= reading.at for r in rows))


def readings_of(line: Line) -> list[Reading]:
    """Returns how the cells of a line are read."""
    return [cell.reading for cell in line.cells]
