"""The axes that signatures name are those that tensors have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from nerode.models.zoo import all_kinds

ROOT = Path(__file__).parents[2]


def test_the_axes_of_every_member_are_as_annotated() -> None:
    """In a process of its own, where the modules are imported with the checker around every function."""
    command = [sys.executable, "-m", "tests.models.shapes_of_the_zoo"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    said, *checked = done.stdout.splitlines()
    assert said == "a wrong shape is found"
    for kind in all_kinds().values():
        layer = kind.build(8, kind.settings())
        own = [c for c in type(layer).__mro__ if c.__module__ != "nerode.models.base"]
        names = {f"{c.__module__}.{c.__qualname__}.{name}" for c in own for name in ("run", "forward")}
        assert not names.isdisjoint(checked), kind.name
