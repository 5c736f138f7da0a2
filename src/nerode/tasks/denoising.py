"""Denoising: a pattern with blanks scattered in it, a signal; then the pattern without the blanks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nerode.core import Reference
from nerode.tasks.patterns import PatternSettings, PatternTask
from nerode.tasks.table import TaskKind, register_task


class Denoising(PatternTask):
    """The blanks are among the letters of the pattern, all placements being as likely.

    References: [MemoryGeneralization]
    """

    name = "denoising"

    def _places(
        self, pattern: int, blanks: int, count: int, rng: np.random.Generator
    ) -> npt.NDArray[np.bool_]:
        places = np.zeros((count, pattern + blanks), dtype=np.bool_)
        chosen = rng.random(places.shape).argpartition(pattern - 1, axis=1)[:, :pattern]
        np.put_along_axis(places, chosen, True, axis=1)
        return places


register_task(
    TaskKind(
        name="denoising",
        title="a pattern with blanks scattered in it, a signal; then the pattern alone",
        settings=PatternSettings,
        build=Denoising,
        reference=Reference("MemoryGeneralization"),
    ),
    denoising_patterns={"patterns": (2, 4, 6, 8, 10), "blanks": (50,)},
    denoising_small={"patterns": (5,), "blanks": (4, 8, 12, 16, 20), "symbols": 4},
    denoising_small_patterns={"patterns": (1, 2, 3, 4, 5), "blanks": (20,), "symbols": 4},
)
