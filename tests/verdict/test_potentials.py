"""Counting with windows and clocks: searches and certificates never agree on one language, and name words."""

from __future__ import annotations

import numpy as np
import pytest

from nerode.core import Budget
from nerode.languages import Alphabet, Dfa, RegularLanguage, minimise, resolve_language
from nerode.verdict import Facts, VerdictTask, collect_facts
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


def facts_of(dfa: Dfa, task: VerdictTask) -> Facts:
    language = RegularLanguage(name="drawn", automaton=minimise(dfa), convention="")
    return collect_facts(language, task=task, budget=Budget(seconds=10))


def test_a_pair_that_is_merged_once_may_be_told_apart_by_a_window() -> None:
    """An earlier condition asked for pairs that stay apart somewhere, not on a cycle of merged pairs."""
    table = np.array([[1, 2, 3], [0, 0, 2], [2, 2, 2], [0, 1, 0]])
    dfa = Dfa(alphabet=Alphabet("abc"), transitions=table, start=0, accepting=np.array([0, 1, 1, 0], bool))
    for task in VerdictTask:
        facts = facts_of(dfa, task)
        assert facts.overwrites is True
        assert facts.overwrites_beyond_windows is False
        assert find_counting(minimise(dfa), live=task is VerdictTask.PREDICT, moduli=2, window=2) is not None


@pytest.mark.parametrize("task", list(VerdictTask))
def test_merged_pairs_are_not_told_apart_by_counting(task: VerdictTask) -> None:
    found, live = 0, task is VerdictTask.PREDICT
    for seed in range(80):
        facts = facts_of(random_automaton(20_261_119 + seed, most_states=5), task)
        if facts.automaton is None or not facts.overwrites:
            continue
        assert find_counting(facts.automaton, live=live, moduli=2, window=0) is None
        if facts.overwrites_beyond_windows:
            found += 1
            assert find_counting(facts.automaton, live=live, moduli=2, window=2) is None
    assert found > 5
