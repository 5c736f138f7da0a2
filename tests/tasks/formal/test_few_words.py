"""Small languages: listed completely, split by place, no split empty, nothing in two splits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from nerode.core import InputError
from nerode.languages import resolve_language
from nerode.records import TaskConfig
from nerode.tasks import build_task
from nerode.tasks.formal.few_words import FewWords, list_words
from nerode.tasks.task import SPLITS
from tests.tasks.formal.membership import MEMBER


@pytest.mark.parametrize("name", ["tomita-1", "tomita-3", "dyck-1", "anbn", "d-2"])
def test_all_words_are_listed(name):
    language = resolve_language(name)
    letters = language.alphabet.symbols
    tried = [
        word
        for length in range(2, 8)
        for word in itertools.product(range(2), repeat=length)
        if MEMBER[name]("".join(letters[x] for x in word))
    ]
    assert list_words(language, 2, 7) == tried


def test_many_words_are_not_listed():
    assert list_words(resolve_language("parity"), 1, 50) is None
    assert list_words(resolve_language("dyck-1"), 1, 50) is None
    assert len(list_words(resolve_language("parity"), 1, 8)) == 255
    assert list_words(resolve_language("parity"), 1, 8, most=254) is None


def test_of_five_words_three_are_trained_on():
    few = FewWords([(0,), (1,), (0, 0), (0, 1), (1, 1)])
    assert [few.split_of(w) for w in [(0,), (1,), (0, 0), (0, 1), (1, 1), (1, 0)]] == [
        *("train", "train", "validation", "train", "test"),
        None,
    ]
    assert few.words("train", 2).tolist() == [[0, 1]]
    assert few.words("validation", 1) is None


@pytest.mark.parametrize("kind", ["predict", "next"])
@pytest.mark.parametrize("name", ["tomita-1", "tomita-2", "aa-star", "aaaa-star", "abab-star", "anbn"])
def test_no_split_is_empty_and_none_has_a_word_of_another(kind, name):
    built = build_task(TaskConfig(name=f"{kind}-{name}"))
    rng = np.random.default_rng(0)
    seen = {split: set() for split in SPLITS}
    for split, length in itertools.product(SPLITS, range(1, 51)):
        if built._few.words(split, length) is None:
            with pytest.raises(InputError, match=f"no word of length {length} in the {split} split"):
                built.draw(split, length, 5, rng)
            continue
        batch = built.draw(split, length, 5, rng)
        assert built.split_of(batch) == [split] * 5
        seen[split] |= set(map(tuple, batch.inputs.tolist()))
    words = list_words(built.language, 1, 50)
    assert len(words) >= 12
    assert sum(map(len, seen.values())) == len(words)
    assert set().union(*seen.values()) == set(words)
    assert all(seen.values())
    assert built.test_lengths[0] <= 50 < built.test_lengths[1]


def test_a_range_without_words():
    with pytest.raises(InputError, match="no word from length 1 to 3"):
        build_task(TaskConfig(name="predict-aaaa-star", settings={"longest": 3}))
