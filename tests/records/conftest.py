"""Settings of the tests of the run store."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _toy_can_be_imported(monkeypatch):
    """Workers are new processes, which find the toy run only by the path."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]), prepend=os.pathsep)
