"""Walks of an automaton against its own step."""

from __future__ import annotations

import numpy as np

from nerode.languages import resolve_language
from nerode.tasks.walk import walk


def test_states_are_those_of_the_automaton():
    dfa = resolve_language("tomita-3").automaton
    words = np.random.default_rng(0).integers(0, dfa.num_letters, (30, 25))
    states = walk(dfa.transitions, words, start=dfa.start)
    for word, row in zip(words.tolist(), states.tolist(), strict=True):
        state = dfa.start
        for letter, reached in zip(word, row, strict=True):
            state = int(dfa.transitions[state, letter])
            assert reached == state


def test_empty_words_have_no_states():
    assert walk(np.zeros((3, 2), dtype=np.int32), np.zeros((4, 0), dtype=np.int64)).shape == (4, 0)
