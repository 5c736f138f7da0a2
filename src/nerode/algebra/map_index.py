"""A growing set of maps, numbered in the order in which they came; looked up by whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.algebra.map_rows import RowLayout, Rows, Words

Numbers = npt.NDArray[np.int32]

_ABSENT = np.int32(-1)
_FREE = np.int32(np.iinfo(np.int32).max)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_FEWEST_SLOTS_LOG2 = 10


class MapIndex:
    """An open hash table over rows of a RowLayout.

    A key that is a hash is never trusted: rows with equal keys are compared, and if two differ, another
    hash is drawn and everything is entered again. So two maps can never be taken for one.

    Args:
        layout: of the rows.
    """

    def __init__(self, layout: RowLayout) -> None:
        self.layout = layout
        self.size = 0
        self._seed = 0
        self._rows: Rows = np.empty((1, layout.width), dtype=layout.dtype)
        self._keys: Words = np.empty(1, dtype=np.uint64)
        self._slots_log2 = _FEWEST_SLOTS_LOG2
        self._table: Numbers = np.full(1 << self._slots_log2, _FREE, dtype=np.int32)

    @property
    def rows(self) -> Rows:
        """The maps in their order, as padded rows."""
        return self._rows[: self.size]

    @property
    def nbytes(self) -> int:
        """Bytes that the set takes."""
        return self._rows.nbytes + self._keys.nbytes + self._table.nbytes

    def add(self, rows: Rows) -> tuple[Numbers, npt.NDArray[np.intp]]:
        """Enters maps; returns the number of each, and the positions of those that were new, in order."""
        while (entered := self._try_to_add(rows)) is None:
            self._draw_another_hash()
        return entered

    def find(self, rows: Rows) -> Numbers:
        """Returns the number of each map, -1 for those that are not in the set."""
        keys = self.layout.keys(rows)
        found = np.full(len(rows), _ABSENT, dtype=np.int32)
        pending = np.arange(len(rows))
        slots = self._first_slots(keys)
        while len(pending):
            occupied = self._table[slots] != _FREE
            pending, slots = pending[occupied], slots[occupied]
            entries = self._table[slots]
            equal = self._keys[entries] == keys[pending]
            found[pending[equal]] = entries[equal]
            pending, slots = pending[~equal], self._following(slots[~equal])
        if not self.layout.keys_are_exact:
            found[(self._rows[found] != rows).any(axis=1)] = _ABSENT
        return found

    def _try_to_add(self, rows: Rows) -> tuple[Numbers, npt.NDArray[np.intp]] | None:
        """Enters maps, or returns None and leaves the set as it was if two different maps share a key."""
        count = len(rows)
        self._make_room(count)
        keys = self.layout.keys(rows)
        # Until the new ones are counted, candidate i goes by the number size + i.
        self._keys[self.size : self.size + count] = keys
        numbers, slots = self._claim(keys)
        is_new = numbers == np.arange(self.size, self.size + count)
        positions = np.flatnonzero(is_new)
        rank = np.cumsum(is_new, dtype=np.int32)
        provisional = numbers >= self.size
        numbers[provisional] = self.size - 1 + rank[numbers[provisional] - self.size]
        end = self.size + len(positions)
        self._rows[self.size : end] = rows[positions]
        if not self.layout.keys_are_exact:
            words = self.layout.words
            if not np.array_equal(words(self._rows[:end])[numbers], words(rows)):
                return None
        self._table[slots[positions]] = np.arange(self.size, end, dtype=np.int32)
        self._keys[self.size : end] = keys[positions]
        self.size = end
        return numbers, positions

    def _claim(self, keys: Words) -> tuple[Numbers, npt.NDArray[np.intp]]:
        """Returns for each key the number of its entry and the slot; free slots are taken.

        Equal keys walk the same slots in step. Where several candidates want a free slot, the first of
        them gets it, so that a new map gets the number of its first appearance.
        """
        numbers = np.empty(len(keys), dtype=np.int32)
        final_slots = np.empty(len(keys), dtype=np.intp)
        pending = np.arange(len(keys))
        slots = self._first_slots(keys)
        while len(pending):
            free = np.flatnonzero(self._table[slots] == _FREE)
            np.minimum.at(self._table, slots[free], (self.size + pending[free]).astype(np.int32))
            entries = self._table[slots]
            equal = self._keys[entries] == keys[pending]
            done = pending[equal]
            numbers[done] = entries[equal]
            final_slots[done] = slots[equal]
            pending, slots = pending[~equal], self._following(slots[~equal])
        return numbers, final_slots

    def _first_slots(self, keys: Words) -> npt.NDArray[np.intp]:
        mixed = (keys ^ (keys >> np.uint64(32))) * _SPREAD
        return (mixed >> np.uint64(64 - self._slots_log2)).astype(np.intp)

    def _following(self, slots: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        return (slots + 1) & (len(self._table) - 1)

    def _make_room(self, count: int) -> None:
        needed = self.size + count
        self._rows = grown(self._rows, needed)
        self._keys = grown(self._keys, needed)
        if 2 * needed > len(self._table):
            while 2 * needed > 1 << self._slots_log2:
                self._slots_log2 += 1
            self._rebuild_table()

    def _draw_another_hash(self) -> None:
        """Enters everything again under a hash that gives all maps different keys."""
        while True:
            self._seed += 1
            self.layout.reseed(self._seed)
            self._keys[: self.size] = self.layout.keys(self.rows)
            if self._rebuild_table():
                return

    def _rebuild_table(self) -> bool:
        """Fills a new table from the keys; returns whether these are all different."""
        self._table = np.full(1 << self._slots_log2, _FREE, dtype=np.int32)
        size, self.size = self.size, 0
        numbers, _ = self._claim(self._keys[:size])
        self.size = size
        return bool((numbers == np.arange(size)).all())


def grown(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    """Returns an array of at least this length that begins with the given one; it grows by half or more."""
    if length <= len(array):
        return array
    larger = np.empty((max(length, len(array) + len(array) // 2), *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
