"""Table walks against the automaton's own run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nerode.core import InputError
from nerode.languages import Alphabet, Dfa
from nerode.models.kernels.table_walk import TableWalk


def random_dfa(states: int, letters: int, seed: int = 0) -> Dfa:
    generator = np.random.default_rng(seed)
    return Dfa.build(
        [f"x{i}" for i in range(letters)],
        {q: {f"x{i}": int(generator.integers(states)) for i in range(letters)} for q in range(states)},
        start=0,
        accept=[0],
    )


@given(
    states=st.integers(1, 9),
    letters=st.integers(1, 4),
    seed=st.integers(0, 99),
    data=st.data(),
    dtype=st.sampled_from([np.uint8, np.uint16, np.uint32, np.int64]),
)
def test_a_walk_is_the_run(states: int, letters: int, seed: int, data: st.DataObject, dtype: type) -> None:
    dfa = random_dfa(states, letters, seed)
    word = data.draw(st.lists(st.integers(0, letters - 1), max_size=40))
    walk = TableWalk(dfa=dfa)
    assert walk.run(np.array(word, dtype=dtype)) == dfa.run(word)
    assert tuple(walk.trace(np.array(word, dtype=dtype))) == dfa.trace(word)[1:]


@pytest.mark.parametrize(("states", "letters"), [(40_000, 1), (300, 300), (3, 70_000)])
def test_large_tables(states: int, letters: int) -> None:
    table = np.arange(states, dtype=np.int32)[:, None] + np.arange(letters, dtype=np.int32)[None, :] + 1
    dfa = Dfa(
        alphabet=Alphabet(tuple(f"x{i}" for i in range(letters))),
        transitions=table % states,
        start=0,
        accepting=np.arange(states) == 0,
    )
    word = np.random.default_rng(1).integers(0, letters, 9000)
    total = (np.cumsum(word + 1)) % states
    assert TableWalk(dfa=dfa).run(word) == total[-1]
    assert np.array_equal(TableWalk(dfa=dfa).trace(word), total)


def test_a_word_in_parts_is_the_whole_word() -> None:
    dfa = random_dfa(7, 3)
    word = np.random.default_rng(2).integers(0, 3, 10_001, dtype=np.uint8)
    walk = TableWalk(dfa=dfa)
    state = dfa.start
    for part in np.split(word, [1, 4096, 4097, 9000]):
        state = walk.run(part, state=state)
    assert state == walk.run(word) == dfa.run(word.tolist())


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.int64])
def test_a_letter_that_is_none_is_named(dtype: type) -> None:
    word = np.zeros(9000, dtype=dtype)
    word[8999] = 3
    with pytest.raises(InputError, match=r"letter number 3 at position 9000 .* outside 0…2"):
        TableWalk(dfa=random_dfa(5, 3)).run(word)


@pytest.mark.parametrize(
    ("word", "message"),
    [([-1], "-1 at position 1"), ([[0]], "one row"), ([0.5], "float64"), ([1 << 40], "out of range")],
)
def test_what_is_no_word_is_refused(word: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TableWalk(dfa=random_dfa(5, 3)).run(word)


def test_what_is_no_state_is_refused() -> None:
    with pytest.raises(InputError, match="outside the states 0"):
        TableWalk(dfa=random_dfa(1, 3)).run([0], state=5)


def test_an_automaton_without_letters_is_refused() -> None:
    with pytest.raises(InputError, match="no letters"):
        TableWalk(dfa=Dfa.build([], {}, start=0, accept=[0]))
