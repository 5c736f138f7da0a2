"""Class tests against the definitions of the classes in terms of words, not of algebra."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from nerode.algebra.classes import piecewise
from nerode.algebra.classes.subject import ExaminedLanguage
from nerode.algebra.classes.table import CLASSES
from nerode.languages import Dfa
from nerode.languages.operations import reverse
from tests.algebra.semigroups import random_dfa
from tests.strategies import all_words

Word = tuple[int, ...]


def random_automata(seed: int, number: int, most_states: int = 4) -> list[Dfa]:
    rng = np.random.default_rng(seed)
    return [random_dfa(rng, most_states=most_states, most_letters=2) for _ in range(number)]


def decided(name: str, dfa: Dfa) -> tuple[bool, int | None]:
    found = CLASSES[name].decide(ExaminedLanguage(dfa))
    return found.holds, found.parameter


def same_answers(dfa: Dfa, words: list[Word], signature: Callable[[Word], object]) -> bool:
    """Whether words with equal signatures are all in the language or all outside."""
    answers: dict[object, bool] = {}
    return all(answers.setdefault(signature(w), dfa.accepts(w)) == dfa.accepts(w) for w in words)


def test_the_parameter_is_the_least_window() -> None:
    found = []
    for dfa in random_automata(1, 200):
        holds, k = decided("definite", dfa)
        words = list(all_words(dfa.num_letters, 8))
        working = [
            j
            for j in range(4)
            if same_answers(dfa, words, lambda w, j=j: w[len(w) - j :] if len(w) >= j else ("short", w))
        ]
        # Four states merge within three letters or never.
        assert working == ([j for j in range(4) if k <= j] if holds and k is not None else [])
        found.append(holds)
    assert 20 < sum(found) < 180


def factors(word: Word, k: int) -> frozenset[Word]:
    # Both ends are marked, also where a factor is a single letter.
    ends = max(1, k - 1)
    padded = (-1,) * ends + word + (-2,) * ends
    return frozenset(padded[i : i + k] for i in range(len(padded) - k + 1))


def test_strictly_local_languages_are_those_given_by_their_factors() -> None:
    found = []
    for dfa in random_automata(2, 150):
        holds, k = decided("strictly-local", dfa)
        words = list(all_words(dfa.num_letters, 9))
        working = []
        for j in (1, 2, 3, 4):
            allowed = frozenset[Word]().union(*(factors(w, j) for w in words if dfa.accepts(w)))
            if all(dfa.accepts(w) == (factors(w, j) <= allowed) for w in words if len(w) <= 6):
                working.append(j)
        expected = [j for j in (1, 2, 3, 4) if holds and k is not None and k <= j]
        assert working == expected, (dfa.transitions.tolist(), dfa.accepting.tolist())
        found.append(holds)
    assert 20 < sum(found) < 130


def subsequences(word: Word) -> frozenset[Word]:
    return frozenset(c for n in range(len(word) + 1) for c in itertools.combinations(word, n))


cached_subsequences = cache(subsequences)


def test_strictly_piecewise_languages_are_those_given_by_short_subsequences() -> None:
    found = []
    for dfa in random_automata(3, 250):
        holds, k = decided("strictly-piecewise", dfa)
        words = list(all_words(dfa.num_letters, 6))
        inside = {w for w in words if dfa.accepts(w)}
        assert holds == all(cached_subsequences(w) <= inside for w in inside)
        found.append(holds)
        if holds:
            working = [
                j
                for j in range(5)
                if all(
                    (w in inside) == all(v in inside for v in cached_subsequences(w) if len(v) <= j)
                    for w in words
                )
            ]
            assert k is not None
            assert working == [j for j in range(5) if k <= j]
    assert 20 < sum(found) < 230


def test_piecewise_testable_languages_do_not_tell_words_with_equal_subsequences_apart() -> None:
    """Three states and two letters: subsequences up to length two decide, or none do."""
    rng = np.random.default_rng(4)
    found = []
    for _ in range(150):
        dfa = random_dfa(rng, most_states=3, most_letters=2)
        words = list(all_words(dfa.num_letters, 8))

        def signature(w: Word) -> object:
            return frozenset(v for v in cached_subsequences(w) if len(v) <= 3)

        assert decided("piecewise-testable", dfa)[0] == same_answers(dfa, words, signature)
        found.append(decided("piecewise-testable", dfa)[0])
    assert 20 < sum(found) < 130


def test_locally_testable_languages_do_not_tell_words_with_equal_factors_apart() -> None:
    rng = np.random.default_rng(5)
    found = []
    for _ in range(150):
        dfa = random_dfa(rng, most_states=3, most_letters=2)
        words = list(all_words(dfa.num_letters, 9))
        holds = decided("locally-testable", dfa)[0]
        if holds:
            assert same_answers(dfa, words, lambda w: factors(w, 4))
        else:
            assert not same_answers(dfa, words, lambda w: factors(w, 2))
        found.append(holds)
    assert 20 < sum(found) < 130


def test_finite_languages_by_counting() -> None:
    for dfa in random_automata(6, 200):
        n = dfa.num_states
        long_words = [w for w in all_words(dfa.num_letters, 2 * n - 1) if len(w) >= n]
        # A language is infinite exactly when it has a word of length n … 2n-1.
        assert decided("finite", dfa)[0] == (not any(map(dfa.accepts, long_words)))


def test_commutative_languages_by_words() -> None:
    for dfa in random_automata(7, 150, most_states=3):
        words = list(all_words(dfa.num_letters, 6))
        assert decided("commutative", dfa)[0] == same_answers(dfa, words, lambda w: tuple(sorted(w)))


def test_l_trivial_languages_are_reversed_r_trivial_ones() -> None:
    for dfa in random_automata(8, 200):
        assert decided("l-trivial", dfa)[0] == decided("r-trivial", reverse(dfa))[0]
        for name in ("locally-testable", "locally-threshold-testable", "dot-depth-one", "da", "star-free"):
            assert decided(name, dfa)[0] == decided(name, reverse(dfa))[0], name


def plain_reversed(dfa: Dfa) -> list[list[int]]:
    """The automaton of the reversed language, set by set."""
    columns = ExaminedLanguage(dfa).columns.tolist()
    sets = [frozenset(np.flatnonzero(dfa.accepting).tolist())]
    edges = []
    for found in sets:
        images = [frozenset(q for q, target in enumerate(column) if target in found) for column in columns]
        sets += [image for image in dict.fromkeys(images) if image not in sets]
        edges.append([sets.index(image) for image in images])
    return edges


@pytest.mark.parametrize("bits", [1, 4_000_000])
def test_the_reversed_automaton_is_found_in_the_order_of_the_plain_search(
    bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(piecewise, "_BITS_AT_ONCE", bits)
    rng = np.random.default_rng(21)
    for _ in range(60):
        dfa = random_dfa(rng, most_states=7)
        count, edges = piecewise._accepted_from(ExaminedLanguage(dfa))
        assert edges == plain_reversed(dfa)
        assert count == len(edges)
