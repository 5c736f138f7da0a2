"""Hypothesis strategies for automata and words, shared by the tests of all stages."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from hypothesis import strategies as st

from nerode.languages import Alphabet, Dfa, Word

LETTERS = "abcdefghijklmnop"


def alphabets(max_letters: int = 3, *, min_letters: int = 1) -> st.SearchStrategy[Alphabet]:
    """Alphabets a, b, c … of a few letters."""
    sizes = st.integers(min_letters, max_letters)
    return sizes.map(lambda k: Alphabet(tuple(LETTERS[:k])))


@st.composite
def dfas(
    draw: st.DrawFn,
    max_states: int = 6,
    max_letters: int = 3,
    *,
    min_letters: int = 1,
    alphabet: Alphabet | None = None,
) -> Dfa:
    """Complete automata with any start state; some states may be unreachable or equivalent."""
    letters = alphabet if alphabet is not None else draw(alphabets(max_letters, min_letters=min_letters))
    n = draw(st.integers(1, max_states))
    row = st.lists(st.integers(0, n - 1), min_size=len(letters), max_size=len(letters))
    table = draw(st.lists(row, min_size=n, max_size=n))
    accepting = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    return Dfa(
        alphabet=letters,
        transitions=np.array(table, dtype=np.int32).reshape(n, len(letters)),
        start=draw(st.integers(0, n - 1)),
        accepting=np.array(accepting),
    )


def words(alphabet: Alphabet, max_length: int = 12) -> st.SearchStrategy[Word]:
    """Words over an alphabet as tuples of letter numbers."""
    if not len(alphabet):
        return st.just(())
    letters = st.integers(0, len(alphabet) - 1)
    return st.lists(letters, max_size=max_length).map(tuple)


def all_words(num_letters: int, max_length: int) -> Iterator[Word]:
    """All words up to a length, by length and then by alphabet."""
    for length in range(max_length + 1):
        yield from itertools.product(range(num_letters), repeat=length)


def random_dfa(seed: int, num_states: int, num_letters: int, *, share_accepting: float = 0.5) -> Dfa:
    """A large random automaton, for which drawing each entry by Hypothesis would be slow."""
    rng = np.random.default_rng(seed)
    return Dfa(
        alphabet=Alphabet(tuple(f"x{i}" for i in range(num_letters))),
        transitions=rng.integers(0, num_states, (num_states, num_letters)),
        start=0,
        accepting=rng.random(num_states) < share_accepting,
    )
