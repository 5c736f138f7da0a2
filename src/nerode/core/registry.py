"""One explicit table per kind of thing; tests, command line and docs loop over it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar, overload

from nerode.core.errors import UnknownName

T = TypeVar("T")
D = TypeVar("D")

_KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")


class Registry(Mapping[str, T], Generic[T]):
    """A table of rows by kebab-case name, in the order in which they were added.

    Args:
        kind: what a row is, for error messages ("language", "architecture" …).
        hint: what a user can do when a name is unknown.
    """

    def __init__(self, kind: str, *, hint: str = "") -> None:
        self.kind = kind
        self.hint = hint
        self._rows: dict[str, T] = {}

    def add(self, name: str, row: T) -> T:
        """Adds a row and returns it; a second row of the same name is a programming error."""
        if not _KEBAB.match(name):
            raise ValueError(f"the {self.kind} name {name!r} is not kebab-case")
        if name in self._rows:
            raise ValueError(f"two rows of the {self.kind} table are called {name!r}")
        self._rows[name] = row
        return row

    def __getitem__(self, name: str) -> T:
        try:
            return self._rows[name]
        except KeyError:
            raise UnknownName(self.kind, name, self._rows, hint=self.hint) from None

    @overload
    def get(self, name: str, default: None = None, /) -> T | None: ...
    @overload
    def get(self, name: str, default: T, /) -> T: ...
    @overload
    def get(self, name: str, default: D, /) -> T | D: ...
    def get(self, name: str, default: object = None, /) -> object:
        """Returns a row, or `default` if there is none of this name."""
        return self._rows.get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)
