"""The budget of a check, what was spent of it, and the three ways in which a check ends early.

Unreadable     the input does not have the form it should have
Undecided      the evidence does not settle a question
OverBudget     the budget is used up before the question is settled
"""

from __future__ import annotations

import time
from dataclasses import dataclass

_BETWEEN_LOOKS = 20_000
"""Units of work between two looks at the clock: some milliseconds."""


class Unreadable(ValueError):
    """Input that cannot be used; the message is one sentence.

    Attributes:
        path: the file, "" if the input did not come from one.
    """

    def __init__(self, what: str, *, path: str = "") -> None:
        super().__init__(f"{path}: {what}" if path else what)
        self.what = what
        self.path = path


class Undecided(Exception):
    """The evidence does not settle the question on a whole cell."""


class OverBudget(Exception):
    """The budget is used up.

    Attributes:
        resource: the field of the budget.
        limit: its value.
        cells: how many cells had been found.
    """

    def __init__(self, resource: str, limit: float, cells: int) -> None:
        super().__init__(f"budget exceeded: {limit:,} {resource} are used up after {cells:,} cells")
        self.resource = resource
        self.limit = limit
        self.cells = cells


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkBudget:
    """Limits of one check.

    Attributes:
        seconds: CPU seconds of the thread that checks.
        cells: cells of one walk.
    """

    seconds: float = 60.0
    cells: int = 1_000_000

    def __post_init__(self) -> None:
        if not (self.seconds > 0 and self.cells > 0):
            raise Unreadable(
                f"a budget of {self.seconds} seconds and {self.cells} cells; both must be above 0"
            )


class WorkCount:
    """Counts what a check does: units of work, which stand for operations on machine words, and cells."""

    def __init__(self, budget: WorkBudget | None = None) -> None:
        self.budget = budget or WorkBudget()
        self.units = 0
        self.cells = 0
        self._next_look = _BETWEEN_LOOKS
        self._started = time.thread_time()

    def spend(self, units: int) -> None:
        """Counts units of work; looks at the clock from time to time.

        Raises:
            OverBudget: if the seconds are used up.
        """
        self.units += units
        if self.units >= self._next_look:
            self._next_look = self.units + _BETWEEN_LOOKS
            if self.elapsed() > self.budget.seconds:
                raise OverBudget("CPU seconds", self.budget.seconds, self.cells)

    def count_cells(self, cells: int) -> None:
        """Notes how many cells a walk has found.

        Raises:
            OverBudget: if they are too many.
        """
        self.cells = cells
        if cells > self.budget.cells:
            raise OverBudget("cells", self.budget.cells, cells)

    def elapsed(self) -> float:
        """CPU seconds since the check began."""
        return time.thread_time() - self._started
