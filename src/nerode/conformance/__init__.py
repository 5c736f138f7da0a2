"""Does a sequence model do what it promises? Checks for the zoo and for models from elsewhere.

In a test file, one line makes one test for each check:

    TestMine = nerode.conformance.suite(lambda: MyModel(8), features=8)

Or call `examine(Subject(...))`, which returns what failed, or use the pytest fixture `conformance`. Names are
imported when they are first used: the pytest plugin, which pytest loads in every run, must not load torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nerode.conformance.checks import CHECKS
    from nerode.conformance.examination import examine, suite
    from nerode.conformance.subject import Subject

_HOMES = {"CHECKS": "checks", "Subject": "subject", "examine": "examination", "suite": "examination"}

__all__ = ["CHECKS", "Subject", "examine", "suite"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
