"""Figures that are drawn in the page: Vega-Lite specifications, with a text and a table beside them.

A page shows a figure by `{{ figure }}` in its template and is made by `render(..., figures=True)`, which
puts the engine into it once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from markupsafe import Markup

from nerode.core import InputError
from nerode.report.pages.render import environment

Json = dict[str, Any]
Shape = Literal["wide", "square", "fixed"]

NUM_COLOURS = 8
"""The colours of `figures.css`: `var(--c1)` to `var(--c8)`, one set for light pages and one for dark ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LegendEntry:
    """A series in the legend; a click on it hides and shows the rows of the series.

    Attributes:
        value: what the signal `off` of the specification will hold while the series is hidden.
        label: what is shown.
        colour: number of its colour, from 1.
        mark: how it is drawn.
    """

    value: str
    label: str
    colour: int
    mark: Literal["line", "dashed", "point"] = "line"

    def __post_init__(self) -> None:
        if not 1 <= self.colour <= NUM_COLOURS:
            raise InputError(f"there is no colour {self.colour}; there are 1 to {NUM_COLOURS}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureTable:
    """The figure in numbers, for those who do not see it and for pages without scripts."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.headings):
                raise InputError(
                    f"the row {row} has {len(row)} cells; there are {len(self.headings)} headings"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure of a page; templates show it by its name.

    Attributes:
        spec: a Vega-Lite specification: `data.values`, `height`, and marks with their encodings. The page
            gives the width, the theme and the legend; colours are `var(--c1)` … `var(--c8)` and the other
            variables of the page.
        title: above the figure.
        caption: below it.
        alternative: what the figure shows, in words; by default title and caption.
        legend: its series; the specification then has a parameter `off`.
        table: its numbers.
        shape: as wide as its place; square, for planes; or wide with the height of the specification at any
            width.
    """

    spec: Mapping[str, Any]
    title: str
    caption: str = ""
    alternative: str = ""
    legend: tuple[LegendEntry, ...] = ()
    table: FigureTable | None = None
    shape: Shape = "wide"

    def __post_init__(self) -> None:
        if not self.alternative:
            object.__setattr__(self, "alternative", " ".join(filter(None, (self.title, self.caption))))
        try:
            json.dumps(self.spec, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"the figure {self.title!r} is no JSON: {error}; use null for what is missing"
            ) from None
        if not isinstance(self.spec.get("data", {}).get("values"), list):
            raise InputError(f"the figure {self.title!r} has no rows; put them in data.values")
        if (name := _loading_key(self.spec)) is not None:
            raise InputError(
                f"the figure {self.title!r} would load something by {name!r}; put all rows in data.values"
            )
        if (text := _risky_title(self.spec)) is not None:
            raise InputError(
                f"the figure {self.title!r} has the title {text!r} in a tooltip, where the engine reads it "
                "as part of an expression; name the field there, and give its title in usermeta.titles"
            )
        if self.legend and "off" not in {param.get("name") for param in self.spec.get("params", ())}:
            raise InputError(
                f"the figure {self.title!r} has a legend, but no parameter called 'off' to obey it"
            )

    def __html__(self) -> Markup:
        """The figure as markup."""
        return Markup(environment().get_template("figure.html.j2").render(figure=self, spec=self.spec))


def _risky_title(spec: Mapping[str, Any]) -> str | None:
    """A title of a tooltip with quotes or the like, None if there is none."""
    for item in _parts(spec):
        shown = item.get("tooltip")
        for channel in shown if isinstance(shown, list) else [shown]:
            title = channel.get("title") if isinstance(channel, Mapping) else None
            if title is not None and not _is_plain(title):
                return str(title)
    return None


def _is_plain(title: Any) -> bool:
    return isinstance(title, str) and title.isprintable() and not set(title) & set("\"'\\`")


def _loading_key(spec: Mapping[str, Any]) -> str | None:
    """A key by which Vega would load a file or make a link, None if there is none."""
    return next((name for item in _parts(spec) for name in ("url", "href") if name in item), None)


def _parts(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """All objects of a specification but its rows and its titles."""
    own = {"values", "titles"}
    todo: list[Any] = [spec]
    while todo:
        item = todo.pop()
        if isinstance(item, Mapping):
            yield item
            todo += (value for name, value in item.items() if name not in own)
        elif isinstance(item, list | tuple):
            todo += item
