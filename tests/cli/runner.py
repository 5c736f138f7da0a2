"""Runs the command line inside the test process."""

from __future__ import annotations

import contextlib
import io
import sys
from dataclasses import dataclass

from nerode.cli.main import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


def run(*arguments: str) -> Outcome:
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(arguments))
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
    sys.stdout.flush()
    return Outcome(code, out.getvalue(), err.getvalue())
