"""The proved checker as `formal/build` made it, for the tests that run it."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FORMAL = ROOT / "formal"
BUILT = ROOT / "out" / "formal"


def require_built() -> Path:
    """Returns the folder with nerode-check and the compiled library; skips the test where it is not built."""
    if shutil.which("coqc") is None:
        pytest.skip("Coq is not installed (apt-get install coq, then make formal)")
    sources = [*sorted(FORMAL.glob("*.v")), FORMAL / "main.ml", FORMAL / "_CoqProject", FORMAL / "build"]
    now = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    mark = BUILT / "sources.sha256"
    if not mark.exists() or mark.read_text().strip() != now:
        pytest.skip("out/formal is not built from these sources (run formal/build)")
    return BUILT
