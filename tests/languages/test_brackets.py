"""Bracket languages against reduction by hand, and their samplers against counting."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, strategies as st
from scipy import stats

from nerode.core import Budget, BudgetExceeded, InputError, stream
from nerode.languages.alphabet import Word
from nerode.languages.brackets import Dyck, bounded_dyck_1, bracket_pairs, dyck, dyck_1, shuffle_dyck
from nerode.languages.counters import CounterLanguage
from nerode.languages.determinise import minimise
from nerode.languages.language import Language
from tests.languages.brute_force import assert_language_is, members_of_length

Pairs = Sequence[tuple[str, str]]


def is_balanced(word: Sequence[str], pairs: Pairs) -> bool:
    """Strikes out neighbours that match until nothing changes."""
    word = list(word)
    while True:
        for i in range(len(word) - 1):
            if (word[i], word[i + 1]) in pairs:
                del word[i : i + 2]
                break
        else:
            return not word


def depth(word: Sequence[str], pairs: Pairs) -> int:
    opening = {o for o, _ in pairs}
    return max(itertools.accumulate((1 if s in opening else -1 for s in word), initial=0))


def is_shuffle(word: Sequence[str], pairs: Pairs) -> bool:
    return all(is_balanced([s for s in word if s in pair], [pair]) for pair in pairs)


def assert_uniform(draw: Callable[[], Word], members: set[Word], *, draws: int = 4000) -> None:
    counts = Counter(draw() for _ in range(draws))
    assert set(counts) <= members
    assert stats.chisquare([counts[word] for word in sorted(members)]).pvalue > 1e-4


def max_open(language: Language, word: Word) -> int:
    """The greatest number of brackets open at a time; opening letters are even."""
    return max(itertools.accumulate((1 if a % 2 == 0 else -1 for a in word), initial=0))


def test_dyck_1() -> None:
    pairs = bracket_pairs(1)
    assert_language_is(dyck_1(), lambda w: is_balanced(w, pairs), longest=12, prefixes=5)


@pytest.mark.parametrize(("k", "longest", "prefixes"), [(1, 10, 4), (2, 8, 3), (3, 6, 2)])
def test_dyck(k: int, longest: int, prefixes: int) -> None:
    pairs = bracket_pairs(k)
    assert_language_is(dyck(k), lambda w: is_balanced(w, pairs), longest=longest, prefixes=prefixes)


@pytest.mark.parametrize(("k", "longest", "prefixes"), [(1, 10, 4), (2, 8, 3), (3, 6, 2)])
def test_shuffle_dyck(k: int, longest: int, prefixes: int) -> None:
    pairs = bracket_pairs(k)
    assert_language_is(shuffle_dyck(k), lambda w: is_shuffle(w, pairs), longest=longest, prefixes=prefixes)


@pytest.mark.parametrize(("k", "bound"), [(1, 1), (1, 3), (2, 1), (2, 2), (2, 3), (3, 2)])
def test_bounded_dyck(k: int, bound: int) -> None:
    pairs = bracket_pairs(k)
    longest, prefixes = {1: (11, 7), 2: (8, 4), 3: (6, 3)}[k]
    assert_language_is(
        dyck(k, bound),
        lambda w: is_balanced(w, pairs) and depth(w, pairs) <= bound,
        longest=longest,
        prefixes=min(prefixes, longest - bound - 1),
    )


def test_bounded_dyck_1_is_written_with_letters() -> None:
    language = bounded_dyck_1(2)
    assert_language_is(
        language,
        lambda w: is_balanced(w, [("a", "b")]) and depth(w, [("a", "b")]) <= 2,
        longest=11,
        prefixes=8,
    )
    assert language.name == "d-2"
    assert language.parameters == {"k": 1, "depth": 2}
    assert (language.family, language.regular) == ("bounded-dyck", True)


@pytest.mark.parametrize(("k", "bound"), [(1, 1), (1, 12), (1, 300), (2, 1), (2, 8), (3, 3), (8, 3)])
def test_number_of_states_needs_no_automaton(k: int, bound: int) -> None:
    language = dyck(k, bound)
    automaton = language.dfa()
    assert language.num_states() == automaton.num_states == minimise(automaton).num_states


def test_number_of_states_of_published_sizes() -> None:
    # algebra.md, 2.4: D_2, D_12, Dyck(2,2), (2,8), (3,3), (4,3), (8,3).
    assert [bounded_dyck_1(n).num_states() for n in (2, 3, 4, 12, 40)] == [4, 5, 6, 14, 42]
    sizes = [(2, 2, 8), (2, 8, 512), (3, 3, 41), (4, 3, 86), (8, 3, 586)]
    assert all(dyck(k, m).num_states() == states for k, m, states in sizes)
    assert dyck(8, 10).num_states() == sum(8**d for d in range(11)) + 1 == 1_227_133_514


def test_large_automata_are_refused_with_their_size() -> None:
    with pytest.raises(BudgetExceeded) as refused:
        dyck(8, 10).dfa()
    assert refused.value.known_so_far == {"states": 1_227_133_514}
    with pytest.raises(BudgetExceeded):
        dyck(2, 3).dfa(Budget(states=15))
    assert dyck(2, 3).dfa(Budget(states=16)).num_states == 16


@given(st.lists(st.integers(0, 5), max_size=20))
def test_stack_and_automaton_agree(word: list[int]) -> None:
    language = dyck(3, 3)
    automaton = language.dfa()
    state = automaton.start
    configuration = language.initial()
    for letter in word:
        state = int(automaton.transitions[state, letter])
        configuration = language.advance(configuration, letter)
    legal = language.legal(configuration)
    assert legal.end == bool(automaton.accepting[state])
    assert [a in legal.symbols for a in range(6)] == automaton.legal[state].tolist()


def test_languages_without_bound_are_not_regular() -> None:
    for language in (dyck(2), dyck_1(), shuffle_dyck(2)):
        assert not language.regular
        assert language.num_states() is None
        with pytest.raises(InputError, match="is not regular"):
            language.dfa()


def test_families_and_parameters() -> None:
    assert (dyck_1().family, dyck_1().kind) == ("dyck-1", "counter")
    assert (shuffle_dyck(4).family, shuffle_dyck(4).parameters) == ("shuffle-dyck", {"k": 4})
    assert (dyck(2).family, dyck(2).kind, dyck(2).parameters) == ("dyck", "stack", {"k": 2})
    assert (dyck(8, 10).family, dyck(8, 10).parameters) == ("bounded-dyck", {"k": 8, "depth": 10})
    assert [language.name for language in (dyck_1(), dyck(2), dyck(8, 10), shuffle_dyck(6))] == [
        "dyck-1",
        "dyck-2",
        "dyck-8-10",
        "shuffle-6",
    ]
    assert dyck(8, 10) == dyck(8, 10) != dyck(8, 9)
    assert hash(dyck(8, 10)) == hash(dyck(8, 10))


def test_brackets_are_written_readably() -> None:
    assert "".join(dyck(4).alphabet.symbols) == "()[]{}<>"
    assert dyck(5).alphabet.symbols[:4] == ("(1", "1)", "(2", "2)")
    assert dyck(5).accepts("(1 (5 5) 1)")
    assert not dyck(5).accepts("(1 (5 1) 5)")


def test_shuffle_counts_each_kind() -> None:
    machine = shuffle_dyck(2).machine
    assert machine.num_counters == 2
    assert machine.increments == ((1, 0), (-1, 0), (0, 1), (0, -1))
    assert not machine.reads_last
    assert shuffle_dyck(2).accepts("([)]")
    assert not dyck(2).accepts("([)]")


@pytest.mark.parametrize(
    "language", [dyck_1(), dyck(2), dyck(3), shuffle_dyck(2), shuffle_dyck(3), dyck(2, 2)]
)
def test_words_are_sampled_uniformly(language: CounterLanguage | Dyck) -> None:
    rng = stream(0, "uniform", language.name)
    length = 8 if len(language.alphabet) == 2 else 6 if len(language.alphabet) == 4 else 4
    assert_uniform(lambda: language.sample(length, rng), members_of_length(language, length))


@pytest.mark.parametrize("language", [dyck_1(), dyck(2), dyck(2, 2)])
@pytest.mark.parametrize("bound", [2, 3])
def test_bounded_words_are_sampled_uniformly(language: CounterLanguage | Dyck, bound: int) -> None:
    rng = stream(0, "bounded", language.name, bound)
    length = 8 if len(language.alphabet) == 2 else 6
    members = {w for w in members_of_length(language, length) if max_open(language, w) <= bound}
    assert_uniform(lambda: language.sample(length, rng, max_depth=bound), members)


def test_bounded_shuffles_are_sampled_uniformly() -> None:
    language = shuffle_dyck(2)
    rng = stream(0, "bounded shuffle")

    def flat(word: Word) -> bool:
        return all(max_open(language, tuple(a for a in word if a // 2 == kind)) <= 1 for kind in (0, 1))

    members = {w for w in members_of_length(language, 6) if flat(w)}
    assert_uniform(lambda: language.sample(6, rng, max_depth=1), members)


@pytest.mark.parametrize("language", [dyck_1(), dyck(8), dyck(8, 10), shuffle_dyck(6), shuffle_dyck(1)])
@pytest.mark.parametrize("length", [0, 2, 1000])
def test_sampled_words_belong(language: CounterLanguage | Dyck, length: int) -> None:
    word = language.sample(length, stream(3, language.name, length))
    assert len(word) == length
    assert language.accepts(word)


def test_long_words_are_sampled() -> None:
    assert dyck(2).accepts(dyck(2).sample(20_000, stream(4)))
    assert shuffle_dyck(2).accepts(shuffle_dyck(2).sample(2_000, stream(4)))
    word = dyck(8, 15).sample(1400, stream(4), max_depth=10)
    assert max_open(dyck(8), word) <= 10


@pytest.mark.parametrize("language", [dyck_1(), dyck(2), dyck(2, 2), shuffle_dyck(2), bounded_dyck_1(1)])
def test_impossible_lengths_name_the_nearest(language: CounterLanguage | Dyck) -> None:
    with pytest.raises(InputError, match="the nearest are 6 and 8"):
        language.sample(7, stream(0))
    with pytest.raises(InputError, match="nearest possible length is 0"):
        language.sample(-2, stream(0))
    with pytest.raises(InputError, match="the nearest length is 0"):
        language.sample(4, stream(0), max_depth=0)
    assert language.sample(0, stream(0), max_depth=0) == ()


@pytest.mark.parametrize(
    "make",
    [
        lambda: dyck(0),
        lambda: dyck(1001),
        lambda: shuffle_dyck(0),
        lambda: dyck(2, 0),
        lambda: dyck(2, 1001),
        lambda: bounded_dyck_1(0),
        lambda: bounded_dyck_1(1_000_001),
    ],
)
def test_numbers_out_of_range_are_refused(make: Callable[[], Language]) -> None:
    with pytest.raises(InputError, match=r"not offered; give 1 to"):
        make()


@pytest.mark.parametrize(
    ("pairs", "bound", "message"),
    [
        ((), 2, "0 kinds of brackets"),
        ((("(",),), 2, "each as a pair"),
        ((("(", "("),), 2, "occurs twice"),
        ((("(", ")"),), 2.5, "a bound of 2.5"),
        ((("(", ")"), ("[", "]")), 10**12, "a bound of 1000000000000"),
    ],
)
def test_brackets_from_elsewhere_are_checked(pairs: Pairs, bound: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Dyck(name="x", pairs=tuple(pairs), depth=bound, convention="x", family="bounded-dyck", parameters={})


def test_the_largest_names_stay_printable() -> None:
    assert len(str(dyck(1000, 1000).num_states())) == 3001
    assert bounded_dyck_1(1_000_000).num_states() == 1_000_002
