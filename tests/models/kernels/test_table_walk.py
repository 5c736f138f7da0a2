"""Table walks against the automaton's own run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nerode.languages import Dfa
from nerode.models.streaming import walk_table


def random_dfa(states: int, letters: int, seed: int = 0) -> Dfa:
    generator = np.random.default_rng(seed)
    return Dfa.build(
        [f"x{i}" for i in range(letters)],
        {q: {f"x{i}": int(generator.integers(states)) for i in range(letters)} for q in range(states)},
        start=0,
        accept=[0],
    )


def table_of(transitions: np.ndarray, dtype: type) -> np.ndarray:
    return np.ascontiguousarray(transitions.astype(np.uint64) * transitions.shape[1]).astype(dtype)


@given(
    states=st.integers(1, 9),
    letters=st.integers(1, 4),
    seed=st.integers(0, 99),
    data=st.data(),
    dtypes=st.sampled_from([(np.uint16, np.uint8), (np.uint32, np.uint8), (np.uint32, np.uint32)]),
)
def test_a_walk_is_the_run(states: int, letters: int, seed: int, data: st.DataObject, dtypes: tuple) -> None:
    dfa = random_dfa(states, letters, seed)
    word = data.draw(st.lists(st.integers(0, letters - 1), max_size=40))
    table, visited = table_of(dfa.transitions, dtypes[0]), np.empty(len(word), dtype=dtypes[0])
    end = walk_table(table, dfa.start * letters, np.array(word, dtype=dtypes[1]), visited)
    assert end == dfa.run(word) * letters
    assert tuple(visited // letters) == dfa.trace(word)[1:]


@pytest.mark.parametrize(("states", "letters"), [(40_000, 1), (300, 300), (3, 70_000)])
def test_large_tables(states: int, letters: int) -> None:
    table = np.arange(states)[:, None] + np.arange(letters)[None, :] + 1
    word = np.random.default_rng(1).integers(0, letters, 9000).astype(np.uint32)
    total = int((np.cumsum(word + 1) % states)[-1])
    assert walk_table(table_of(table % states, np.uint32), 0, word, None) == total * letters


def test_a_word_in_parts_is_the_whole_word() -> None:
    dfa = random_dfa(7, 3)
    word = np.random.default_rng(2).integers(0, 3, 10_001, dtype=np.uint8)
    table, place = table_of(dfa.transitions, np.uint16), dfa.start * 3
    for part in np.split(word, [1, 4096, 4097, 9000]):
        place = walk_table(table, place, part, None)
    assert place == walk_table(table, dfa.start * 3, word, None) == 3 * dfa.run(word.tolist())


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32])
def test_a_letter_that_is_none_is_found(dtype: type) -> None:
    word = np.zeros(9000, dtype=dtype)
    word[8999] = 3
    assert walk_table(table_of(random_dfa(5, 3).transitions, np.uint16), 0, word, None) == -9000
