"""Copying: a pattern, blanks, a signal; then the pattern again."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nerode.core import Reference
from nerode.tasks.patterns import PatternSettings, PatternTask
from nerode.tasks.table import TaskKind, register_task


class Copying(PatternTask):
    """The pattern comes first, then all the blanks.

    References: [MemoryGeneralization]
    """

    name = "copying"

    def _places(
        self, pattern: int, blanks: int, count: int, rng: np.random.Generator
    ) -> npt.NDArray[np.bool_]:
        places = np.zeros((count, pattern + blanks), dtype=np.bool_)
        places[:, :pattern] = True
        return places


register_task(
    TaskKind(
        name="copying",
        title="a pattern, blanks, a signal; then the pattern again",
        settings=PatternSettings,
        build=Copying,
        reference=Reference("MemoryGeneralization"),
    ),
    copying_patterns={"patterns": (2, 4, 6, 8, 10), "blanks": (50,)},
    copying_small={"patterns": (5,), "blanks": (4, 8, 12, 16, 20), "symbols": 4},
    copying_small_patterns={"patterns": (1, 2, 3, 4, 5), "blanks": (20,), "symbols": 4},
)
