"""Folders of runs as `nerode train` writes them, with invented numbers."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from nerode.records import CompleteSpec, OptimiserSpec, RunRecord, RunSpec, TaskConfig

LENGTHS = (40, 80, 400)


def score(value: float, *, length: int = 40, **more: Any) -> dict[str, Any]:
    accuracies = dict.fromkeys(("token", "sequence", "final", "scaled"), value)
    return {"length": length, "sequences": 256, "positions": 256, **accuracies, "loss": 0.1, **more}


def result(
    *,
    title: str = "mamba",
    seed: int = 0,
    accuracies: tuple[float, ...] = (1.0, 0.5, 0.0),
    task: str = "parity",
    settings: dict[str, Any] | None = None,
    layers: tuple[str, ...] = ("mamba",),
    layer_settings: dict[str, Any] | None = None,
    rate: float = 0.001,
    **more: Any,
) -> dict[str, Any]:
    """What a run found."""
    own = {"states": 4} if layer_settings is None else layer_settings
    complete = CompleteSpec(
        task=TaskConfig(name=task, settings={"shortest": 3, "longest": 60} if settings is None else settings),
        model={"layers": [{"name": name, "settings": own} for name in layers]},
        optimiser=OptimiserSpec(rate=rate),
        run=RunSpec(seed=seed, steps=100),
    ).to_mapping()
    key = hashlib.sha256(json.dumps([title, complete]).encode()).hexdigest()
    return {
        "format": "nerode-run",
        "version": 1,
        "key": key,
        "title": title,
        "spec": {"task": complete["task"], "run": {"seed": seed}},
        "complete": complete,
        "parameters": 1234,
        "steps": 100,
        "samples": 6400,
        "stopped": "steps",
        "divergence": None,
        "measure": "sequence",
        "threshold": 0.9,
        "first_failing_length": None,
        "extrapolates_to": None,
        "evaluations": [score(y, length=n) for n, y in zip(LENGTHS, accuracies, strict=False)],
        "axes": [],
        "examination": {},
        "environment": {},
        "cpu_seconds": 1.5,
        "evaluation_cpu_seconds": 0.5,
        **more,
    }


def record(**options: Any) -> RunRecord:
    """The record of a run, with three validations."""
    return RunRecord.from_json({**result(**options), "history": history()}, path="result.json")


def history() -> list[dict[str, Any]]:
    """Three validations."""
    return [
        {
            "step": 50 * i,
            "samples": 3200 * i,
            "longest": 40,
            "rate": 0.001,
            "loss": 1.0 / i,
            "validation": score(0.3 * i),
        }
        for i in (1, 2, 3)
    ]


def write_run(store: Path, **options: Any) -> Path:
    """Writes a run into a folder of runs and returns its own folder."""
    found = result(**options)
    folder = store / found["key"][:16]
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps(found), encoding="utf-8")
    (folder / "spec.json").write_text(json.dumps(found["spec"]), encoding="utf-8")
    (folder / "metrics.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in history()), encoding="utf-8"
    )
    return folder


def fill_store(store: Path) -> Path:
    """Three seeds of Mamba, which fails, and three of an LSTM, which does not, one of which diverged."""
    for seed in range(3):
        write_run(store, seed=seed, accuracies=(1.0, 0.4 + seed / 10, 0.0))
        good = (1.0, 1.0, 1.0) if seed else ()
        divergence = None if seed else {"step": 7, "what": "loss"}
        write_run(store, title="lstm", layers=("lstm",), seed=seed, accuracies=good, divergence=divergence)
    return store
