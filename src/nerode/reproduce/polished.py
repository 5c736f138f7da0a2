"""Linear recurrent networks that were polished into exact representations, for the table of state tracking.

`nerode polish` makes them; their records, where there are any, are read from a folder of JSON files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nerode.core.errors import FormatError
from nerode.reproduce.results import CellResult, LineResult
from nerode.reproduce.theory import theory_of

FORMAT = "nerode-polish-record"

_COLUMNS = {8: "1X", 16: "2X", 24: "3X", 32: "4X", 40: "5X"}
"""What the table calls multiples of the length of training."""


def polished_lines(folder: Path) -> list[LineResult]:
    """Returns a line for each group with polished networks in a folder; none if there is no such folder.

    Raises:
        FormatError: for a file that is not JSON.
    """
    groups: dict[str, list[dict[str, Any]]] = {}
    for record in _records(folder):
        groups.setdefault(str(record["group"]), []).append(record)
    return [_line(group, records) for group, records in groups.items()]


def _records(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.rglob("*.json")):
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise FormatError(f"cannot be read: {error}", path=path) from None
        for item in data if isinstance(data, list) else [data]:
            if isinstance(item, dict) and item.get("format") == FORMAT and item.get("after"):
                yield item


def _line(group: str, records: list[dict[str, Any]]) -> LineResult:
    lengths = sorted({score["length"] for record in records for score in record["after"]})
    cells = tuple(
        CellResult(
            column=_COLUMNS.get(length, str(length)),
            published=None,
            printed="",
            values=tuple(
                float(score["sequence"])
                for record in records
                for score in record["after"]
                if score["length"] == length
            ),
            agreement="–",
        )
        for length in lengths
    )
    proved = sum(bool(record["proved"]) for record in records)
    return LineResult(
        row=group,
        model="rotations, polished (ours)",
        kind="polished",
        cells=cells,
        theory=theory_of(group, "ids4"),
        seeds=tuple(range(len(records))),
        cpu_seconds=sum(record["polish_cpu_seconds"] for record in records),
        note=f"{proved} of {len(records)} proved right at every length in exact arithmetic",
    )
