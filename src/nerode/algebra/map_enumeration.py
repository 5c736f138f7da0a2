"""All products of some maps, found breadth first by whole arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.algebra.map_index import MapIndex, Numbers, grown
from nerode.algebra.map_rows import RowLayout
from nerode.core import Budget

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


def enumerate_maps(letters: npt.NDArray[np.integer[Any]], budget: Budget) -> EnumeratedMaps:
    """Returns all maps that words over different letters induce.

    Elements are taken from the front of one queue and multiplied by every letter in order; new ones join
    the queue at the end in order of appearance. So the queue is in shortlex order of least words.

    Args:
        letters: one row of images for each letter, no two equal.
        budget: its elements, bytes and seconds.
    """
    num_letters, num_points = letters.shape
    layout = RowLayout(num_points)
    tables = [layout.letter_table(letter) for letter in letters]
    index = MapIndex(layout)
    index.add(layout.pack(np.arange(num_points)[None, :]))
    origin: npt.NDArray[np.int32] = np.zeros((1, 3), dtype=np.int32)
    right = np.empty((1, num_letters), dtype=np.int32)
    chunk = max(_LEAST_CHUNK, _CHUNK_BYTES // (max(1, num_letters) * layout.row_bytes))
    done = 0
    while done < index.size:
        end = min(done + chunk, index.size)
        products = np.empty((end - done, num_letters, layout.width), dtype=layout.dtype)
        for column, table in enumerate(tables):
            products[:, column] = layout.times_letter(index.rows[done:end], table)
        before = index.size
        numbers, new = index.add(products.reshape(-1, layout.width))
        right = grown(right, end)
        right[done:end] = numbers.reshape(end - done, num_letters)
        origin = grown(origin, index.size)
        added = origin[before : index.size]
        added[:, 0] = done + new // max(1, num_letters)
        added[:, 1] = new % max(1, num_letters)
        added[:, 2] = origin[added[:, 0], 2] + 1
        done = end
        known = {"elements found": index.size}
        budget.check("elements", index.size, **known)
        budget.check("bytes", index.nbytes + right.nbytes + origin.nbytes, **known)
    parent, last, length = (np.ascontiguousarray(column) for column in origin[: index.size].T)
    return EnumeratedMaps(index=index, parent=parent, last=last, length=length, right=right[: index.size])
