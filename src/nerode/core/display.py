"""Values that a notebook shows as more than text.

The drawings are made in `report`, which is on top of everything; core only knows that there are some. The
package `nerode` registers them (`register_displays`) when its first public name is used, and they are loaded
when a notebook first asks. A value whose drawing fails is shown as text, with a warning that says why.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

Draw = Callable[[object], str | None]


class Displays(NamedTuple):
    """Functions that draw any value; None where a value has no such drawing."""

    html: Draw
    svg: Draw


_load: Callable[[], Displays] | None = None


def register_displays(load: Callable[[], Displays]) -> None:
    """Sets where drawings come from; `load` is called each time one is needed, never before."""
    global _load
    _load = load


class Shown:
    """A value with a rich display."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        """Returns what a notebook shows, None for plain text."""
        return _drawn("html", self)

    def _repr_svg_(self) -> str | None:
        """Returns a picture of the value alone, None if there is none."""
        return _drawn("svg", self)


def _drawn(form: str, value: Shown) -> str | None:
    if _load is None:
        return None
    try:
        draw: Draw = getattr(_load(), form)
        return draw(value)
    except Exception as error:
        warnings.warn(
            f"this {type(value).__name__} is shown as text, because drawing it failed: {error!r}",
            RuntimeWarning,
            stacklevel=3,
        )
        return None
