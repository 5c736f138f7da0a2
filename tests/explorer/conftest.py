"""Real servers, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

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
def address() -> Iterator[str]:
    """The page as the command line starts it."""
    command = [sys.executable, "-m", "nerode.cli.main", "explore", "--json"]
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
