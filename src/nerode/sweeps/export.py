"""Finished runs as flat rows: CSV, and JSON lines with the same columns in every line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nerode.sweeps.index import Outline


def flat_rows(runs: Sequence[Outline]) -> list[dict[str, Any]]:
    """Returns one row for each run and tested length, all with the same columns in the same order.

    A run without scores by length has one row. Tables become columns with dotted names, lists become JSON
    text, and what a run does not have is None. Damaged runs are left out.
    """
    rows = [row for run in runs if not run.damage for row in _rows(run)]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return [{name: row.get(name) for name in columns} for row in rows]


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns rows as CSV with a heading."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]) if rows else ["key"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def to_json_lines(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns rows as JSON, one object a line."""
    return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)


def flatten(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yields plain values by dotted name; lists as JSON text."""
    for name, value in table.items():
        place = f"{above}.{name}" if above else str(name)
        if isinstance(value, Mapping):
            yield from flatten(value, place)
        elif isinstance(value, list):
            yield place, json.dumps(value, ensure_ascii=False)
        else:
            yield place, value


def _rows(run: Outline) -> Iterator[dict[str, Any]]:
    result = dict(run.result)
    scores = result.pop("evaluations", None) or [{}]
    shared = {"key": run.key, **dict(flatten(run.spec, "spec")), **dict(flatten(result, "result"))}
    for score in scores:
        yield {**shared, **dict(flatten(score, "score"))}
