"""Values that a notebook shows as more than text.

What they look like is decided in `report`, which is on top of everything; so the drawing is found by name
when a notebook asks for it. Showing never raises: what cannot be drawn is printed as text.
"""

from __future__ import annotations

import importlib

_HOME = "nerode.report.notebook"


class Shown:
    """A value with a rich display."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        """Returns what a notebook shows, None for plain text."""
        return _drawn("html_of", self)

    def _repr_svg_(self) -> str | None:
        """Returns a picture of the value alone, None if there is none."""
        return _drawn("svg_of", self)


def _drawn(how: str, value: Shown) -> str | None:
    try:
        found = getattr(importlib.import_module(_HOME), how)(value)
    except Exception:  # a display that fails must not hide the value
        return None
    return found if isinstance(found, str) else None
