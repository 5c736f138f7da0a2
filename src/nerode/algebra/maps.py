"""Maps of a finite set to itself as arrays: rows, a numbered set of rows, and all products of some maps.

A map is a row of small integers, padded to whole 64-bit words. `MapIndex` numbers maps in the order in which
they come and looks them up by whole arrays; `enumerate_maps` finds all products, and both Cayley graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core import Budget, stream

Rows = npt.NDArray[np.unsignedinteger[Any]]
Words = npt.NDArray[np.uint64]

_BYTE_POINTS = 256
_NIBBLE_POINTS = 16
_WORD_BYTES = 8


class RowLayout:
    """The layout of maps of n points: storage, multiplication by letters, 64-bit keys.

    A row holds the n images and then, up to a whole number of words, the value n, which every letter
    leaves alone. Up to 16 points the key determines the map; above that it is a hash.

    Args:
        num_points: n, at least 1.
        seed: of the hash.
    """

    def __init__(self, num_points: int, seed: int = 0) -> None:
        self.num_points = num_points
        self.dtype: np.dtype[Any] = np.min_scalar_type(num_points - 1)
        per_word = _WORD_BYTES // self.dtype.itemsize
        self.width = -(-num_points // per_word) * per_word
        self.num_words = self.width // per_word
        self._padding = num_points if self.width > num_points else 0
        self.keys_are_exact = num_points <= _NIBBLE_POINTS
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Draws another hash."""
        random = stream(seed, "hash of maps")
        self._factors = random.integers(0, 1 << 63, size=self.num_words, dtype=np.uint64) * 2 + 1
        self._mixer = np.uint64(int(random.integers(0, 1 << 63)) * 2 + 1)

    @property
    def row_bytes(self) -> int:
        """Number of bytes that a row takes."""
        return self.num_words * _WORD_BYTES

    def pack(self, maps: npt.ArrayLike) -> Rows:
        """Returns maps, given by their n images, as padded rows."""
        images = np.asarray(maps)
        rows = np.full((len(images), self.width), self._padding, dtype=self.dtype)
        rows[:, : self.num_points] = images
        return rows

    def letter_table(self, letter: npt.NDArray[np.integer[Any]]) -> bytes | Rows:
        """Returns a letter in the form that `times_letter` wants."""
        if self.num_points <= _BYTE_POINTS:
            table = np.arange(_BYTE_POINTS, dtype=np.uint8)
            table[: self.num_points] = letter
            return table.tobytes()
        return np.append(letter, self._padding).astype(self.dtype)

    def times_letter(self, rows: Rows, table: bytes | Rows) -> Rows:
        """Returns each map followed by a letter; one pass over the bytes where a point fits one byte."""
        if isinstance(table, bytes):
            moved = np.frombuffer(rows.tobytes().translate(table), dtype=self.dtype)
            return moved.reshape(rows.shape)
        product: Rows = table[rows]
        return product

    def compose(self, first: Rows, then: Rows) -> Rows:
        """Returns first[i] followed by then[i]."""
        n = self.num_points
        product = np.full_like(first, self._padding)
        product[:, :n] = np.take_along_axis(then[:, :n], first[:, :n].astype(np.intp), axis=1)
        return product

    def words(self, rows: Rows) -> Words:
        """Returns rows (contiguous) as 64-bit words; rows are equal exactly when their words are."""
        return rows.view(np.uint64)

    def keys(self, rows: Rows) -> Words:
        """Returns one 64-bit number for each row (contiguous)."""
        words = self.words(rows)
        if self.num_words == 1:
            return words[:, 0].copy()
        if self.keys_are_exact:
            return words[:, 0] | (words[:, 1] << np.uint64(4))
        # A product with an odd number moves differences up, the shift brings them down again.
        mixed = words * self._mixer
        mixed ^= mixed >> np.uint64(32)
        mixed *= self._factors
        total: Words = mixed.sum(axis=1, dtype=np.uint64)
        return total


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
            entries = self._table[slots]
            free = np.flatnonzero(entries == _FREE)
            # Where an index comes twice, the last assignment stays: backwards, that is the first candidate.
            wanted = free[::-1]
            self._table[slots[wanted]] = self.size + pending[wanted]
            entries[free] = self._table[slots[free]]
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
    """Returns an array of at least this length that begins with the given one; it doubles or more."""
    if length <= len(array):
        return array
    larger = np.empty((max(length, 2 * len(array)), *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


_CHUNK_BYTES = 1 << 21
_LEAST_CHUNK = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class EnumeratedMaps:
    """The maps found, in the shortlex order of their least words; the arrays are those of the monoid."""

    index: MapIndex
    parent: Numbers
    last: Numbers
    length: Numbers
    right: Numbers
    left: Numbers


_PARENT, _LAST, _LENGTH, _FIRST, _SUFFIX = range(5)
"""What is known of the least word of an element: all but its last letter, the letter, how many there are, its
first letter, and all but the first one."""


def enumerate_maps(letters: npt.NDArray[np.integer[Any]], budget: Budget) -> EnumeratedMaps:
    """Returns all maps that words over different letters induce, with both Cayley graphs.

    Elements are taken by the length of their least words. For x = a s and a letter b, the product s b is
    known from shorter words. Only where its least word is that of s with b at the end may x b be new: such
    products are multiplied and looked up. All others are a followed by s b, and read off what is known.

    Args:
        letters: one row of images for each letter, no two equal.
        budget: its elements, bytes and seconds.

    Implements: [FroidurePin1997]
    """
    num_letters, num_points = letters.shape
    layout = RowLayout(num_points)
    tables = [layout.letter_table(letter) for letter in letters]
    index = MapIndex(layout)
    index.add(layout.pack(np.arange(num_points)[None, :]))
    words = np.zeros((1, 5), dtype=np.int32)
    right, left = (np.full((1, num_letters), _ABSENT, dtype=np.int32) for _ in range(2))
    extends = np.zeros((1, num_letters), dtype=np.bool_)
    pairs = max(_LEAST_CHUNK, _CHUNK_BYTES // layout.row_bytes)
    start = 0
    while start < index.size:
        end = index.size
        right, left, extends = (grown(array, end) for array in (right, left, extends))
        left[start:end], extends[start:end] = _ABSENT, False
        level = words[start:end]
        may_be_new = np.ones((1, num_letters), dtype=np.bool_)
        if start:
            shorter, may_be_new = right[level[:, _SUFFIX]], extends[level[:, _SUFFIX]]
            # Products of the same length wait until all that may be new are numbered.
            right[start:end] = _at(left, shorter, level[:, _FIRST, None])
        elements, columns = np.divmod(np.flatnonzero(may_be_new), max(1, num_letters))
        for first in range(0, len(elements), pairs):
            x, b = elements[first : first + pairs], columns[first : first + pairs]
            before = index.size
            numbers, new = index.add(_products(layout, index.rows, start + x, b, tables))
            right[start + x, b] = numbers
            words = grown(words, index.size)
            added, x, b = words[before : index.size], x[new], b[new]
            extends[start + x, b] = True
            added[:, _PARENT], added[:, _LAST], added[:, _LENGTH] = start + x, b, words[start, _LENGTH] + 1
            added[:, _FIRST] = words[start + x, _FIRST] if start else b
            added[:, _SUFFIX] = shorter[x, b] if start else 0
            known = {"elements found": index.size}
            budget.check("elements", index.size, **known)
            tables_bytes = right.nbytes + left.nbytes + extends.nbytes + words.nbytes
            budget.check("bytes", index.nbytes + tables_bytes, **known)
        if start:
            _read_off(start, shorter, words, right[:end], left)
            level = words[start:end]
            left[start:end] = _at(right, left[level[:, _PARENT]], level[:, _LAST, None])
        else:
            left[0] = right[0]
        start = end
    parent, last, length = (np.ascontiguousarray(words[: index.size, k]) for k in (_PARENT, _LAST, _LENGTH))
    return EnumeratedMaps(
        index=index,
        parent=parent,
        last=last,
        length=length,
        right=right[: index.size],
        left=left[: index.size],
    )


def _at(table: Numbers, rows: Numbers, columns: Numbers) -> Numbers:
    """The entries of a table at rows and columns that broadcast together."""
    found: Numbers = table.ravel().take(rows.astype(np.intp) * table.shape[1] + columns)
    return found


def _products(
    layout: RowLayout,
    rows: Rows,
    elements: npt.NDArray[np.intp],
    columns: npt.NDArray[np.intp],
    tables: Sequence[bytes | Rows],
) -> Rows:
    """Each of some elements followed by the letter of its column."""
    found = np.empty((len(elements), layout.width), dtype=layout.dtype)
    # Small numbers are sorted by counting.
    by_column = np.argsort(columns.astype(np.uint16) if len(tables) < 1 << 16 else columns, kind="stable")
    ends = np.cumsum(np.bincount(columns, minlength=len(tables)))
    for end, first, table in zip(ends, (0, *ends[:-1]), tables, strict=True):
        mine = by_column[first:end]
        if len(mine):
            found[mine] = layout.times_letter(rows[elements[mine]], table)
    return found


def _read_off(start: int, shorter: Numbers, words: Numbers, right: Numbers, left: Numbers) -> None:
    """Fills in the products x b of one length where s b = p c has the same length: they are (a p) c.

    The word of a p with c is before that of x with b, so some of those that wait can always be filled in.
    """
    num_letters = max(1, right.shape[1])
    places = np.flatnonzero(right[start:] == _ABSENT)
    known, firsts = shorter.ravel()[places], words[start + places // num_letters, _FIRST]
    sources = _at(left, words[known, _PARENT], firsts).astype(np.intp) * num_letters + words[known, _LAST]
    products = right.ravel()
    places += start * num_letters
    while len(places):
        values = products.take(sources)
        products[places] = values
        waits = values == _ABSENT
        places, sources = places[waits], sources[waits]
