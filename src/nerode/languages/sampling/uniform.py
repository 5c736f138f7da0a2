"""Drawing words of a regular language uniformly, by length.

Every function here is exactly uniform, at every length: see `letter_shares`. Time is proportional to the
length times the number of transitions; the tables of the automata used last are kept.
"""

from __future__ import annotations

import functools

import numpy as np

from nerode.core import InputError
from nerode.languages.alphabet import Word
from nerode.languages.dfa import Dfa, IntArray
from nerode.languages.operations import prefix_closure
from nerode.languages.sampling.shares import LetterShares, check_length, no_word_of_length

_AUTOMATA_KEPT = 16

LONGEST = 10_000_000
"""Most letters of one word that is drawn."""


def sample_accepted(dfa: Dfa, length: int, rng: np.random.Generator) -> Word:
    """Returns a uniformly random accepted word of exactly this length.

    Raises:
        InputError: if no accepted word has this length; it says which lengths near it have one.
    """
    return _accepted_shares(dfa, length).draw_one(length, rng)


def sample_accepted_batch(dfa: Dfa, length: int, count: int, rng: np.random.Generator) -> IntArray:
    """Returns independent uniformly random accepted words of exactly this length, as `[count, length]`.

    Raises:
        InputError: if no accepted word has this length; it says which lengths near it have one.
    """
    return _accepted_shares(dfa, length).draw(length, check_count(count), rng)


def sample_prefix(dfa: Dfa, length: int, rng: np.random.Generator) -> Word:
    """Returns a uniformly random word of exactly this length among the prefixes of accepted words.

    Uniform over the prefixes themselves: one that many words continue is as likely as any other.

    Raises:
        InputError: if no accepted word is as long as this.
    """
    return _prefix_shares(dfa, length).draw_one(length, rng)


def sample_prefix_batch(dfa: Dfa, length: int, count: int, rng: np.random.Generator) -> IntArray:
    """Returns independent uniformly random prefixes of accepted words, as `[count, length]`.

    Raises:
        InputError: if no accepted word is as long as this.
    """
    return _prefix_shares(dfa, length).draw(length, check_count(count), rng)


@functools.lru_cache(maxsize=_AUTOMATA_KEPT)
def letter_shares(dfa: Dfa) -> LetterShares:
    """Returns the tables of an automaton, from which words are drawn."""
    return LetterShares(dfa)


@functools.lru_cache(maxsize=_AUTOMATA_KEPT)
def _shares_of_prefixes(dfa: Dfa) -> LetterShares:
    return LetterShares(prefix_closure(dfa))


def _accepted_shares(dfa: Dfa, length: int) -> LetterShares:
    """Returns the tables of an automaton that has an accepted word of this length."""
    shares = letter_shares(dfa)
    if not shares.approximate_count(check_length(length, LONGEST))[0]:
        raise no_word_of_length(dfa, length)
    return shares


def _prefix_shares(dfa: Dfa, length: int) -> LetterShares:
    """Returns the tables for the prefixes, of which one has this length."""
    shares = _shares_of_prefixes(dfa)
    if not shares.approximate_count(check_length(length, LONGEST))[0]:
        raise no_word_of_length(shares.dfa, length, kind="prefix of an accepted word")
    return shares


def check_count(count: int) -> int:
    """Returns a number of words given by the user, or says what is wrong with it."""
    if count < 0:
        raise InputError(f"{count} words cannot be drawn; give 0 or more")
    return int(count)
