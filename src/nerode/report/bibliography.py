"""The works that one page cites, numbered in the order in which they appear."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nerode.core import Reference, Work, work


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A link from a statement to the list of works."""

    number: int
    key: str
    text: str


class Bibliography:
    """A list of works that grows while a page is written."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def cite(self, reference: Reference | None) -> Citation | None:
        """Returns how a reference is shown, and notes its work for the list at the end."""
        if reference is None:
            return None
        number = self._numbers.setdefault(reference.key, len(self._numbers) + 1)
        return Citation(number=number, key=reference.key, text=str(reference))

    def note(self, keys: Iterable[str]) -> None:
        """Notes works for the list at the end that were cited elsewhere."""
        for key in keys:
            self._numbers.setdefault(key, len(self._numbers) + 1)

    @property
    def keys(self) -> list[str]:
        """The keys of all works, in order."""
        return list(self._numbers)

    def __iter__(self) -> Iterator[tuple[int, Work]]:
        return ((number, work(key)) for key, number in self._numbers.items())

    def __len__(self) -> int:
        return len(self._numbers)
