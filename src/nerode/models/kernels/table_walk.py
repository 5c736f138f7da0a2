"""Runs of an automaton over long words, at the speed of one table look-up per letter; needs no torch."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.models.native import library

Letters = npt.NDArray[np.unsignedinteger[Any]]
States = npt.NDArray[np.unsignedinteger[Any]]


def walk_table(table: States, place: int, word: Letters, visited: States | None) -> int:
    """Returns the place after the letters, or -1 - position for a letter that is none.

    Args:
        table: (states, letters); a state is given by its place, the number of its row times the letters.
        place: where to begin.
        word: letter numbers.
        visited: receives the place after each letter, unless None.
    """
    letters = table.shape[1]
    native = library()
    if native is None:
        return _walk_plainly(table, place, word, visited)
    function = getattr(native, f"walk_{table.dtype}_{word.dtype}")
    function.restype = ctypes.c_int64
    end = function(
        ctypes.c_void_p(table.ctypes.data),
        ctypes.c_int64(letters),
        ctypes.c_int64(place),
        ctypes.c_void_p(word.ctypes.data),
        ctypes.c_int64(len(word)),
        ctypes.c_void_p(None if visited is None else visited.ctypes.data),
    )
    return int(end)


def _walk_plainly(table: States, place: int, word: Letters, visited: States | None) -> int:
    wrong = np.flatnonzero(word >= table.shape[1])
    if len(wrong):
        return -1 - int(wrong[0])
    places = table.ravel().tolist()
    for position, letter in enumerate(word.tolist()):
        place = places[place + letter]
        if visited is not None:
            visited[position] = place
    return place
