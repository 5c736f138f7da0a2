from __future__ import annotations

import numpy as np
import pytest
from automata.fa.nfa import NFA
from hypothesis import given, strategies as st

from nerode.core import Budget, BudgetExceeded, InputError
from nerode.languages import determinise as module
from nerode.languages.alphabet import Alphabet
from nerode.languages.determinise import Nfa, determinise, equivalence_classes, minimise, trim
from nerode.languages.dfa import Dfa
from tests.languages.automata_lib import to_automata_lib
from tests.strategies import all_words, alphabets, dfas, random_dfa
from tests.timing import within

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


@given(nfas(), st.sampled_from([0, 1 << 28]))
def test_the_language_is_that_of_all_runs(nfa: Nfa, bits: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MASK_BITS", bits)
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
    assert within(1.0, lambda: determinise(nth_from_the_end(13))).num_states == 1 << 13


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


@pytest.fixture(params=["moore", "hopcroft"])
def phase(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Has all the work done by one of the two algorithms."""
    if request.param == "moore":
        monkeypatch.setattr(module, "_MOORE_ROUNDS", 10**9)
    else:
        monkeypatch.setattr(module, "_moore_rounds", two_blocks)
    return str(request.param)


def two_blocks(transitions: np.ndarray, answers: np.ndarray) -> tuple[np.ndarray, bool]:
    return np.unique(answers[:, 0], return_inverse=True)[1].astype(np.int32), False


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
