from __future__ import annotations

import time

import pytest
from automata.fa.nfa import NFA
from hypothesis import given, strategies as st

from nerode.core import Budget, BudgetExceeded, InputError
from nerode.languages import determinise as module
from nerode.languages.alphabet import Alphabet
from nerode.languages.determinise import Nfa, determinise
from nerode.languages.minimisation import minimise
from tests.languages.automata_lib import to_automata_lib
from tests.strategies import all_words, alphabets

AB = Alphabet(("a", "b"))


@st.composite
def nfas(draw: st.DrawFn, max_states: int = 6) -> Nfa:
    alphabet = draw(alphabets(2))
    states = st.integers(0, draw(st.integers(0, max_states - 1)))
    letters = st.one_of(st.none(), st.integers(0, len(alphabet) - 1))
    return Nfa(
        alphabet=alphabet,
        transitions=tuple(draw(st.lists(st.tuples(states, letters, states), max_size=14))),
        starts=draw(st.frozensets(states)),
        accepting=draw(st.frozensets(states)),
    )


def accepts(nfa: Nfa, word: tuple[int, ...]) -> bool:
    """Membership by following all runs, letter by letter."""

    def closed(states: set[int]) -> set[int]:
        while True:
            more = {q for p, a, q in nfa.transitions if a is None and p in states} | states
            if more == states:
                return states
            states = more

    states = closed(set(nfa.starts))
    for letter in word:
        states = closed({q for p, a, q in nfa.transitions if a == letter and p in states})
    return bool(states & nfa.accepting)


def nth_from_the_end(n: int) -> Nfa:
    """The n-th letter from the end is a: n + 1 states here, 2^n deterministic ones."""
    edges = [(0, 0, 0), (0, 1, 0), (0, 0, 1), *((i, a, i + 1) for i in range(1, n) for a in (0, 1))]
    return Nfa(alphabet=AB, transitions=tuple(edges), starts=frozenset({0}), accepting=frozenset({n}))


@given(nfas(), st.sampled_from([1, 3, 1 << 22]))
def test_the_language_is_that_of_all_runs(nfa: Nfa, cells: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CELLS", cells)
        dfa = determinise(nfa)
    assert dfa.breadth_first.tolist() == list(range(dfa.num_states))
    for word in all_words(len(nfa.alphabet), 6):
        assert dfa.accepts(word) == accepts(nfa, word)


@given(nfas())
def test_the_minimal_automaton_is_that_of_automata_lib(nfa: Nfa) -> None:
    states = {q for p, _, q in nfa.transitions} | {p for p, _, _ in nfa.transitions}
    states |= nfa.starts | nfa.accepting | {-1}
    table: dict[int, dict[str, set[int]]] = {q: {} for q in states}
    table[-1][""] = set(nfa.starts)
    for p, a, q in nfa.transitions:
        table[p].setdefault("" if a is None else nfa.alphabet.symbols[a], set()).add(q)
    oracle = NFA(
        states=states,
        input_symbols=set(nfa.alphabet),
        transitions=table,
        initial_state=-1,
        final_states=set(nfa.accepting),
    )
    assert NFA.from_dfa(to_automata_lib(minimise(determinise(nfa)))) == oracle


def test_exactly_the_reachable_subsets_are_built() -> None:
    dfa = determinise(nth_from_the_end(10))
    assert dfa.num_states == 1024
    assert minimise(dfa).num_states == 1024


def test_eight_thousand_subsets_take_well_under_a_second() -> None:
    began = time.process_time()
    assert determinise(nth_from_the_end(13)).num_states == 1 << 13
    assert time.process_time() - began < 1.0


def test_it_stops_at_the_budget_and_says_how_far_it_came() -> None:
    with pytest.raises(BudgetExceeded, match="budget of 5,000 states") as caught:
        determinise(nth_from_the_end(60), Budget(states=5000))
    assert 5000 < caught.value.known_so_far["states_reached"] <= 2 * 5000 + 2


def test_states_may_have_any_numbers() -> None:
    edges = ((10**12, 0, 7), (7, None, 10**15), (10**15, 1, 10**12))
    nfa = Nfa(alphabet=AB, transitions=edges, starts=frozenset({10**12}), accepting=frozenset({10**12}))
    dfa = determinise(nfa)
    assert [dfa.accepts(word) for word in ("", "ab", "abab", "a", "ba")] == [True, True, True, False, False]


def test_a_long_path_of_silent_edges() -> None:
    n = 5000
    edges = (*((i, None, i + 1) for i in range(n)), (n, 0, 0))
    nfa = Nfa(alphabet=AB, transitions=edges, starts=frozenset({0}), accepting=frozenset({n}))
    dfa = minimise(determinise(nfa))
    assert [dfa.accepts(word) for word in ("", "aaa", "ab")] == [True, True, False]


@pytest.mark.parametrize("letters", [0, 2])
@pytest.mark.parametrize(("starts", "accepting"), [((), (0,)), ((0,), ()), ((0,), (1,)), ((), ())])
def test_the_empty_language_has_one_state(
    letters: int, starts: tuple[int, ...], accepting: tuple[int, ...]
) -> None:
    nfa = Nfa(
        alphabet=Alphabet(AB.symbols[:letters]),
        transitions=(),
        starts=frozenset(starts),
        accepting=frozenset(accepting),
    )
    dfa = determinise(nfa)
    assert (dfa.num_states, dfa.accepting.tolist()) == (1, [False])


@pytest.mark.parametrize(
    ("edges", "starts", "message"),
    [
        (((0, 2, 1),), {0}, "letter number 2"),
        (((0, -1, 1),), {0}, "letter number -1"),
        (((0, 0, -1),), {0}, "negative state"),
        (((-1, None, 0),), {0}, "negative state"),
        (((0, 0, 1),), {-1}, "is negative"),
    ],
)
def test_a_broken_automaton_is_refused(edges: tuple, starts: set[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Nfa(alphabet=AB, transitions=edges, starts=frozenset(starts), accepting=frozenset())
