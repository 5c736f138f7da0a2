from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nerode.languages import minimisation as module
from nerode.languages.alphabet import Alphabet
from nerode.languages.dfa import Dfa
from nerode.languages.minimisation import equivalence_classes, minimise, trim
from tests.languages.automata_lib import to_automata_lib
from tests.strategies import all_words, dfas, random_dfa


@pytest.fixture(params=["moore", "hopcroft"])
def phase(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Has all the work done by one of the two algorithms."""
    if request.param == "moore":
        monkeypatch.setattr(module, "_MOORE_ROUNDS", 10**9)
    else:
        monkeypatch.setattr(module, "_moore_rounds", two_blocks)
    return str(request.param)


def two_blocks(dfa: Dfa) -> tuple[np.ndarray, bool]:
    return np.unique(dfa.accepting, return_inverse=True)[1].astype(np.int32), False


def shuffled_with_copies(dfa: Dfa, seed: int) -> Dfa:
    """Another automaton of the same language: every state doubled, numbers shuffled."""
    rng = np.random.default_rng(seed)
    n = dfa.num_states
    name = rng.permutation(2 * n)
    table = np.empty((2 * n, dfa.num_letters), dtype=np.int64)
    accepting = np.empty(2 * n, dtype=bool)
    for copy in (0, 1):
        goes_to = rng.integers(0, 2, dfa.transitions.shape)
        table[name[copy * n : (copy + 1) * n]] = name[dfa.transitions + n * goes_to]
        accepting[name[copy * n : (copy + 1) * n]] = dfa.accepting
    return Dfa(alphabet=dfa.alphabet, transitions=table, start=int(name[dfa.start]), accepting=accepting)


@given(dfas(max_states=8, min_letters=0))
def test_the_language_stays_and_a_second_time_changes_nothing(dfa: Dfa) -> None:
    small = minimise(dfa)
    assert minimise(small) == small
    for word in all_words(dfa.num_letters, 5):
        assert small.accepts(word) == dfa.accepts(word)


@given(dfas(max_states=8))
def test_the_number_of_states_is_that_of_automata_lib(dfa: Dfa) -> None:
    oracle = to_automata_lib(dfa)
    assert minimise(dfa).num_states == len(oracle.minify(retain_names=False).states)
    assert to_automata_lib(minimise(dfa)) == oracle


@pytest.mark.parametrize(("states", "letters"), [(5, 1), (40, 1), (30, 2), (200, 2), (60, 8), (500, 3)])
@pytest.mark.parametrize("share", [0.02, 0.5])
def test_larger_automata_agree_with_automata_lib(phase: str, states: int, letters: int, share: float) -> None:
    for seed in range(3):
        dfa = random_dfa(seed, states, letters, share_accepting=share)
        oracle = to_automata_lib(dfa).minify(retain_names=False)
        small = minimise(dfa)
        assert small.num_states == len(oracle.states)
        assert to_automata_lib(small) == oracle
        assert minimise(shuffled_with_copies(dfa, seed)) == small


@pytest.mark.parametrize("doubled", [False, True])
def test_a_chain_goes_through_both_phases(doubled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    hopcroft = module._hopcroft
    monkeypatch.setattr(module, "_hopcroft", lambda *args: calls.append(1) or hopcroft(*args))
    n = 300
    table = np.column_stack([np.minimum(np.arange(n) + 1, n - 1), np.zeros(n, dtype=np.int64)])
    chain = Dfa(alphabet=Alphabet(("a", "b")), transitions=table, start=0, accepting=np.arange(n) == n - 1)
    assert minimise(shuffled_with_copies(chain, 7) if doubled else chain) == chain
    assert calls


@given(dfas(max_states=6), st.integers(0, 2**32))
def test_two_automata_of_one_language_have_one_canonical_form(dfa: Dfa, seed: int) -> None:
    other = shuffled_with_copies(dfa, seed)
    assert minimise(other) == minimise(dfa)


@given(dfas(max_states=5, max_letters=2), dfas(max_states=5, max_letters=2))
def test_canonical_forms_are_equal_exactly_when_the_languages_are(left: Dfa, right: Dfa) -> None:
    if left.alphabet != right.alphabet:
        assert minimise(left) != minimise(right)
        return
    # Automata of 5 states each are told apart by a word of at most 5 + 5 - 2 letters, or never.
    same = all(left.accepts(word) == right.accepts(word) for word in all_words(left.num_letters, 8))
    assert (minimise(left) == minimise(right)) == same


@given(dfas(max_states=7, max_letters=2))
def test_classes_are_the_nerode_classes(dfa: Dfa) -> None:
    labels = equivalence_classes(dfa)
    assert set(labels.tolist()) == set(range(labels.max() + 1))
    # Inequivalent states of one automaton with 7 states differ on a word of at most 5 letters.
    tables = np.array([dfa.accepting[dfa.action(word)] for word in all_words(dfa.num_letters, 5)]).T
    for p in range(dfa.num_states):
        for q in range(p):
            assert (labels[p] == labels[q]) == np.array_equal(tables[p], tables[q])


@given(dfas(max_states=8))
def test_trim_keeps_the_reachable_states_in_order(dfa: Dfa) -> None:
    trimmed = trim(dfa)
    assert trimmed.start == 0
    assert trimmed.breadth_first.tolist() == list(range(trimmed.num_states))
    assert trimmed.num_states == len(dfa.breadth_first)
    assert trim(trimmed) is trimmed


@pytest.mark.parametrize("accepting", [False, True])
@pytest.mark.parametrize("letters", [0, 1, 3])
def test_one_state_is_minimal(phase: str, accepting: bool, letters: int) -> None:
    dfa = Dfa(
        alphabet=Alphabet(tuple("abc"[:letters])),
        transitions=np.zeros((4, letters), dtype=np.int32),
        start=0,
        accepting=np.full(4, accepting),
    )
    small = minimise(dfa)
    assert (small.num_states, small.accepting.tolist()) == (1, [accepting])
