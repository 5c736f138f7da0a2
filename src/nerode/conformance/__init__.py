"""Conformance: checks that a sequence model does what it promises, for the zoo and for other models.

In a test file, one line makes one test for each check:

    TestMine = nerode.conformance.suite(lambda: MyModel(8), features=8)

Or call `examine(ModelUnderTest(...))`, which returns what failed, or use the pytest fixture `conformance`.
Names are imported when they are first used: the pytest plugin, which pytest loads in every run, must not load
torch.
"""

from typing import TYPE_CHECKING

from nerode.core import attach

if TYPE_CHECKING:
    from nerode.conformance.checks import CHECKS, ModelUnderTest, examine, suite

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "nerode.conformance.checks": "CHECKS ModelUnderTest examine suite",
    },
)
