"""Conformance: checks that a sequence model does what it promises, for the zoo and for other models.

In a test file, one line makes one test for each check:

    TestMine = nerode.conformance.suite(lambda: MyModel(8), features=8)

Or call `examine(ModelUnderTest(...))`, which returns what failed, or use the pytest fixture `conformance`.
Names are imported when they are first used: the pytest plugin, which pytest loads in every run, must not load
torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nerode.conformance.checks import CHECKS, ModelUnderTest, examine, suite

__all__ = ["CHECKS", "ModelUnderTest", "examine", "suite"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.checks"), name)
