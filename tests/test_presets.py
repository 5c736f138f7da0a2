"""The presets that the repository ships: every file is a spec, and its first line is its command."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks._preset_rows import ROWS
from nerode.records import TrainSpec, read_toml
from nerode.tasks import build_task
from nerode.training import spec_model_config, tested_lengths as lengths_of_tests

FOLDER = Path(__file__).parent.parent / "experiments" / "presets"
FILES = sorted(FOLDER.glob("*.toml"))


def test_every_preset_is_measured_and_every_row_has_its_file():
    assert sorted(row.name for row in ROWS) == sorted(path.stem for path in FILES)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_preset_is_a_spec_and_begins_with_its_command(row):
    path = FOLDER / f"{row.name}.toml"
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first == f"# nerode train --spec experiments/presets/{row.name}.toml --seeds {row.seeds}"
    spec = TrainSpec.from_mapping(read_toml(path))
    assert spec.run.threads == 1
    assert spec_model_config(spec.model, build_task(spec.task)).layers
    for name in row.shows:
        measure, at, length = name.partition("@")
        if at:
            assert int(length) in lengths_of_tests(spec)
            assert measure in ("final", "sequence", "token")
