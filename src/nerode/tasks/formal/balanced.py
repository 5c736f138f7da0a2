"""Balanced words of brackets, many at once, and what may follow each of their prefixes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nerode.core import InputError
from nerode.languages.sampling import depth_automaton, even_half, sample_accepted_batch
from nerode.tasks.walk import Integers

Bools = npt.NDArray[np.bool_]
"""Bits, as NumPy keeps them."""


def balanced_words(
    kinds: int, depth: int | None, length: int, count: int, rng: np.random.Generator
) -> Integers:
    """Returns uniformly random balanced words; letter 2i opens kind i and letter 2i+1 closes it.

    Args:
        kinds: number of kinds of brackets.
        depth: most brackets open at a time, None for no bound.
        length: of the words, even.
        count: how many.
        rng: where the randomness comes from.
    """
    half = even_half(length)
    if length == 0:
        return np.empty((count, 0), dtype=np.int64)
    if depth is None or depth >= half:
        opens = _free_paths(half, count, rng)
    else:
        opens = sample_accepted_batch(depth_automaton(depth), length, count, rng) == 0
    return with_kinds(opens, kinds, rng)


def _free_paths(half: int, count: int, rng: np.random.Generator) -> Bools:
    """Uniform balanced paths: of the rotations of one step more down than up, one stays above.

    Implements: [DvoretzkyMotzkin1947]
    """
    steps = np.full((count, 2 * half + 1), -1, dtype=np.int32)
    steps[:, :half] = 1
    steps = rng.permuted(steps, axis=1)
    first = steps.cumsum(axis=1).argmin(axis=1)[:, None] + 1
    places = (np.arange(2 * half)[None] + first) % (2 * half + 1)
    return np.take_along_axis(steps, places, axis=1) > 0


def with_kinds(opens: Bools, kinds: int, rng: np.random.Generator) -> Integers:
    """Returns the words of balanced paths, the kind of each pair being drawn uniformly."""
    count, length = opens.shape
    # The brackets of one level open and close in turn, so that sorting by level puts pairs side by side.
    order = levels(opens).argsort(axis=1, kind="stable")
    kind = np.empty(opens.shape, dtype=np.int64)
    np.put_along_axis(kind, order, rng.integers(0, kinds, (count, length // 2)).repeat(2, axis=1), axis=1)
    return 2 * kind + ~opens


def levels(opens: Bools) -> Integers:
    """Returns how many brackets are open with each bracket, itself included."""
    depths: Integers = np.where(opens, 1, -1).cumsum(axis=1)
    return depths + ~opens


def last_open(words: Integers) -> Integers:
    """Returns the kind of the bracket that was opened last and is open after each letter, -1 for none.

    It is `stack_tops` for balanced words, faster if they are not deep.
    """
    opens = words % 2 == 0
    level = levels(opens)
    depths = level - ~opens
    places = np.arange(words.shape[1])
    found = np.full(words.shape, -1, dtype=np.int64)
    for depth in range(1, int(depths.max(initial=0)) + 1):
        at = np.maximum.accumulate(np.where(opens & (level == depth), places, 0), axis=1)
        here = depths == depth
        found[here] = np.take_along_axis(words, at, axis=1)[here] >> 1
    return found


def stack_tops(words: Integers, depth: int | None) -> tuple[Integers, Integers]:
    """Returns how many brackets are open after each letter, and the kind of the last one.

    Both are -1 once the word cannot be completed; the kind is -1 where none is open.

    Args:
        words: letters as `balanced_words` has them.
        depth: most brackets open at a time, None for no bound.
    """
    if words.size and words.min() < 0:
        raise InputError("letters of brackets are numbers from 0 on")
    count, length = words.shape
    limit = length if depth is None else min(depth, length)
    rows = np.arange(count)
    # Place 0 is below the stack; one place more than the limit, for what is one too many.
    stack = np.full((count, limit + 2), -1, dtype=np.int64)
    here = np.zeros(count, dtype=np.int64)
    alive = np.ones(count, dtype=np.bool_)
    depths, tops = np.empty_like(words), np.empty_like(words)
    for t in range(length):
        kind, closes = words[:, t] >> 1, (words[:, t] & 1).astype(np.bool_)
        alive &= np.where(closes, stack[rows, here] == kind, here < limit)
        here = np.where(alive, here + np.where(closes, -1, 1), 0)
        opened = alive & ~closes
        stack[rows[opened], here[opened]] = kind[opened]
        depths[:, t] = np.where(alive, here, -1)
        tops[:, t] = np.where(alive, stack[rows, here], -1)
    return depths, tops
