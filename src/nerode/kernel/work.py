"""The budget of a check, what was spent of it, and the three ways in which a check ends early.

Unreadable     the input does not have the form it should have
Undecided      the evidence does not settle a question
OverBudget     the budget is used up before the question is settled
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
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
    """The budget is used up, or will be before the cells that are known already have been visited.

    Attributes:
        resource: the field of the budget.
        limit: its value.
        cells: how many cells had been found.
        left: how many of them will not be visited in time; 0 if the budget is used up.
    """

    def __init__(self, resource: str, limit: float, cells: int, left: int = 0) -> None:
        why = f"are too few for {left:,} more of" if left else "are used up after"
        super().__init__(f"budget exceeded: {limit:,} {resource} {why} {cells:,} cells")
        self.resource = resource
        self.limit = limit
        self.cells = cells
        self.left = left


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


_WINDOW, _STEPS = 1 / 16, 8
"""The share of the seconds, and the steps, over which the speed of a walk is measured at least."""

_FIRST_LOOK = 1 / 4
"""The share of the seconds that every walk has."""

_FASTEST = 0.5
"""Steps that are left are taken to need at least this share of the time of the fastest so far: what was
computed once is remembered, so that a walk becomes faster."""


# A browser has one thread, and no clock of its own for it.
_clock: Callable[[], float] = getattr(time, "thread_time", time.process_time)


class WorkCount:
    """Counts what a check does: units of work, which stand for operations on machine words, and cells.

    A walk says how many steps are left of those that it knows of. If they do not fit into the seconds that
    are left, the check ends at once: the walk has to take them all, and may find more.
    """

    def __init__(self, budget: WorkBudget | None = None) -> None:
        self.budget = budget or WorkBudget()
        self.units = 0
        self.cells = 0
        self.guarded = 0.0  # CPU seconds, of all, that were the guard's
        self._next_look = _BETWEEN_LOOKS
        self._started = _clock()
        self._steps = self._letters = 0
        self._measured = (0.0, 0)
        self._per_step = math.inf

    def spend(self, units: int) -> None:
        """Counts units of work; looks at the clock from time to time.

        Raises:
            OverBudget: if the seconds are used up.
        """
        self.units += units
        if self.units >= self._next_look:
            self._next_look = self.units + _BETWEEN_LOOKS
            self._look(self.elapsed())

    def _look(self, elapsed: float) -> None:
        seconds = self.budget.seconds
        if elapsed > seconds:
            raise OverBudget("CPU seconds", seconds, self.cells)
        since, steps = elapsed - self._measured[0], self._steps - self._measured[1]
        if self._letters and since > _WINDOW * seconds and steps >= _STEPS:
            self._measured = (elapsed, self._steps)
            self._per_step = min(self._per_step, since / steps)
            left = self.cells - self._steps // self._letters
            needed = _FASTEST * self._per_step * self._letters * left
            if elapsed > _FIRST_LOOK * seconds and elapsed + needed > seconds:
                raise OverBudget("CPU seconds", seconds, self.cells, left)

    def begin_walk(self, letters: int) -> None:
        """Notes that a walk begins with so many letters per cell; 0 if its speed says nothing."""
        self.cells = self._steps = 0
        self._letters = letters
        self._measured, self._per_step = (self.elapsed(), 0), math.inf

    def end_walk(self) -> None:
        """Notes that no cells are left."""
        self._letters = 0

    def count_steps(self, steps: int) -> None:
        """Notes how many steps a walk has taken."""
        self._steps = steps

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
        return _clock() - self._started
