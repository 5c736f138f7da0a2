"""Parts of figure specifications: colours, tooltips, axes, and numbers that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from nerode.report.figures.vega import NUM_COLOURS, Json, LegendEntry

OFF: Json = {"name": "off", "value": []}
"""The series that the legend has hidden."""

SHOWN: Json = {"filter": "indexof(off, datum.series) < 0"}
"""Leaves out the rows of hidden series."""


def only(kind: str) -> Json:
    """Returns the transform that keeps the rows of one kind."""
    return {"filter": {"field": "kind", "equal": kind}}


def rounded(value: float | None) -> float | None:
    """Returns a number with six digits, None for what is missing or not finite."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.6g}")


def colour_number(place: int) -> int:
    """Returns the colour of the series at a place, from 1; after the last one they begin again."""
    return place % NUM_COLOURS + 1


def legend_of(
    labels: Sequence[str],
    *,
    mark: Literal["line", "point"] = "line",
    notes: Sequence[str] = (),
    dashed: Sequence[str] = (),
) -> tuple[LegendEntry, ...]:
    """Returns a legend with the colours in order; a second round of colours is dashed.

    Args:
        labels: names of the series.
        mark: how they are drawn.
        notes: what is shown behind each name.
        dashed: names of further series that are dashed.
    """
    entries = []
    for i, label in enumerate(labels):
        note = notes[i] if notes else ""
        entries.append(
            LegendEntry(
                value=label,
                label=f"{label} {note}".rstrip(),
                colour=colour_number(i),
                mark="dashed" if label in dashed or (mark == "line" and i >= NUM_COLOURS) else mark,
            )
        )
    return tuple(entries)


def colour_channel(labels: Sequence[str]) -> Json:
    """Returns the encoding of the field `series` by colour, without a legend of its own."""
    colours = [f"var(--c{colour_number(i)})" for i in range(len(labels))]
    return {
        "field": "series",
        "type": "nominal",
        "scale": {"domain": list(labels), "range": colours},
        "legend": None,
    }


def dash_channel(labels: Sequence[str]) -> Json:
    """Returns the encoding that tells the second round of colours from the first."""
    dashes = [[1, 0] if i < NUM_COLOURS else [5, 4] for i in range(len(labels))]
    return {
        "field": "series",
        "type": "nominal",
        "scale": {"domain": list(labels), "range": dashes},
        "legend": None,
    }


def tooltip(*fields: str) -> list[Json]:
    """Returns a tooltip of fields; the titles that `usermeta.titles` gives them are shown before them."""
    return [{"field": name, "title": name, "type": "nominal"} for name in fields]


def number_axis(
    field: str,
    title: str,
    *,
    log: bool = False,
    domain: Sequence[float] | None = None,
    values: Sequence[float] | None = None,
) -> Json:
    """Returns the encoding of a number along an axis.

    Args:
        field: of the rows.
        title: of the axis.
        log: whether equal factors take equal room.
        domain: smallest and largest value; by default those of the rows.
        values: where ticks are; by default round numbers.
    """
    scale: Json = {"type": "log", "nice": False} if log else {"type": "linear", "nice": False, "zero": False}
    if domain is not None:
        scale["domain"] = list(domain)
    axis: Json = {"grid": True, "title": title}
    if values is not None:
        # All of them say what was measured; where they do not fit, every other one is left out.
        axis |= {"values": list(values), "format": ",d", "labelOverlap": "parity"}
    elif log and domain is not None:
        axis |= {"values": round_numbers(*domain), "format": ",~g"}
    else:
        # As many as there is room for. Beside given ticks this would thin them out.
        axis["tickCount"] = {"expr": "max(3, width / 95)"}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": axis}


def line_at(x: Json, place: float, text: Json, height: Json) -> list[Json]:
    """Returns the layers of a dashed line across the figure and of its name.

    Args:
        x: the encoding of the axis.
        place: of the line on the axis.
        text: the mark of the name, with its text.
        height: the encoding of its height.
    """
    where = {key: value for key, value in x.items() if key != "field"} | {"datum": place}
    one: Json = {"values": [{}]}
    rule = {"type": "rule", "strokeDash": [3, 3], "color": "var(--edge)"}
    name = {"type": "text", "color": "var(--muted)", **text}
    return [
        {"data": one, "mark": rule, "encoding": {"x": where}},
        {"data": one, "mark": name, "encoding": {"x": where, "y": height}},
    ]


def round_numbers(low: float, high: float) -> list[float]:
    """Returns the ticks of a logarithmic axis: powers of ten, and more where these are hardly any."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    step = max(1, math.ceil((last - first) / 7))
    found = [10.0**k for k in range(first, last + 1, step) if low <= 10.0**k <= high]
    if len(found) > 2:
        return found
    digits = (1, 2, 5)
    found = [d * 10.0**k for k in range(first, last + 1) for d in digits if low <= d * 10.0**k <= high]
    return found if len(found) > 2 or low >= high else _multiples(low, high)


def _multiples(low: float, high: float) -> list[float]:
    """Three to ten multiples of a round number between two numbers that are close together."""
    unit = 10.0 ** math.floor(math.log10((high - low) / 3))
    step = next(d * unit for d in (5, 2, 1) if (high - low) / (d * unit) >= 3)
    return [float(f"{i * step:.12g}") for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def spans_decades(values: Iterable[float]) -> bool:
    """Returns whether numbers are better shown by their logarithms."""
    found = [v for v in values if math.isfinite(v)]
    return bool(found) and min(found) > 0 and max(found) > 8 * min(found)


def fitted(values: Iterable[float], *, low: float | None = None, high: float | None = None) -> list[float]:
    """Returns the range of the numbers, a little wider; `low` and `high` are always inside it."""
    found = [v for v in values if math.isfinite(v)]
    found += [v for v in (low, high) if v is not None]
    if not found:
        return [0.0, 1.0]
    least, most = min(found), max(found)
    room = 0.04 * (most - least) or 0.5
    return [least - room, most + room]


def layered(rows: list[Json], *layers: Json, height: int, titles: Mapping[str, str]) -> Json:
    """Returns a specification of layers over the same rows.

    Args:
        rows: the data.
        layers: in the order in which they are drawn.
        height: in pixels.
        titles: of the fields in tooltips. The engine would read them as part of an expression if they stood
            in the tooltips themselves.
    """
    return {
        "data": {"values": rows},
        "height": height,
        "params": [OFF],
        "layer": list(layers),
        "usermeta": {"titles": dict(titles)},
    }
