"""Linear recurrent networks that were polished into exact representations, for the table of state tracking.

`python -m benchmarks polish` writes them, a JSON object a line: the group, the seed, and under the name of
each float format the record of `nerode polish`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nerode.core import FormatError
from nerode.records import CellResult, LineResult
from nerode.study import summarise_verdict

FORMAT = "nerode-polish-record"
DTYPE = "float32"

_COLUMNS = {8: "1X", 16: "2X", 24: "3X", 32: "4X", 40: "5X"}
"""What the table calls multiples of the length of training."""


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
    try:
        found = [json.loads(text) for text in path.read_text(encoding="utf-8").split("\n") if text]
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot be read: {error}", path=path) from None
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
