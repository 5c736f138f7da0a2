"""What may follow the prefixes of any words, against the machine of the language, letter by letter."""

from __future__ import annotations

import collections

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nerode.core import InputError
from nerode.languages import resolve_language
from nerode.tasks.formal.source import (
    AutomatonWords,
    BracketWords,
    CounterWords,
    balanced_words,
    last_open,
    stack_tops,
    word_source,
)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("tomita-3", AutomatonWords),
        ("dyck-2-3", AutomatonWords),
        ("ngram-seed", AutomatonWords),
        ("dyck-2", BracketWords),
        ("dyck-8-10", BracketWords),
        ("dyck-1", CounterWords),
        ("shuffle-2", CounterWords),
        ("boolean-3", CounterWords),
        ("anbncn", CounterWords),
        ("majority", CounterWords),
    ],
)
def test_prefixes_of_any_words(name, kind):
    language = resolve_language(name)
    source = word_source(language)
    assert isinstance(source, kind)
    rng = np.random.default_rng(0)
    words = rng.integers(0, len(language.alphabet), (150, 8))
    # Random words soon are beyond hope; some are words of the language with one letter changed.
    length = {"anbncn": 9, "boolean-3": 9, "ngram-seed": 14}.get(name, 8)
    edited = source.words(length, 50, rng)
    edited[np.arange(50), rng.integers(0, length, 50)] = rng.integers(0, len(language.alphabet), 50)
    for tried in (words, edited):
        legal, accepted = source.legal(tried), source.accepted(tried)
        for word, follows, inside in zip(tried.tolist(), legal, accepted, strict=True):
            machine = language.legal_along(word)[1:]
            assert [set(np.flatnonzero(row[:-1]).tolist()) for row in follows] == [m.symbols for m in machine]
            assert inside.tolist() == follows[:, -1].tolist() == [m.end for m in machine]


@pytest.mark.parametrize("name", ["tomita-2", "dyck-1", "dyck-2", "anbncn", "boolean-3", "ngram-seed"])
def test_which_lengths_have_words(name):
    source = word_source(resolve_language(name))
    wanted = {
        **{key: [0, 2, 4, 6, 8, 10, 12, 14] for key in ("tomita-2", "dyck-1", "dyck-2")},
        "anbncn": [3, 6, 9, 12],
        "boolean-3": list(range(1, 15)),
        "ngram-seed": [14],
    }[name]
    assert [n for n in range(15) if source.has(n)] == wanted


def run_stack(word, depth):
    """Pairs of how many are open and the last open kind after each letter; (-1, -1) once it is too late."""
    stack, found, dead = [], [], False
    for letter in word:
        kind, closes = divmod(letter, 2)
        if closes:
            dead = dead or not stack or stack.pop() != kind
        else:
            stack.append(kind)
            dead = dead or (depth is not None and len(stack) > depth)
        found.append((-1, -1) if dead else (len(stack), stack[-1] if stack else -1))
    return found


@pytest.mark.parametrize(
    ("kinds", "depth", "length"), [(1, None, 2), (1, 3, 20), (2, None, 30), (3, 2, 16), (8, 10, 60)]
)
def test_words_are_balanced(kinds, depth, length):
    words = balanced_words(kinds, depth, length, 50, np.random.default_rng(0))
    assert words.shape == (50, length)
    tops = last_open(words)
    for word, found in zip(words.tolist(), tops.tolist(), strict=True):
        states = run_stack(word, depth)
        assert states[-1] == (0, -1)
        assert all(height >= 0 for height, _ in states)
        assert found == [top for _, top in states]
    assert set((words // 2).ravel().tolist()) == set(range(kinds))


@pytest.mark.parametrize(("depth", "number"), [(None, 14 * 16), (2, 8 * 16)])
def test_all_words_are_as_likely(depth, number):
    words = balanced_words(2, depth, 8, 200 * number, np.random.default_rng(1))
    counts = collections.Counter(map(tuple, words.tolist()))
    assert len(counts) == number
    assert min(counts.values()) > 130
    assert max(counts.values()) < 280


@given(st.lists(st.integers(0, 5), min_size=1, max_size=14), st.sampled_from([None, 1, 2, 4]))
def test_stacks_of_any_words(word, depth):
    depths, tops = stack_tops(np.array([word, word]), depth)
    assert list(zip(depths[1].tolist(), tops[1].tolist(), strict=True)) == run_stack(word, depth)


def test_odd_lengths_and_letters_below_zero_are_refused():
    with pytest.raises(InputError, match="even length"):
        balanced_words(2, None, 3, 1, np.random.default_rng(0))
    with pytest.raises(InputError, match="from 0 on"):
        stack_tops(np.array([[-1]]), None)
