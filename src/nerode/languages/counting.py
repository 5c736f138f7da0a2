"""How many words of each length a regular language has, exactly."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from nerode.core import InputError
from nerode.languages.dfa import Dfa
from nerode.languages.minimisation import trim

BigIntegers = npt.NDArray[np.object_]
"""An array of Python integers, which have no upper limit."""


def count_words(dfa: Dfa, length: int) -> int:
    """Returns the number of accepted words of exactly this length."""
    return next(itertools.islice(_counts(dfa), check_length(length), None))


def counts_by_length(dfa: Dfa, up_to: int) -> list[int]:
    """Returns the numbers of accepted words of length 0, 1, …, `up_to`."""
    return list(itertools.islice(_counts(dfa), check_length(up_to) + 1))


def counts_from_states(dfa: Dfa) -> Iterator[BigIntegers]:
    """Yields, for length 0, 1, …, the numbers of words of that length that lead each state to acceptance."""
    counts = np.array([int(accepting) for accepting in dfa.accepting], dtype=object)
    while True:
        yield counts
        counts = counts[dfa.transitions].sum(axis=1)


def nearest_lengths(dfa: Dfa, length: int) -> tuple[int | None, int | None]:
    """Returns the nearest lengths below and above `length` that have accepted words, None where none has."""
    dfa = trim(dfa)
    below = None
    possible = dfa.accepting
    # Above `length` no gap is longer than the number of states: from a shortest word that lies beyond a
    # longer gap a loop could be cut out, and the shorter word would lie inside the gap or at its end.
    for reached in range(length + dfa.num_states + 1):
        if possible[dfa.start] and reached > length:
            return below, reached
        if possible[dfa.start] and reached < length:
            below = reached
        possible = np.logical_or.reduce(possible[dfa.transitions], axis=1)
    return below, None


def no_word_of_length(dfa: Dfa, length: int, *, kind: str = "accepted word") -> InputError:
    """Returns the error that says that no word has this length, and which lengths near it have one."""
    near = [str(found) for found in nearest_lengths(dfa, length) if found is not None]
    if near:
        lengths = f"the nearest {'lengths that have one are' if len(near) > 1 else 'length that has one is'} "
        hint = lengths + " and ".join(near)
    else:
        hint = "the language is empty"
    return InputError(f"no {kind} has length {length}; {hint}")


def check_length(length: int, longest: int | None = None) -> int:
    """Returns a length given by the user, or says what is wrong with it."""
    try:
        number = operator.index(length)
    except TypeError:
        raise InputError(f"the length {length!r} is not an integer; give a number of letters") from None
    if number < 0:
        raise InputError(f"the length {number} is negative; give 0 or more")
    if longest is not None and number > longest:
        raise InputError(f"the length {number:,} is too large; at most {longest:,} letters are possible here")
    return number


def _counts(dfa: Dfa) -> Iterator[int]:
    dfa = trim(dfa)
    return (int(counts[dfa.start]) for counts in counts_from_states(dfa))
