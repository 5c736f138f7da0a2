"""Counting with windows and clocks: searches and certificates never agree on one language, and name words."""

from __future__ import annotations

import pytest

from nerode.languages import Dfa, resolve_language
from nerode.verdict.potentials import find_counting, find_stable_pair
from tests.verdict.oracle import random_automaton


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize(
    ("name", "modulus", "window"),
    [("dyck-2-3", 1, 0), ("abab-star", 4, 0), ("tomita-4", 1, 1), ("even-pairs", 1, 0), ("aa-star", 2, 0)],
)
def test_counting_is_found(name: str, modulus: int, window: int, live: bool) -> None:
    dfa = resolve_language(name).dfa()
    assert find_stable_pair(dfa, live=live) is None
    found = find_counting(dfa, live=live, moduli=4, window=3)
    assert found is not None
    # To recognise, what was wrong may need one letter more.
    assert (found.modulus, found.window) in {(modulus, window), (modulus, window + (not live))}


@pytest.mark.parametrize("name", ["set-reset", "flip-flop", "u2", "tomita-3", "012-star-02-star", "parity"])
@pytest.mark.parametrize("live", [True, False])
def test_the_words_of_a_certificate_do_what_it_says(name: str, live: bool) -> None:
    language = resolve_language(name)
    dfa = language.dfa()
    pair = find_stable_pair(dfa, live=live)
    assert pair is not None
    assert find_counting(dfa, live=live, moduli=4, window=2) is None

    def run(state: int, word: tuple[int, ...]) -> int:
        for letter in word:
            state = int(dfa.transitions[state, letter])
        return state

    e, x = pair.idempotent, pair.word
    assert len(x) == len(e)
    assert run(pair.state, e) == pair.state
    assert run(pair.state, e + x + e) == pair.other != pair.state
    assert run(pair.other, e) == pair.other
    assert not live or (dfa.live[pair.state] and dfa.live[pair.other])


def decide_both(dfa: Dfa) -> tuple[bool, bool]:
    counting = find_counting(dfa, live=False, moduli=3, window=2)
    return counting is not None, find_stable_pair(dfa, live=False) is not None


def test_never_both_on_random_automata() -> None:
    found = [decide_both(random_automaton(seed, most_states=5)) for seed in range(60)]
    assert (True, True) not in found
    assert {(True, False), (False, True)} <= set(found)


@pytest.mark.slow
def test_one_of_both_on_many_random_automata() -> None:
    found = [decide_both(random_automaton(seed, most_states=6)) for seed in range(3_000, 3_400)]
    assert (True, True) not in found
    assert found.count((False, False)) <= 8
