"""Readings: how the scores of a network become answers. Plain values; `proofs.reading` decodes by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nerode.core import InputError

Bits = tuple[bool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The way from scores to the truth values of an answer.

    Attributes:
        kind: "above" if each truth value is a score above the threshold, "largest" if the largest score
            names a class.
        threshold: of "above", as a fraction.
        columns: of "above": the score of each truth value; empty for all scores in order.
        table: of "largest": the answer of each class. Of "above" with one score: the answers for a score
            that is not above the threshold, and for one that is.
    """

    kind: Literal["above", "largest"]
    threshold: str = "0"
    columns: tuple[int, ...] = ()
    table: tuple[Bits, ...] = ()

    def __post_init__(self) -> None:
        if self.kind == "largest" and len(self.table) < 2:
            raise InputError("a reading by the largest score needs the answers of two classes or more")
        if self.kind == "above" and self.table and (len(self.table) != 2 or len(self.columns) != 1):
            raise InputError("a reading by one score has two answers")
        if len({len(row) for row in self.table}) > 1:
            raise InputError("the answers of a reading have different lengths")

    @classmethod
    def of_classes(cls, answers: Sequence[Bits]) -> Reading:
        """Returns the reading by the largest score, with the answer of each class."""
        return cls(kind="largest", table=tuple(tuple(map(bool, row)) for row in answers))

    @classmethod
    def by_name(cls, classes: int) -> Reading:
        """Returns the reading by the largest score where each class is an answer of its own."""
        return cls.of_classes([tuple(i == j for j in range(classes)) for i in range(classes)])

    def __str__(self) -> str:
        return f"scores above {self.threshold}" if self.kind == "above" else "the largest score"
