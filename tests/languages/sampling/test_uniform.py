from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

from nerode.core import InputError
from nerode.languages.alphabet import Alphabet
from nerode.languages.dfa import Dfa
from nerode.languages.sampling import (
    sample_accepted,
    sample_accepted_batch,
    sample_prefix,
    sample_prefix_batch,
)
from tests.languages.uniformity import assert_distribution
from tests.strategies import random_dfa

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
    draws = [sample_prefix(PAIRS, length, rng) for _ in range(20 * len(prefixes))]
    assert_distribution(draws, dict.fromkeys(prefixes, 1))
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


@pytest.mark.parametrize("function", [sample_accepted, sample_prefix])
def test_lengths_that_are_none_are_refused(function) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="length -3 is negative"):
        function(MULTIPLES_OF_10, -3, rng)
    with pytest.raises(InputError, match="not an integer"):
        function(MULTIPLES_OF_10, 1.5, rng)
    with pytest.raises(InputError, match="at most 10,000,000 letters"):
        function(MULTIPLES_OF_10, 10**12, rng)


def test_a_length_without_words_names_the_nearest_ones() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match=r"no accepted word has length 15; the nearest lengths .* 10 and 20"):
        sample_accepted(MULTIPLES_OF_10, 15, rng)
    with pytest.raises(InputError, match="10 and 20"):
        sample_accepted_batch(MULTIPLES_OF_10, 15, 3, rng)
    two = Dfa.build("a", {0: {"a": 1}, 1: {"a": 2}}, start=0, accept=[2])
    with pytest.raises(InputError, match=r"no prefix of an accepted word has length 5; .* that has one is 2"):
        sample_prefix(two, 5, rng)
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
