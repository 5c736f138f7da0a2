"""Egg-boxes as plain values, and where an element of the monoid is in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nerode.algebra import Green, green, j_levels, transition_monoid
from nerode.core import Budget, BudgetExceeded
from nerode.languages import Dfa
from nerode.report import Box, group_name, shorten, visible

_MOST_ELEMENTS = 5_000
_LONGEST_WORD = 40


def eggs_to_json(boxes: Iterable[Box]) -> list[dict[str, Any]]:
    """Returns the boxes in their order, which is the order of `ElementPlaces` too."""
    return [
        {
            "level": box.level,
            "elements": box.num_elements,
            "rows": box.num_rows,
            "columns": box.num_columns,
            "regular": box.regular,
            "group": group_name(box.group),
            "note": box.note,
            "cells": [
                [
                    {
                        "words": [visible(word) for word in cell.words],
                        "idempotent": cell.idempotent,
                        "group": cell.is_group,
                        "left_out": cell.left_out,
                    }
                    for cell in row
                ]
                for row in box.cells
            ],
        }
        for box in boxes
    ]


class ElementPlaces:
    """Follows a word through the transition monoid.

    Args:
        dfa: the minimal automaton.

    Raises:
        BudgetExceeded: if the monoid is too large to be drawn.
    """

    def __init__(self, dfa: Dfa) -> None:
        self._alphabet = dfa.alphabet
        self._monoid = transition_monoid(dfa, Budget(elements=_MOST_ELEMENTS))
        self._relations: Green = green(self._monoid)
        levels = j_levels(self._relations.covers)
        order = sorted(range(len(levels)), key=lambda d: (levels[d], d))
        self._box = {d: number for number, d in enumerate(order)}
        self._element = 0

    @classmethod
    def of(cls, dfa: Dfa | None) -> ElementPlaces | None:
        """Returns where to follow words, None if there is no monoid that can be drawn."""
        try:
            return None if dfa is None else cls(dfa)
        except BudgetExceeded:
            return None

    def read(self, letter: int) -> None:
        """Goes on by one letter."""
        self._element = int(self._monoid.right[self._element, letter])

    def place(self) -> dict[str, Any]:
        """Returns the present element: its least word, its box, and its row and column there."""
        relations, x = self._relations, self._element
        d_class = relations.d(int(relations.d_class[x]))
        return {
            "word": visible(shorten(self._alphabet.decode(self._monoid.word(x)), _LONGEST_WORD)),
            "box": self._box[d_class.number],
            "row": d_class.rows.tolist().index(int(relations.r_class[x])),
            "column": d_class.columns.tolist().index(int(relations.l_class[x])),
        }
