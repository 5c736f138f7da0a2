"""The states that an automaton passes through, for many words at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


def walk(table: npt.NDArray[np.integer[Any]], words: Integers, *, start: int = 0) -> Integers:
    """Returns the state after each letter.

    Args:
        table: the next state, by state and letter.
        words: letters (words, time).
        start: the state before the first letter.
    """
    width = table.shape[1]
    # A state stands for the beginning of its row, so that one addition finds the entry.
    rows = table.astype(np.int64).ravel() * width
    letters = np.ascontiguousarray(words.T)
    states = np.empty_like(letters)
    here = np.full(len(words), start * width, dtype=np.int64)
    entry = np.empty_like(here)
    for letter, state in zip(letters, states, strict=True):
        np.add(here, letter, out=entry)
        rows.take(entry, out=state, mode="clip")
        here = state
    return np.ascontiguousarray((states // width).T)
