"""Cells from what a paper prints: percentages, shares, ticks."""

from __future__ import annotations

from collections.abc import Sequence

from nerode.reproduce.records import Cell, Reading

TICKS = {"✓": 1.0, "✗": 0.0}


def percent_cells(
    columns: Sequence[str], readings: Sequence[Reading], printed: str, *, trained: int = 1
) -> tuple[Cell, ...]:
    """Returns cells of percentages written like "100/54/10"; `–` for one that the paper does not have.

    Args:
        columns: the headings.
        readings: how each is measured here.
        printed: the numbers.
        trained: how many of the first columns are about lengths that are trained on.
    """
    return tuple(
        Cell(
            column=column,
            reading=reading,
            published=None if text == "–" else float(text) / 100,
            printed=text,
            trained=number < trained,
        )
        for number, (column, reading, text) in enumerate(
            zip(columns, readings, printed.split("/"), strict=True)
        )
    )


def tick_cells(
    columns: Sequence[str], readings: Sequence[Reading], printed: str, *, trained: int = 1
) -> tuple[Cell, ...]:
    """Returns cells of ticks and crosses written like "✓✗–", a character each."""
    return tuple(
        Cell(
            column=column,
            reading=reading,
            published=TICKS.get(text),
            printed=text,
            trained=number < trained,
        )
        for number, (column, reading, text) in enumerate(zip(columns, readings, printed, strict=True))
    )
