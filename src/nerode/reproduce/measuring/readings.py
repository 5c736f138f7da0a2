"""Numbers of cells: from the records of runs, and from networks that were polished into representations.

`python -m benchmarks polish` writes the latter, one JSON object per line: the group, the seed, and under the
name of each float format the record of `nerode polish`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nerode.core import InputError, read_json_lines
from nerode.records import CellResult, LineResult, Measure, RunRecord
from nerode.reproduce.records import AxisValue, Finding, LengthRange, Noise, Reading, TableLine
from nerode.study import summarise_verdict
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
        if isinstance(reading, LengthRange):
            found |= {
                n for target in _spread(reading) if (n := _nearest(task, target, reading.low)) is not None
            }
    return tuple(sorted(found))


def _spread(lengths: LengthRange) -> list[int]:
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
        case LengthRange():
            return _at_lengths(reading, record)
        case AxisValue():
            scores = [s.score for s in record.axes if (s.axis, s.value) == (reading.axis, reading.value)]
            return scores[0].accuracy(reading.measure) if scores else None
        case Finding():
            return _finding(reading, record.examination)
        case Noise():
            return None


def _at_lengths(reading: LengthRange, record: RunRecord) -> float | None:
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


def readings_of(line: TableLine) -> list[Reading]:
    """Returns the readings of the cells of a line."""
    return [cell.reading for cell in line.cells]


FORMAT = "nerode-polish-record"
DTYPE = "float32"

_COLUMNS = {8: "1X", 16: "2X", 24: "3X", 32: "4X", 40: "5X"}
"""Columns of the table for multiples of the length of training."""


def polished_lines(folder: Path) -> list[LineResult]:
    """Returns a line for each group with polished networks in a folder; none if there is no such folder.

    A seed whose network could not be polished counts as 0 at every length.

    Raises:
        FormatError: for a file that is not JSON lines.
    """
    groups: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for row in _rows(path):
            groups.setdefault(str(row["group"]), []).append(row)
    return [_line(group, rows) for group, rows in groups.items()]


def _rows(path: Path) -> list[dict[str, Any]]:
    found = read_json_lines(path)
    return [row for row in found if isinstance(row, dict) and row.get(DTYPE, {}).get("format") == FORMAT]


def _line(group: str, rows: list[dict[str, Any]]) -> LineResult:
    scores = [{s["length"]: float(s["sequence"]) for s in row[DTYPE]["after"]} for row in rows]
    lengths = sorted({length for own in scores for length in own})
    cells = tuple(
        CellResult(
            column=_COLUMNS.get(length, str(length)),
            published=None,
            printed="",
            values=tuple(own.get(length, 0.0) for own in scores),
            agreement="–",
        )
        for length in lengths
    )
    proved = sum(bool(row[DTYPE]["proved"]) for row in rows)
    return LineResult(
        row=group,
        model="rotations, trained on 8 and polished (ours)",
        kind="polished",
        cells=cells,
        theory=summarise_verdict(group.partition(",")[0], "ids4"),
        seeds=tuple(int(row["seed"]) for row in rows),
        parameters=rows[0].get("parameters"),
        cpu_seconds=sum(row["training_cpu_seconds"] + row[DTYPE]["polish_cpu_seconds"] for row in rows),
        note=f"{proved} of {len(rows)} seeds proved right at every length in exact arithmetic",
    )
