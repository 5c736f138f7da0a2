"""Result tables on disk: JSON and its Markdown under `experiments/reproduce`, and reading them back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nerode.core import FormatError, write_atomically
from nerode.reproduce.results import FORMAT, VERSION, TableResult


def result_path(folder: Path, paper: str, table: str) -> Path:
    """Returns where the JSON of a table is."""
    return folder / paper / f"{table}.json"


def write_result(folder: Path, result: TableResult) -> Path:
    """Writes the JSON of a table, and returns where."""
    path = result_path(folder, result.paper, result.table)
    text = json.dumps(result.to_json(), ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False)
    write_atomically(path, text + "\n")
    return path


def read_results(folder: Path) -> list[dict[str, Any]]:
    """Returns all tables of a folder as plain values, by paper and table.

    Raises:
        FormatError: for a file that is no result of this version.
    """
    return [_read(path) for path in sorted(folder.glob("*/*.json"))]


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot be read: {error}", path=path) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FormatError(f"is no reproduced table: its format is not {FORMAT!r}", path=path)
    if data.get("version") != VERSION:
        raise FormatError(f"has version {data.get('version')!r}; this nerode reads {VERSION}", path=path)
    return data
