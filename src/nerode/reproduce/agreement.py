"""Agreement of a number here with a published one: one rule, stated once and printed with every table."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from statistics import median

TOLERANCE = 0.05
"""Shares that differ by no more count as the same."""


class Agreement(StrEnum):
    """The comparison of a cell with the published one."""

    AGREES = "agrees"
    IN_KIND = "in kind"
    DIFFERS = "differs"
    NOT_LEARNED = "not learned here"
    NOTHING = "–"


RULE = (
    "agrees: the median over seeds is on the same side of the threshold as the paper, and a number of the "
    f"paper lies within {TOLERANCE:g} of the range of our seeds. not learned here: the paper has more, and "
    "our median misses the threshold already at the lengths of training, within the steps of this scale. in "
    "kind: the numbers differ, but both or neither reach the threshold. differs: all else."
)


def compare(
    published: float | None,
    values: Sequence[float],
    *,
    threshold: float,
    tick: bool,
    learned: bool,
) -> Agreement:
    """Returns how the values of all seeds compare with a published share.

    Args:
        published: the share, 1 for a tick and 0 for a cross.
        values: what each seed found.
        threshold: the share from which a cell counts as solved.
        tick: whether the paper has a tick or cross.
        learned: whether the lengths of training are solved here.
    """
    if published is None or not values:
        return Agreement.NOTHING
    solved = median(values) >= threshold
    claimed = published >= threshold
    above = not tick and published > max(values) + TOLERANCE
    below = not tick and published < min(values) - TOLERANCE
    if solved == claimed and not (above or below):
        return Agreement.AGREES
    if not learned and (above or (claimed and not solved)):
        return Agreement.NOT_LEARNED
    return Agreement.IN_KIND if solved == claimed else Agreement.DIFFERS
