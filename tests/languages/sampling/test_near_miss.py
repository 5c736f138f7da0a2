from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nerode.core import Budget, BudgetExceeded, InputError
from nerode.languages.alphabet import Word
from nerode.languages.dfa import Dfa
from nerode.languages.sampling import near_miss as module
from nerode.languages.sampling.near_miss import sample_near_miss
from tests.languages.uniformity import assert_distribution
from tests.strategies import all_words, dfas, random_dfa

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
