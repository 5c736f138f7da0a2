"""One scheduler for all strategies of a search, counted in row-steps; seconds only end it.

A strategy is a generator that yields the row-steps that it has made since it last yielded, and returns what
it has found, None for nothing. In round k each strategy that is not done has a slice of W_k row-steps, and
W_k grows by a factor of four. So the same bits give the same result on a busy machine, unless time runs out,
and a strategy that would end alone after w row-steps ends after at most 4w + W_0 of every other.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Generic, TypeVar

from nerode.core import Budget

Found = TypeVar("Found")
Work = Generator[int, None, Found]
"""Yields row-steps, and returns what was found."""

FIRST_SLICE, GROWTH = 1 << 14, 4
"""Row-steps of the first slice, and what the next one is larger by."""


class Schedule(Generic[Found]):
    """Strategies in their order.

    Args:
        strategies: by name.

    Attributes:
        steps: the row-steps of each so far.
    """

    def __init__(self, strategies: dict[str, Work[Found | None]]) -> None:
        self._open = dict(strategies)
        self.steps = dict.fromkeys(strategies, 0)

    def run(self, budget: Budget) -> Found | None:
        """Returns what the first strategy that finds something has found, None if none does in the time."""
        size = FIRST_SLICE
        while self._open and budget.left():
            for name in list(self._open):
                found = self._slice(name, size, budget)
                if found is not None:
                    return found
            size *= GROWTH
        return None

    def _slice(self, name: str, size: int, budget: Budget) -> Found | None:
        spent = 0
        try:
            while spent < size and budget.left():
                made = next(self._open[name])
                spent += made
                self.steps[name] += made
        except StopIteration as done:
            del self._open[name]
            found: Found | None = done.value
            return found
        return None


def finished(work: Work[Found]) -> Found:
    """Returns what a strategy finds that runs alone to its end."""
    while True:
        try:
            next(work)
        except StopIteration as done:
            found: Found = done.value
            return found
