"""Numbering everything that a step function reaches, breadth first and under a budget."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import numpy as np

from nerode.core import Budget
from nerode.languages.dfa import IntArray

K = TypeVar("K", bound=Hashable)


def explore(
    starts: Sequence[K],
    successors: Callable[[list[K]], Sequence[K]],
    *,
    num_letters: int,
    batch: int,
    budget: Budget,
) -> tuple[list[K], IntArray]:
    """Returns the keys that are reached, in breadth-first order, and the table of their transitions.

    Args:
        starts: distinct keys, which get the first numbers.
        successors: the keys after each letter for a list of keys, one key after the other; a whole list
            at a time, so that it can be computed with arrays.
        num_letters: how many successors each key has.
        batch: how many keys are handed over at a time.
        budget: limits the number of keys.

    Raises:
        BudgetExceeded: as soon as a batch leads beyond the budget.
    """
    order = list(starts)
    number = {key: i for i, key in enumerate(order)}
    targets: list[int] = []
    done = 0
    while done < len(order):
        budget.check("states", len(order), states_reached=len(order))
        keys = order[done : done + batch]
        done += len(keys)
        for key in successors(keys):
            found = number.get(key)
            if found is None:
                found = number[key] = len(order)
                order.append(key)
            targets.append(found)
    return order, np.array(targets, dtype=np.int32).reshape(len(order), num_letters)
