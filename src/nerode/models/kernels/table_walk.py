"""Runs of an automaton over long words, at the speed of one table look-up per letter; needs no torch."""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core import InputError
from nerode.languages import Dfa
from nerode.models.native import library

Letters = npt.NDArray[np.unsignedinteger[Any]]
States = npt.NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True, kw_only=True)
class TableWalk:
    """An automaton ready to be run over arrays of letter numbers.

    A word may come in parts: give the state after one part as the start of the next.
    """

    dfa: Dfa

    def __post_init__(self) -> None:
        if not self.dfa.num_letters:
            raise InputError("the automaton has no letters; there is nothing to walk over")
        if self.dfa.num_states * self.dfa.num_letters > 1 << 32:
            raise InputError(
                f"{self.dfa.num_states:,} states × {self.dfa.num_letters:,} letters do not fit a 32-bit "
                "table; minimise the automaton"
            )

    @functools.cached_property
    def _table(self) -> States:
        """The next states times the number of letters: a state is then the place where its row begins."""
        places = self.dfa.transitions.astype(np.uint64) * np.uint64(self.dfa.num_letters)
        wide = self.dfa.num_states * self.dfa.num_letters > 1 << 16
        return np.ascontiguousarray(places.astype(np.uint32 if wide else np.uint16))

    def run(self, letters: npt.ArrayLike, *, state: int | None = None) -> int:
        """Returns the state after the letters, from the start or from `state`."""
        return self._walk(_as_letters(letters), state, None)

    def trace(self, letters: npt.ArrayLike, *, state: int | None = None) -> States:
        """Returns the state after each letter."""
        word = _as_letters(letters)
        visited = np.empty(len(word), dtype=self._table.dtype)
        self._walk(word, state, visited)
        visited //= self._table.dtype.type(self.dfa.num_letters)
        return visited

    def _walk(self, word: Letters, state: int | None, visited: States | None) -> int:
        start = self.dfa.start if state is None else state
        if not 0 <= start < self.dfa.num_states:
            raise InputError(f"the state {start} is outside the states 0…{self.dfa.num_states - 1}")
        end = walk_table(self._table, start * self.dfa.num_letters, word, visited)
        if end < 0:
            raise self._no_such_letter(word, -1 - end)
        return end // self.dfa.num_letters

    def _no_such_letter(self, word: Letters, position: int) -> InputError:
        return InputError(
            f"the letter number {word[position]} at position {position + 1} of the word is outside "
            f"0…{self.dfa.num_letters - 1}"
        )


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


def _as_letters(letters: npt.ArrayLike) -> Letters:
    """The letters as a flat array of unsigned integers of at most 32 bits."""
    given = np.asarray(letters)
    if given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
        raise InputError(
            f"the word is an array of shape {given.shape} and type {given.dtype}; "
            "give one row of letter numbers"
        )
    if given.dtype in (np.uint8, np.uint16, np.uint32):
        return np.ascontiguousarray(given)
    # Before the cast, which would wrap a negative number around into the range.
    for position in np.flatnonzero((given < 0) | (given >= 1 << 32))[:1]:
        raise InputError(
            f"the letter number {given[position]} at position {position + 1} of the word is out of range"
        )
    return np.ascontiguousarray(given.astype(np.uint32))
