from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from nerode.core import Budget, BudgetExceeded, InputError
from nerode.languages.alphabet import Alphabet, Word
from nerode.languages.dfa import Dfa
from nerode.languages.sampling import (
    sample_accepted,
    sample_accepted_batch,
    sample_prefix_batch,
    shares as module,
)
from nerode.languages.sampling.shares import (
    LetterShares,
    count_words,
    counts_from_states,
    error_bound,
    sample_near_miss,
    settle,
)
from tests.languages.uniformity import assert_distribution
from tests.strategies import all_words, dfas, random_dfa


@pytest.fixture(params=["as it is", "always scaled", "tiny blocks, none kept"])
def tables(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Forces the rare ways through the tables."""
    if request.param == "always scaled":
        monkeypatch.setattr(module, "_SPREAD", -1)
    elif request.param != "as it is":
        monkeypatch.setattr(module, "_ROWS", 3)
        monkeypatch.setattr(module, "_KEPT_BYTES", 1)
        monkeypatch.setattr(module, "_PLAIN_GROWTH", 2)
    return str(request.param)


NO_BB = Dfa.build("ab", {0: {"a": 0, "b": 1}, 1: {"a": 0}}, start=0, accept=[0, 1])
C_AFTER_A = Dfa.build(
    "abc", {0: {"a": 1, "b": 0}, 1: {"a": 1, "b": 0, "c": 2}, 2: {"b": 0}}, start=0, accept=[0, 2]
)
FREE = tuple(f"x{i}" for i in range(30))


def words_of_length(dfa: Dfa, length: int) -> list[Word]:
    return [word for word in itertools.product(range(dfa.num_letters), repeat=length) if dfa.accepts(word)]


def two_speeds(switch: int) -> Dfa:
    """Words of length 2·switch: any free letters and then only c, or d, then only c and then free letters.

    Halfway, a word of the first kind has one way to go on and a word of the second kind 30^switch ways, but
    half of the words are of each kind: a table with one scale for all states would lose the first kind.
    """

    def step(state: tuple[str, int], symbol: str) -> tuple[str, int] | None:
        kind, at = state
        if at == 0:
            return (("second" if symbol == "d" else "first"), 1) if symbol != "c" else None
        free = (kind == "first") == (at < switch)
        legal = (symbol in FREE) if free else symbol == "c"
        return (kind, at + 1) if legal and at < 2 * switch else None

    return Dfa.build((*FREE, "c", "d"), step, start=("", 0), accept=lambda state: state[1] == 2 * switch)


@pytest.mark.parametrize("length", [1, 2, 7, 40])
@pytest.mark.parametrize("letters", [1, 2, 5])
def test_borders_are_within_their_error_bound(tables: str, length: int, letters: int) -> None:
    dfa = random_dfa(length, 6, letters, share_accepting=0.3)
    shares = LetterShares(dfa)
    exact = next(itertools.islice(counts_from_states(shares.dfa), length - 1, None))
    shares.approximate_count(length)
    rows = shares._rows
    borders = shares._borders((length - 1) // rows)[(length - 1) % rows]
    for state, row in enumerate(shares.dfa.transitions.tolist()):
        weights = [exact[target] for target in row]
        if not sum(weights):
            continue
        for letter in range(letters - 1):
            border = sum(weights[: letter + 1]) / sum(weights)
            assert abs(borders[state, letter] - border) <= error_bound(length, letters)


@given(dfas(6), st.integers(0, 60))
def test_approximate_counts_are_near_and_zero_exactly_when_there_is_no_word(dfa: Dfa, length: int) -> None:
    mantissa, exponent = LetterShares(dfa).approximate_count(length)
    exact = count_words(dfa, length)
    assert (mantissa == 0) == (exact == 0)
    if exact:
        assert math.isclose(math.ldexp(mantissa, exponent), exact, rel_tol=1e-12)


def test_no_count_is_lost_beside_a_much_larger_one() -> None:
    switch = 220
    # Beyond the range of floating-point numbers, and so would 1 be beside it.
    assert 30**switch > 2**1074
    dfa = two_speeds(switch)
    shares = LetterShares(dfa)
    mantissa, exponent = shares.approximate_count(2 * switch)
    assert mantissa * 2.0**-10 == pytest.approx(float(Fraction(2 * 30**switch, 2 ** (exponent + 10))))
    words = shares.draw(2 * switch, 200, np.random.default_rng(5))
    kinds = ["second" if word[0] == dfa.alphabet.index("d") else "first" for word in words]
    assert_distribution(kinds, {"first": 1, "second": 1})
    assert all(dfa.accepts(word) for word in words[:4].tolist())
    singles = {
        len(set(shares.draw_one(2 * switch, np.random.default_rng(seed))[:9])) > 2 for seed in range(9)
    }
    assert singles == {True, False}


def test_a_slow_component_is_found_where_the_fast_one_has_no_word() -> None:
    # After a, all words of odd length over {a, b}; after b, only b's, of even length.
    table = {
        "start": {"a": "odd", "b": "b"},
        "odd": {"a": "even", "b": "even"},
        "even": {"a": "odd", "b": "odd"},
        "b": {"b": "bb"},
        "bb": {"b": "b"},
    }
    dfa = Dfa.build("ab", table, start="start", accept=["even", "b"])
    assert count_words(dfa, 3001) == 1
    shares = LetterShares(dfa)
    assert shares.approximate_count(3001) == (0.5, 1)
    assert shares.draw_one(3001, np.random.default_rng(0)) == (1,) * 3001


@pytest.mark.parametrize("always_exact", [False, True])
@pytest.mark.parametrize("vectorised", [False, True])
@pytest.mark.parametrize("dfa", [NO_BB, C_AFTER_A, random_dfa(1, 5, 3, share_accepting=0.4)])
def test_draws_are_uniform(
    tables: str, always_exact: bool, vectorised: bool, dfa: Dfa, monkeypatch: pytest.MonkeyPatch
) -> None:
    if always_exact:
        monkeypatch.setattr(module, "error_bound", lambda *_: 1.0)
    shares = LetterShares(dfa)
    words = words_of_length(dfa, 5)
    count = 25 * len(words)
    rng = np.random.default_rng([dfa.num_states, always_exact, vectorised])
    if vectorised:
        draws = [tuple(row) for row in shares.draw(5, count, rng).tolist()]
    else:
        draws = [shares.draw_one(5, rng) for _ in range(count)]
    assert_distribution(draws, dict.fromkeys(words, 1))


def test_a_walk_over_legal_letters_is_not_uniform() -> None:
    # The negative control: to choose fairly among the letters that may follow is the usual mistake.
    words = words_of_length(NO_BB, 5)
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(25 * len(words)):
        word: list[int] = []
        while len(word) < 5:
            word.append(int(rng.choice(np.flatnonzero(NO_BB.legal[NO_BB.run(word)]))))
        draws.append(tuple(word))
    with pytest.raises(AssertionError):
        assert_distribution(draws, dict.fromkeys(words, 1))


def test_doubtful_points_are_settled_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(module, "settle", lambda *args: calls.append(args) or settle(*args))
    shares = LetterShares(random_dfa(0, 5, 3))
    shares.draw(20, 50, np.random.default_rng(0))
    assert not calls
    monkeypatch.setattr(module, "error_bound", lambda *_: 0.01)
    shares.draw(20, 50, np.random.default_rng(0))
    assert 0 < len(calls) < 20 * 50


@given(st.lists(st.integers(0, 2**80), min_size=1, max_size=6), st.integers(0, 2**53 - 1))
def test_a_point_in_the_middle_is_settled_by_itself(weights: list[int], number: int) -> None:
    total = sum(weights)
    assume(total > 0)
    point = number / 2**53
    choice = settle(weights, point, np.random.default_rng(0))
    below = sum(weights[:choice])
    # The interval [number, number + 1) / 2^53 meets the share of the choice.
    assert below * 2**53 < (number + 1) * total
    assert number * total < (below + weights[choice]) * 2**53


def test_a_point_on_a_border_is_settled_by_more_bits() -> None:
    # 1/3 lies inside the interval of its 53 bits: about a third of that interval is below the border.
    point = int(2**53 / 3) / 2**53
    share_below = (2**53 % 3) / 3
    rng = np.random.default_rng(1)
    choices = [settle([1, 2], point, rng) for _ in range(3000)]
    assert share_below == pytest.approx(2 / 3)
    assert_distribution(choices, {0: 2, 1: 1})


@given(dfas(4, 2), st.integers(0, 5))
def test_every_draw_is_accepted(dfa: Dfa, length: int) -> None:
    assume(words_of_length(dfa, length))
    shares = LetterShares(dfa)
    rng = np.random.default_rng(0)
    words = shares.draw(length, 3, rng)
    assert words.shape == (3, length)
    assert all(dfa.accepts(word) for word in words.tolist())
    word = shares.draw_one(length, rng)
    assert len(word) == length
    assert dfa.accepts(word)


MULTIPLES_OF_10 = Dfa.build("a", lambda q, _: (q + 1) % 10, start=0, accept=[0])
# An a stands directly before every c and not at the end; some prefixes of such words are not such words.
PAIRS = Dfa.build(
    "abc", {0: {"a": 1, "b": 0}, 1: {"a": 1, "b": 0, "c": 2}, 2: {"b": 0}}, start=0, accept=[0, 2]
)


@pytest.mark.parametrize("length", [0, 1, 3, 5])
def test_accepted_words_are_uniform(length: int) -> None:
    words = [word for word in itertools.product(range(3), repeat=length) if PAIRS.accepts(word)]
    rng = np.random.default_rng(length)
    assert_distribution(
        (sample_accepted(PAIRS, length, rng) for _ in range(20 * len(words))), dict.fromkeys(words, 1)
    )
    batch = sample_accepted_batch(PAIRS, length, 20 * len(words), rng)
    assert batch.dtype == np.int32
    assert_distribution(map(tuple, batch.tolist()), dict.fromkeys(words, 1))


@pytest.mark.parametrize("length", [0, 2, 4])
def test_prefixes_are_uniform(length: int) -> None:
    prefixes = [word for word in itertools.product(range(3), repeat=length) if PAIRS.live[PAIRS.run(word)]]
    assert len(prefixes) > sum(map(PAIRS.accepts, prefixes)) or length == 0
    rng = np.random.default_rng(length)
    batch = sample_prefix_batch(PAIRS, length, 20 * len(prefixes), rng)
    assert_distribution(map(tuple, batch.tolist()), dict.fromkeys(prefixes, 1))


def test_one_seed_gives_one_word() -> None:
    dfa = random_dfa(3, 20, 4)
    first, second = (sample_accepted_batch(dfa, 300, 4, np.random.default_rng(8)) for _ in range(2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, sample_accepted_batch(dfa, 300, 4, np.random.default_rng(9)))


def test_long_words_of_a_large_automaton() -> None:
    dfa = random_dfa(0, 100, 2)
    rng = np.random.default_rng(0)
    began = time.process_time()
    words = sample_accepted_batch(dfa, 10_000, 16, rng)
    assert time.process_time() - began < 10
    assert all(dfa.accepts(word) for word in words.tolist())
    assert dfa.accepts(sample_accepted(dfa, 10_000, rng))
    # The letters of uniformly random words of this automaton are close to fair coins.
    assert 0.4 < words.mean() < 0.6


def test_lengths_that_are_none_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="length -3 is negative"):
        sample_accepted(MULTIPLES_OF_10, -3, rng)
    with pytest.raises(InputError, match="not an integer"):
        sample_accepted(MULTIPLES_OF_10, 1.5, rng)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at most 10,000,000 letters"):
        sample_accepted(MULTIPLES_OF_10, 10**12, rng)
    with pytest.raises(InputError, match="length -3 is negative"):
        sample_prefix_batch(MULTIPLES_OF_10, -3, 1, rng)


def test_a_length_without_words_names_the_nearest_ones() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match=r"no accepted word has length 15; the nearest lengths .* 10 and 20"):
        sample_accepted(MULTIPLES_OF_10, 15, rng)
    with pytest.raises(InputError, match="10 and 20"):
        sample_accepted_batch(MULTIPLES_OF_10, 15, 3, rng)
    two = Dfa.build("a", {0: {"a": 1}, 1: {"a": 2}}, start=0, accept=[2])
    with pytest.raises(InputError, match=r"no prefix of an accepted word has length 5; .* that has one is 2"):
        sample_prefix_batch(two, 5, 1, rng)
    nothing = Dfa.build("a", {}, start=0, accept=[])
    with pytest.raises(InputError, match="the language is empty"):
        sample_prefix_batch(nothing, 0, 1, rng)


def test_counts_of_words() -> None:
    rng = np.random.default_rng(0)
    assert sample_accepted_batch(PAIRS, 5, 0, rng).shape == (0, 5)
    with pytest.raises(InputError, match="-1 words"):
        sample_accepted_batch(PAIRS, 5, -1, rng)


def test_no_letters_at_all() -> None:
    only_empty = Dfa(
        alphabet=Alphabet(()), transitions=np.zeros((1, 0), int), start=0, accepting=np.array([True])
    )
    rng = np.random.default_rng(0)
    assert sample_accepted(only_empty, 0, rng) == ()
    assert sample_accepted_batch(only_empty, 0, 2, rng).shape == (2, 0)
    with pytest.raises(InputError, match="the nearest length that has one is 0"):
        sample_accepted(only_empty, 1, rng)


EVEN = Dfa.build("ab", lambda q, x: q ^ (x == "a"), start=0, accept=[0])
EVERYTHING = Dfa.build("ab", {0: {"a": 0, "b": 0}}, start=0, accept=[0])
# Everything but a^n: at each length there is one rejected word, which random edits hardly ever reach.
SOME_B = Dfa.build("ab", {0: {"a": 0, "b": 1}, 1: {"a": 1, "b": 1}}, start=0, accept=[1])


def scripts_to(word: Word, num_letters: int, edits: int) -> Counter[Word]:
    """All results of scripts with at most `edits` edits, with their numbers: by following every script."""
    found: Counter[Word] = Counter()

    def go_on(at: int, left: int, written: Word) -> None:
        if at == len(word):
            found[written] += 1
        else:
            go_on(at + 1, left, (*written, word[at]))
            if left:
                go_on(at + 1, left - 1, written)
                for letter in set(range(num_letters)) - {word[at]}:
                    go_on(at + 1, left - 1, (*written, letter))
        if left:
            for letter in range(num_letters):
                go_on(at, left - 1, (*written, letter))

    go_on(0, edits, ())
    return found


def near_misses(dfa: Dfa, length: int, edits: int) -> Counter[Word]:
    """All rejected words of a length, with the number of scripts that lead to them from accepted words."""
    found: Counter[Word] = Counter()
    for source in all_words(dfa.num_letters, length + edits):
        if dfa.accepts(source) and len(source) >= length - edits:
            for word, number in scripts_to(source, dfa.num_letters, edits).items():
                if len(word) == length and not dfa.accepts(word):
                    found[word] += number
    return found


@pytest.fixture(params=["rejection", "automaton", "rejection, always exact"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """One of the ways to draw; all have to give the same distribution."""
    if request.param == "automaton":
        monkeypatch.setattr(module, "_ROUNDS", ())
    else:
        monkeypatch.setattr(module, "_by_automaton", None)
    if request.param.endswith("exact"):
        monkeypatch.setattr(module, "error_bound", lambda *_: 1.0)
    return str(request.param)


@pytest.mark.parametrize(
    ("dfa", "length", "edits"),
    [
        (EVEN, 3, 1),
        (EVEN, 2, 2),
        (Dfa.build("a", lambda q, _: (q + 1) % 2, start=0, accept=[0]), 5, 2),
        (random_dfa(11, 4, 3), 2, 1),
        (random_dfa(2, 3, 2), 3, 2),
    ],
)
def test_scripts_are_uniform(way: str, dfa: Dfa, length: int, edits: int) -> None:
    weights = near_misses(dfa, length, edits)
    assert weights
    count = 10 * sum(weights.values()) // min(weights.values())
    rng = np.random.default_rng([length, edits])
    draws = [sample_near_miss(dfa, length, edits, rng) for _ in range(min(count, 2500))]
    assert_distribution(draws, weights)


@given(dfas(3, 2), st.integers(0, 3), st.integers(1, 2))
def test_it_is_refused_exactly_when_there_is_none(dfa: Dfa, length: int, edits: int) -> None:
    weights = near_misses(dfa, length, edits)
    rng = np.random.default_rng(0)
    if weights:
        assert sample_near_miss(dfa, length, edits, rng) in weights
    else:
        with pytest.raises(InputError):
            sample_near_miss(dfa, length, edits, rng)


def test_the_only_near_miss_of_a_length_is_found() -> None:
    rng = np.random.default_rng(0)
    assert sample_near_miss(SOME_B, 200, 1, rng) == (0,) * 200


def test_long_words() -> None:
    rng = np.random.default_rng(0)
    word = sample_near_miss(EVEN, 10_000, 3, rng)
    assert len(word) == 10_000
    assert not EVEN.accepts(word)


def test_what_cannot_be_is_said() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="is itself accepted"):
        sample_near_miss(EVERYTHING, 10, 2, rng)
    multiples = Dfa.build("a", lambda q, _: (q + 1) % 10, start=0, accept=[0])
    with pytest.raises(InputError, match=r"within 2 edits .* 10 and 20"):
        sample_near_miss(multiples, 15, 2, rng)
    for edits in (0, -1, 33):
        with pytest.raises(InputError, match=f"{edits} edits"):
            sample_near_miss(EVEN, 4, edits, rng)
    with pytest.raises(InputError, match="negative"):
        sample_near_miss(EVEN, -4, 1, rng)


def test_the_automaton_of_scripts_stops_at_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ROUNDS", ())
    with pytest.raises(BudgetExceeded, match="100 states"):
        sample_near_miss(random_dfa(0, 50, 2), 20, 2, np.random.default_rng(0), Budget(states=100))
