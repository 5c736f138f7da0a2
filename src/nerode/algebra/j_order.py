"""The order of the D-classes of a monoid: which ones lie directly below which."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nerode.algebra.map_index import Numbers
from nerode.core import Budget

Below = list[list[int]]


def j_order(
    d_class: Numbers, graphs: Sequence[Numbers], budget: Budget | None = None
) -> tuple[tuple[int, ...], ...]:
    """Returns for each D-class the ones directly below it, increasing.

    x is below y when x is y times something on both sides. One step down is one more letter on the right
    or on the left; what is directly below is a step that no longer way down implies.

    Args:
        d_class: for each element the number of its D-class.
        graphs: the right and the left Cayley graph.
        budget: its bytes bound the table of which class is below which; its seconds bound the work.
    """
    budget = budget or Budget()
    number = int(d_class.max()) + 1
    known = {"D-classes": number}
    budget.check("bytes", number * number // 8, **known)
    below = _one_letter_below(d_class, graphs)
    under = [0] * number
    covers: list[tuple[int, ...]] = [()] * number
    for d in _from_the_bottom(below):
        budget.check_time(**known)
        implied = 0
        for e in below[d]:
            implied |= under[e]
        covers[d] = tuple(e for e in below[d] if not implied >> e & 1)
        for e in covers[d]:
            implied |= 1 << e
        under[d] = implied
    return tuple(covers)


def j_levels(covers: Sequence[Sequence[int]]) -> list[int]:
    """Returns for each D-class the length of the longest chain of classes above it.

    Args:
        covers: for each D-class the ones directly below it.
    """
    levels = [0] * len(covers)
    for d in reversed(_from_the_bottom(covers)):
        for e in covers[d]:
            levels[e] = max(levels[e], levels[d] + 1)
    return levels


def _one_letter_below(d_class: Numbers, graphs: Sequence[Numbers]) -> Below:
    """Returns for each D-class the other ones that one letter on either side leads to, increasing."""
    number = int(d_class.max()) + 1
    source = d_class.astype(np.int64) * number
    codes = {
        code
        for graph in graphs
        for column in graph.T
        for code in np.unique(source + d_class[column]).tolist()
    }
    below: Below = [[] for _ in range(number)]
    for code in sorted(codes):
        upper, lower = divmod(code, number)
        if upper != lower:
            below[upper].append(lower)
    return below


def _from_the_bottom(below: Sequence[Sequence[int]]) -> list[int]:
    """Returns the D-classes in an order in which each one comes after all that are below it."""
    waiting = [len(lower) for lower in below]
    above: Below = [[] for _ in below]
    for d, lower in enumerate(below):
        for e in lower:
            above[e].append(d)
    order = [d for d, count in enumerate(waiting) if not count]
    for e in order:
        for d in above[e]:
            waiting[d] -= 1
            if not waiting[d]:
                order.append(d)
    return order
