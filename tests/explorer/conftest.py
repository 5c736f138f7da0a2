"""Real servers, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

_TIGHT = """
import sys
from nerode.explorer.workers import Limits
from nerode.explorer.app import serve
serve(limits=Limits(seconds=30.0, cpu_seconds=1, body=50_000, together=2, waiting=3),
      tell=lambda address: print(address, flush=True))
"""


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(20)
        assert process.stdout is not None
        process.stdout.close()


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.fixture(scope="session")
def runs_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three finished runs and one that failed."""
    folder = tmp_path_factory.mktemp("runs")
    write_runs(folder)
    return folder


@pytest.fixture(scope="session")
def address(runs_folder: Path) -> Iterator[str]:
    """The page as the command line starts it, with a folder of runs."""
    command = [sys.executable, "-m", "nerode.cli.main", "explore", "--json", "--runs", str(runs_folder)]
    with running(command) as process:
        yield json.loads(first_line(process))["address"]


@pytest.fixture(scope="session")
def tight_address() -> Iterator[str]:
    """A server whose requests may use one second of the processor, two of them at a time."""
    with running([sys.executable, "-c", _TIGHT]) as process:
        yield first_line(process)


def slow_language() -> dict[str, str]:
    """An automaton of a thousand states, whose algebra takes some seconds."""
    rng = np.random.default_rng(1)
    moves = [f"{q} {rng.integers(1000)} {letter}" for q in range(1000) for letter in "ab"]
    return {"text": "slow.att", "file": "\n".join([*moves, *map(str, range(0, 1000, 3))]) + "\n"}


def write_runs(folder: Path) -> None:
    """Three finished runs as `nerode train` writes them, and one that failed."""
    for seed, title, reach in ((0, "mamba", 64), (1, "mamba", 128), (0, "lstm", 256)):
        key = f"{seed:02x}{len(title):02x}" * 16
        run = folder / key[:16]
        run.mkdir()
        spec = {"task": {"name": "parity", "settings": {}}, "run": {"seed": seed}}
        scores = [
            {"length": n, "token": 1.0, "sequence": 1.0 if n <= reach else 0.4, "final": 1.0, "scaled": 1.0}
            for n in (40, 64, 128, 256)
        ]
        result = {
            "format": "nerode-run",
            "version": 1,
            "key": key,
            "title": title,
            "spec": spec,
            "parameters": 1650,
            "steps": 60,
            "samples": 3840,
            "stopped": "steps",
            "divergence": None,
            "measure": "sequence",
            "threshold": 0.9,
            "first_failing_length": 2 * reach,
            "extrapolates_to": reach,
            "evaluations": scores,
            "axes": [],
            "examination": {},
            "cpu_seconds": 0.4,
        }
        history = [
            {
                "step": s,
                "samples": 64 * s,
                "longest": 40,
                "rate": 0.01,
                "loss": 1 / s,
                "validation": scores[0],
            }
            for s in (10, 30, 60)
        ]
        (run / "result.json").write_text(json.dumps(result))
        (run / "spec.json").write_text(json.dumps(spec))
        (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in history))
    failed = folder / ".work" / ("ab" * 8)
    failed.mkdir(parents=True)
    (failed / "failure.json").write_text(json.dumps({"key": "ab" * 32, "message": "it broke", "trace": ""}))
