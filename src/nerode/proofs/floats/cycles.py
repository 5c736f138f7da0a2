"""Cycles of states: after how many repetitions of one input a state comes back to itself, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nerode.core import Budget, InputError, started
from nerode.proofs.runner import State, nan_rows, to_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCycle:
    """The states repeat: after `steps` repetitions they go around in `period`; 1 is a fixed point."""

    steps: int
    period: int


def find_cycle(
    advance: Callable[[State], State], start: State, *, most: int = 100_000, budget: Budget | None = None
) -> StateCycle | None:
    """Returns after how many repetitions the state comes back to itself, None if not within `most`.

    It needs the memory of two states, by Brent's way of finding cycles: the state is compared with one that
    was kept, and a new one is kept at each power of two.

    Implements: [Brent1980]

    Args:
        advance: what one repetition of the input does to a state; for a layer that reads features,
            `lambda state: layer.step(x, state)[1]`.
        start: the state before; any batch size, all of whose words have to repeat together.
        most: repetitions after which the search ends.
        budget: limits the time.

    Raises:
        InputError: if the state holds a NaN, or grows.
        BudgetExceeded: if the time is up.
    """
    budget = started(budget)
    kept, state, steps, power, period = _bits(start), advance(start), 1, 1, 1
    while _bits(state) != kept:
        if steps >= most:
            return None
        if power == period:
            kept, power, period = _bits(state), 2 * power, 0
        state, steps, period = advance(state), steps + 1, period + 1
        budget.check_time(repetitions=steps)
    ahead = start
    for _ in range(period):
        ahead = advance(ahead)
    behind, tail = start, 0
    while _bits(ahead) != _bits(behind):
        ahead, behind, tail = advance(ahead), advance(behind), tail + 1
        budget.check_time(repetitions=steps + tail)
    return StateCycle(steps=tail, period=period)


def _bits(state: State) -> tuple[bytes, ...]:
    batch = len(next(iter(state.values()))) if state else 1
    if nan_rows(state, batch).any():
        raise InputError("the state holds a NaN; it comes back to nothing")
    rows = to_rows(state, batch)
    return (str(rows.shape).encode(), rows.tobytes())
