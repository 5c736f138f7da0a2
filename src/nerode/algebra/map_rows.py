"""Maps of a finite set to itself as rows of small integers, padded to whole 64-bit words."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core import stream

Rows = npt.NDArray[np.unsignedinteger[Any]]
Words = npt.NDArray[np.uint64]

_BYTE_POINTS = 256
_NIBBLE_POINTS = 16
_WORD_BYTES = 8


class RowLayout:
    """How maps of n points are stored, multiplied by letters, and given 64-bit keys.

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
