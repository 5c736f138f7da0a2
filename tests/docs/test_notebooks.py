"""The notebooks run from the first cell to the last, and hold no output of another time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    codes = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(codes) >= 3
    space: dict[str, Any] = {"__name__": "__notebook__"}
    for cell in codes:
        assert cell["outputs"] == []
        exec(compile("".join(cell["source"]), f"{path.name}, {cell['id']}", "exec"), space)  # noqa: S102


def test_there_is_a_notebook_for_each_door() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["own-language", "own-model", "paper-figure"]
