"""Tables 1 to 5 and figure 1 of "On memory and generalization in the era of linear recurrence" (seed 003)."""

from __future__ import annotations

from nerode.core import Reference
from nerode.reproduce.memory_copying import FIGURE_1, TABLE_3
from nerode.reproduce.memory_counting import FIGURE_2, FIGURE_3, TABLE_4, TABLE_5
from nerode.reproduce.memory_tracking import TABLE_1, TABLE_2
from nerode.reproduce.records import Paper

MEMORY = Paper(
    name="memory",
    reference=Reference("MemoryGeneralization"),
    title="state tracking, copying, denoising and counting: what is learned, and what goes on beyond "
    "training",
    tables=(TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_5, FIGURE_1, FIGURE_2, FIGURE_3),
)
