from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nerode.core import Budget, BudgetExceeded, InputError
from nerode.languages.alphabet import Alphabet
from nerode.languages.dfa import Dfa
from tests.strategies import all_words, dfas, words

AB = Alphabet(("a", "b"))


def automaton(**changes: object) -> Dfa:
    fields = {
        "alphabet": AB,
        "transitions": np.array([[1, 0], [1, 1]]),
        "start": 0,
        "accepting": np.array([False, True]),
    }
    return Dfa(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"accepting": np.array([], dtype=bool), "transitions": np.zeros((0, 2), int)}, "at least one"),
        ({"accepting": np.array([[True], [False]])}, "has shape"),
        ({"accepting": np.array([0, 1])}, "not the numbers of the accepting states"),
        ({"transitions": np.array([[1], [1]])}, "2 states and 2 letters"),
        ({"transitions": np.array([[1, 0], [1, 2]])}, "outside the states 0…1"),
        ({"transitions": np.array([[1, 0], [1, -1]])}, "outside the states 0…1"),
        ({"transitions": np.array([[1, 0], [1, 1 << 32]])}, "outside the states 0…1"),
        ({"transitions": np.array([[1.0, 0.0], [1.0, 0.5]])}, "states are integers"),
        ({"start": 2}, "start state 2"),
        ({"start": -1}, "start state -1"),
    ],
)
def test_a_broken_table_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        automaton(**changes)


def test_tables_are_copied_and_read_only() -> None:
    table = np.array([[1, 0], [1, 1]])
    dfa = automaton(transitions=table)
    table[0, 0] = 0
    assert dfa.transitions[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        dfa.transitions[0, 0] = 0
    for array in (dfa.accepting, dfa.live, dfa.legal, dfa.breadth_first):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_equal_tables_are_equal_and_hash_alike() -> None:
    assert automaton() == automaton()
    assert hash(automaton()) == hash(automaton())
    assert automaton() != automaton(start=1)
    assert automaton() != automaton(alphabet=Alphabet(("b", "a")))
    assert automaton() != "a dfa"


def test_an_empty_alphabet_has_only_the_empty_word() -> None:
    dfa = Dfa(alphabet=Alphabet(()), transitions=np.zeros((1, 0), int), start=0, accepting=np.array([True]))
    assert dfa.accepts("")
    assert dfa.live.tolist() == [True]
    assert dfa.legal.shape == (1, 0)
    assert dfa.breadth_first.tolist() == [0]
    assert dfa.access_word(0) == ()
    assert Dfa.build((), {}, start="s", accept="s") == dfa


def test_build_from_a_table_adds_one_dead_state() -> None:
    dfa = Dfa.build("ab", {"even": {"a": "odd"}, "odd": {"a": "even"}}, start="even", accept=["even"])
    assert dfa.num_states == 3
    assert [dfa.accepts(w) for w in ("", "a", "aa", "ab", "baa")] == [True, False, True, False, False]


def test_build_from_a_function_stops_at_the_budget() -> None:
    with pytest.raises(BudgetExceeded, match="50 states"):
        Dfa.build("a", lambda n, _: n + 1, start=0, accept=lambda n: n == 3, budget=Budget(states=50))


def test_build_refuses_a_table_with_an_unknown_symbol() -> None:
    with pytest.raises(InputError, match="'c' is not in the alphabet"):
        Dfa.build("ab", {0: {"a": 0, "c": 1}}, start=0, accept=[0])


def test_a_state_that_does_not_exist_is_refused() -> None:
    for state in (-1, 2):
        with pytest.raises(InputError, match="outside the states"):
            automaton().run("a", state=state)
        with pytest.raises(InputError, match="outside the states"):
            automaton().access_word(state)


@given(st.data(), dfas())
def test_run_trace_and_action_agree(data: st.DataObject, dfa: Dfa) -> None:
    word = data.draw(words(dfa.alphabet))
    trace = dfa.trace(word)
    assert trace[0] == dfa.start
    assert trace[-1] == dfa.run(word) == dfa.action(word)[dfa.start]
    assert dfa.accepts(word) == dfa.accepting[trace[-1]]
    assert dfa.run(word[1:], state=trace[min(1, len(word))]) == trace[-1]


@given(dfas(max_states=4, max_letters=2))
def test_next_symbol_sets_agree_with_brute_force(dfa: Dfa) -> None:
    # With n states, acceptance is reached by fewer than n letters if it can be reached at all.
    futures = list(all_words(dfa.num_letters, dfa.num_states - 1))
    for prefix in all_words(dfa.num_letters, 3):
        state = dfa.run(prefix)
        for letter in range(dfa.num_letters):
            possible = any(dfa.accepts((*prefix, letter, *future)) for future in futures)
            assert dfa.legal[state, letter] == possible
        assert dfa.accepting[state] == dfa.accepts(prefix)
        assert dfa.live[state] == any(dfa.accepts((*prefix, *future)) for future in futures)


@given(dfas(max_states=5))
def test_access_words_are_the_first_ones_that_lead_there(dfa: Dfa) -> None:
    first: dict[int, tuple[int, ...]] = {}
    for word in all_words(dfa.num_letters, dfa.num_states - 1):
        first.setdefault(dfa.run(word), word)
    assert dfa.breadth_first.tolist() == list(first)
    for state in range(dfa.num_states):
        if state in first:
            assert dfa.access_word(state) == first[state]
        else:
            with pytest.raises(InputError, match="no word leads"):
                dfa.access_word(state)


def test_a_long_chain_takes_linear_memory() -> None:
    n = 20_000
    table = np.minimum(np.arange(n) + 1, n - 1)[:, None]
    chain = Dfa(alphabet=Alphabet(("a",)), transitions=table, start=0, accepting=np.arange(n) == n - 1)
    assert chain.access_word(n - 1) == (0,) * (n - 1)
    assert chain.live.all()
