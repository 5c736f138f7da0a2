from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nerode.core import FormatError
from nerode.report.pages.atlas import atlas_page
from nerode.study.trained import Point, TrainingOutcome, find_disagreements, read_experiments, read_runs
from tests.report.pages.test_atlas import data_of, parity_row
from tests.report.pages.test_language import assert_offline, words


def trained(architecture: str, *medians: float, language: str = "parity") -> TrainingOutcome:
    points = tuple(Point(label=str(40 * (i + 1)), median=m, low=m / 2, high=m) for i, m in enumerate(medians))
    return TrainingOutcome(
        language=language,
        architecture=architecture,
        model=architecture,
        points=points,
        seeds=3,
        threshold=0.9,
        source="nerode train",
    )


def run(seed: int, share: float, **changes: Any) -> dict[str, Any]:
    scores = [{"length": n, "sequence": share if n > 40 else 1.0, "token": 1.0} for n in (40, 256)]
    return {
        "format": "nerode-run",
        "title": "mamba-signed ×2",
        "measure": "sequence",
        "threshold": 0.9,
        "complete": {
            "task": {"name": "parity", "settings": {}},
            "model": changes.get("title"),
            "run": {"seed": seed, "steps": 5},
        },
        "evaluations": scores,
        **changes,
    }


def write(folder: Path, name: str, data: object) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "result.json").write_text(json.dumps(data), encoding="utf-8")


def test_runs_that_differ_in_the_seed_go_together(tmp_path: Path) -> None:
    for seed, share in enumerate((0.25, 1.0, 0.5)):
        write(tmp_path, f"run-{seed}", run(seed, share))
    write(tmp_path, "other", run(0, 1.0, title="gru"))
    write(tmp_path, "diverged", run(0, 1.0, title="lstm", evaluations=[], divergence={"step": 1}))
    write(tmp_path, "unknown", run(0, 1.0, title="my.module:build"))
    write(tmp_path, "no-run", {"format": "something else"})
    found = {item.architecture: item for item in read_runs(tmp_path)}
    assert set(found) == {"mamba-signed", "gru"}
    signed = found["mamba-signed"]
    assert (signed.language, signed.seeds) == ("parity", 3)
    assert signed.points[0] == Point(label="40", median=1.0, low=1.0, high=1.0)
    assert signed.points[1] == Point(label="256", median=0.5, low=0.25, high=1.0)
    assert signed.learned
    assert not signed.generalises


def test_a_run_that_diverged_counts_as_nothing(tmp_path: Path) -> None:
    for seed in range(2):
        write(tmp_path, f"run-{seed}", run(seed, 1.0))
    for seed in (2, 3, 4):
        write(tmp_path, f"run-{seed}", run(seed, 1.0, evaluations=[], divergence={"step": 1}))
    (item,) = read_runs(tmp_path)
    assert item.seeds == 5
    assert item.points[1] == Point(label="256", median=0.0, low=0.0, high=1.0)
    assert not item.learned


@pytest.mark.parametrize(
    ("settings", "language"),
    [
        ({"monoid": "S3", "letters": "elements", "tokens": 1}, "s3"),
        ({"monoid": "A5", "letters": "generators", "tokens": 1}, "a5-generators"),
        ({"monoid": "S5", "letters": "elements", "tokens": 4}, None),
    ],
)
def test_state_tracking_is_about_the_word_problem(
    tmp_path: Path, settings: dict[str, Any], language: str | None
) -> None:
    task = {"name": "state-tracking", "settings": settings}
    write(tmp_path, "a", run(0, 1.0, complete={"task": task, "model": {}, "run": {"seed": 0}}))
    assert [item.language for item in read_runs(tmp_path)] == ([language] if language else [])


def test_a_result_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    write(tmp_path, "a", run(0, 1.0))
    (tmp_path / "a" / "result.json").write_text("{", encoding="utf-8")
    with pytest.raises(FormatError, match="cannot be read"):
        read_runs(tmp_path)


def test_tables_of_experiments_are_read_where_they_speak_of_a_language(tmp_path: Path) -> None:
    cell = {"column": "1-50", "values": [1.0, 0.5, 0.75]}
    line = {
        "kind": "trained",
        "language": "Tomita-3",
        "architecture": "lstm",
        "model": "LSTM",
        "cells": [cell],
    }
    table = {
        "format": "nerode-reproduction",
        "threshold": 0.9,
        "command": "nerode reproduce sarrof",
        "lines": [line, {**line, "kind": "compiled"}, {**line, "language": ""}, {**line, "cells": []}],
    }
    (tmp_path / "a.json").write_text(json.dumps(table), encoding="utf-8")
    (tmp_path / "b.json").write_text("[1]", encoding="utf-8")
    (item,) = read_experiments(tmp_path)
    assert (item.language, item.architecture, item.seeds) == ("tomita-3", "lstm", 3)
    assert item.points == (Point(label="1-50", median=0.75, low=0.5, high=1.0),)
    assert read_experiments(tmp_path / "missing") == []
    (tmp_path / "b.json").write_text("{", encoding="utf-8")
    with pytest.raises(FormatError, match="cannot be read"):
        read_experiments(tmp_path)


def test_disagreements_are_what_theory_does_not_expect() -> None:
    verdicts = {("parity", "mamba"): "no", ("parity", "lstm"): "yes", ("parity", "s4"): "open"}
    found = find_disagreements(
        [
            trained("lstm", 1.0, 0.2),
            trained("lstm", 0.5, 0.2),
            trained("lstm", 1.0, 1.0),
            trained("s4", 1.0, 0.0),
            trained("mamba", 0.3, 0.0),
            trained("mamba", 1.0, 0.95),
        ],
        verdicts,
    )
    assert [(d.kind, d.verdict) for d in found] == [
        ("beyond", "no"),
        ("forgets", "yes"),
        ("unlearned", "yes"),
    ]


def test_the_page_shows_what_training_found() -> None:
    items = [
        trained("mamba", 1.0, 1.0),
        trained("lstm", 1.0, 0.25),
        trained("lstm", 1.0, language="tomita-1"),
    ]
    page = atlas_page([parity_row()], trained=items)
    assert_offline(page)
    data = data_of(page)
    numbers = {name: i for i, (_, name, _) in enumerate(data["architectures"])}
    assert set(data["trained"]) == {f"0,{numbers['mamba']}", f"0,{numbers['lstm']}"}
    text = words(page)
    assert "2 models trained on these languages, 2 of them not as theory says" in text
    assert text.index("longer words will fail") < text.index("training found others")
    assert "25 (12–25)" in text
