"""A table of numbers as colours: states and gates along a word, attention, confusion."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nerode.core import InputError
from nerode.report.figures.marks import rounded, tooltip
from nerode.report.vega import Figure, Json, figure

MOST_CELLS = 20_000
"""Each cell is an element of the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """What a heat map shows.

    Attributes:
        title: above the figure.
        x_title: of the columns.
        y_title: of the rows.
        columns: a name for each column (the letters of a word); they need not differ.
        rows: a name for each row.
        values: one tuple for each row; None where there is none.
        caption: below the figure.
    """

    title: str
    x_title: str
    y_title: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    caption: str = ""

    def __post_init__(self) -> None:
        if len(self.values) != len(self.rows) or any(len(r) != len(self.columns) for r in self.values):
            raise InputError(
                f"the values of {self.title!r} are not {len(self.rows)} rows of {len(self.columns)} numbers"
            )
        size = f"{len(self.rows)} × {len(self.columns)}"
        if len(self.rows) * len(self.columns) > MOST_CELLS:
            raise InputError(
                f"{self.title!r} has {size} cells; a page can hold {MOST_CELLS:,}. Choose a part of it"
            )

    @property
    def finite(self) -> list[float]:
        """All numbers that can be shown."""
        return [v for row in self.values for v in row if v is not None and math.isfinite(v)]

    @property
    def extent(self) -> float:
        """The largest absolute value."""
        return max(map(abs, self.finite), default=0.0)


def heat_figure(heat: HeatMap) -> Figure:
    """Returns the figure of a page: one colour for each sign, stronger for larger numbers."""
    rows = [
        {
            "x": j,
            "y": i,
            "value": rounded(value),
            "size": rounded(abs(value)),
            "sign": "below 0" if value < 0 else "0 or above",
            "column": heat.columns[j],
            "row": heat.rows[i],
        }
        for i, line in enumerate(heat.values)
        for j, value in enumerate(line)
        if value is not None and math.isfinite(value)
    ]
    low, high = min(heat.finite, default=0.0), max(heat.finite, default=0.0)
    signs = " (orange below 0)" if low < 0 else ""
    return figure(
        _spec(heat, rows),
        title=heat.title,
        caption=" ".join(filter(None, (heat.caption, f"From {low:.3g} to {high:.3g}{signs}."))),
        alternative=f"{heat.title}: {len(heat.rows)} rows ({heat.y_title}) by {len(heat.columns)} columns "
        f"({heat.x_title}), values from {low:.3g} to {high:.3g}.",
        shape="fixed",
    )


def _spec(heat: HeatMap, rows: list[Json]) -> Json:
    return {
        "data": {"values": rows},
        "height": max(90, min(480, 16 * len(heat.rows) + 60)),
        "params": [
            {"name": "columns", "value": list(heat.columns)},
            {"name": "rows", "value": list(heat.rows)},
        ],
        "usermeta": {"titles": {"column": heat.x_title, "x": "place", "row": heat.y_title, "value": "value"}},
        "mark": {"type": "rect", "stroke": None},
        "encoding": {
            "x": _places("x", heat.x_title, "columns", len(heat.columns)),
            "y": _places("y", heat.y_title, "rows", len(heat.rows)),
            "fill": {
                "field": "sign",
                "type": "nominal",
                "scale": {"domain": ["0 or above", "below 0"], "range": ["var(--c1)", "var(--c2)"]},
                "legend": None,
            },
            "fillOpacity": {
                "field": "size",
                "type": "quantitative",
                "scale": {"domain": [0, rounded(heat.extent) or 1], "range": [0.04, 1], "nice": False},
                "legend": None,
            },
            "tooltip": tooltip("column", "x", "row", "value"),
        },
    }


def _places(field: str, title: str, names: str, count: int) -> Json:
    """The encoding of rows or columns by their place, with their names at the ticks.

    The names are the value of a parameter, so that none of them is ever read as an expression.
    """
    axis = {
        "title": title,
        "labelExpr": f"{names}[datum.value]",
        "labelLimit": 120,
        "labelAngle": 0,
        "labelPadding": 4,
        "labelSeparation": 2,
        "ticks": False,
        "domain": False,
    }
    scale = {"domain": list(range(count)), "padding": 0}
    return {"field": field, "type": "ordinal", "axis": axis, "scale": scale}
