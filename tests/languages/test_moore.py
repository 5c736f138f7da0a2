from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nerode.core import InputError
from nerode.languages import Alphabet, Moore, minimise

AB = Alphabet(("a", "b"))


@st.composite
def machines(draw: st.DrawFn) -> Moore:
    n = draw(st.integers(1, 8))
    cells = st.integers(0, n - 1)
    table = draw(st.lists(st.tuples(cells, cells), min_size=n, max_size=n))
    outputs = draw(st.lists(st.sampled_from(["x", "y", "z"]), min_size=n, max_size=n))
    return Moore(alphabet=AB, transitions=np.array(table), start=draw(cells), outputs=tuple(outputs))


words = st.lists(st.integers(0, 1), max_size=12)


@given(machines(), words)
def test_the_minimal_machine_answers_alike(machine: Moore, word: list[int]) -> None:
    assert machine.minimise().trace(word) == machine.trace(word)


@given(machines())
def test_minimal_machines_have_no_equal_states_and_are_canonical(machine: Moore) -> None:
    small = machine.minimise()
    assert small.minimise() == small
    assert hash(small.minimise()) == hash(small)
    for p in range(small.num_states):
        for q in range(p):
            word = small.distinguish(q, p)
            assert word is not None
            ends = []
            for state in (p, q):
                for letter in word:
                    state = small.rows[state][letter]
                ends.append(small.outputs[state])
            assert ends[0] != ends[1]


@given(machines())
def test_two_outputs_minimise_like_an_automaton(machine: Moore) -> None:
    def accepts(output: str) -> bool:
        return output == "x"

    two = Moore(
        alphabet=AB,
        transitions=machine.transitions,
        start=machine.start,
        outputs=tuple(str(accepts(o)) for o in machine.outputs),
    )
    assert two.minimise().num_states == minimise(machine.accepting(accepts)).num_states


@given(machines())
def test_access_words_lead_there_and_equal_states_are_not_told_apart(machine: Moore) -> None:
    for state, word in enumerate(machine.access_words):
        assert word is None or machine.run(word) == state
    assert machine.distinguish(0, 0) is None


def test_tables_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="shape"):
        Moore(alphabet=AB, transitions=np.zeros((1, 1), int), start=0, outputs=("x",))
    with pytest.raises(InputError, match="shape"):
        Moore(alphabet=AB, transitions=np.zeros((0, 2), int), start=0, outputs=())
    with pytest.raises(InputError, match="outside"):
        Moore(alphabet=AB, transitions=np.ones((1, 2), int), start=0, outputs=("x",))
    with pytest.raises(InputError, match="outside"):
        Moore(alphabet=AB, transitions=np.zeros((1, 2), int), start=1, outputs=("x",))


def test_dot_quotes_what_it_must() -> None:
    machine = Moore(alphabet=Alphabet(('"', "b")), transitions=np.zeros((1, 2), int), start=0, outputs=("x",))
    assert '0 -> 0 [label="\\", b"];' in machine.to_dot()
