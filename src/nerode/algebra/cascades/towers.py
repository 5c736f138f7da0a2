"""Towers of congruences: sets of states seen through coarser and coarser quotients."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from nerode.algebra.cascades.congruences import Labels, generated_congruence
from nerode.algebra.components import Rows


class Tower:
    """Congruences, each finer than the one before it, on states that are bits of a mask.

    Args:
        congruences: the class of each state, coarsest congruence first.
    """

    def __init__(self, congruences: Sequence[Labels]) -> None:
        self.congruences = tuple(congruences)
        self._class_of: list[list[int]] = []
        for labels in congruences:
            masks = [0] * (max(labels) + 1)
            for q, label in enumerate(labels):
                masks[label] |= 1 << q
            self._class_of.append([masks[label] for label in labels])

    @property
    def classes(self) -> list[int]:
        """The classes of all congruences as masks."""
        return list(dict.fromkeys(itertools.chain.from_iterable(self._class_of)))

    def tier(self, mask: int) -> int | None:
        """Returns the first congruence of which a set meets several classes, None if there is none."""
        lowest = (mask & -mask).bit_length() - 1
        for tier, class_of in enumerate(self._class_of):
            if mask & ~class_of[lowest]:
                return tier
        return None

    def rank(self, mask: int) -> tuple[int, int]:
        """Returns what letters never raise and tiles always lower: how fine the tier is, how many classes."""
        tier = self.tier(mask)
        if tier is None:
            return 0, mask.bit_count()
        class_of = self._class_of[tier]
        count, left = 0, mask
        while left:
            left &= ~class_of[(left & -left).bit_length() - 1]
            count += 1
        return len(self._class_of) - tier, count

    def saturate(self, mask: int, tier: int | None) -> int:
        """Returns the union of the classes that a set meets; the set itself if no congruence is given."""
        if tier is None:
            return mask
        class_of = self._class_of[tier]
        union = 0
        while left := mask & ~union:
            union |= class_of[(left & -left).bit_length() - 1]
        return union


def is_finer(first: Labels, second: Labels) -> bool:
    """Whether states of one class of the first congruence are in one class of the second."""
    return len(set(zip(first, second, strict=True))) == len(set(first))


def principal_congruences(rows: Rows, most: int) -> list[Labels]:
    """Returns congruences that one pair of states generates, the coarsest ones first.

    Neither the one with a single class nor the one with a class for each state is among them.
    """
    n = len(rows)
    pairs = itertools.combinations(range(n), 2)
    found = {generated_congruence(rows, range(n), [pair]) for pair in pairs}
    proper = [labels for labels in found if 0 < max(labels) < n - 1]
    return sorted(proper, key=lambda labels: (max(labels), labels))[:most]
