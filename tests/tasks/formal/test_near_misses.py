"""Near misses are not in the language, and a word of the language is near them."""

from __future__ import annotations

import numpy as np
import pytest

from nerode.core import InputError
from nerode.languages import resolve_language
from nerode.tasks.formal.near_misses import near_misses
from nerode.tasks.formal.source import word_source
from tests.tasks.formal.membership import MEMBER


def neighbours(word, alphabet):
    """All texts that are one edit away."""
    for place in range(len(word) + 1):
        yield from (word[:place] + letter + word[place:] for letter in alphabet)
        if place < len(word):
            yield word[:place] + word[place + 1 :]
            yield from (word[:place] + letter + word[place + 1 :] for letter in alphabet)


def draw(name, length, edits, count=60):
    language = resolve_language(name)
    letters = language.alphabet.symbols
    words = near_misses(
        word_source(language), len(letters), length, edits, count, np.random.default_rng(length)
    )
    assert words.shape == (count, length)
    return ["".join(letters[x] for x in word) for word in words.tolist()], letters


@pytest.mark.parametrize(
    "name", ["tomita-1", "tomita-3", "tomita-5", "012-star-02-star", "dyck-1", "dyck-2", "shuffle-2", "anbn"]
)
@pytest.mark.parametrize("length", [7, 12])
def test_one_edit_makes_them_words(name, length):
    texts, letters = draw(name, length, 1)
    for text in set(texts):
        assert not MEMBER[name](text)
        assert any(MEMBER[name](other) for other in neighbours(text, letters))
    assert len(set(texts)) > 4


def test_two_edits_reach_further():
    texts, letters = draw("tomita-2", 10, 2)
    distances = set()
    for text in texts:
        near = set(neighbours(text, letters))
        if any(MEMBER["tomita-2"](other) for other in near):
            distances.add(1)
        else:
            assert any(MEMBER["tomita-2"](w) for other in near for w in neighbours(other, letters))
            distances.add(2)
    assert distances == {1, 2}


def test_where_there_is_none_it_is_said():
    with pytest.raises(InputError, match="itself accepted"):
        draw("aa-star", 6, 1)
    with pytest.raises(InputError, match="no word of the language is 1 edits away from length 10"):
        draw("aaaa-star", 10, 1)
    texts, _ = draw("aa-star", 7, 1)
    assert set(texts) == {"a" * 7}


def one_edit_away(word):
    letters = "ab"
    places = range(len(word) + 1)
    yield from (word[:i] + c + word[i:] for i in places for c in letters)
    yield from (word[:i] + word[i + 1 :] for i in places[:-1])
    yield from (word[:i] + c + word[i + 1 :] for i in places[:-1] for c in letters)


def test_where_edits_rarely_lead_out_there_are_still_many_words():
    source = word_source(resolve_language("contains-abaab"))
    drawn = near_misses(source, 2, 50, 1, 40, np.random.default_rng(0))
    words = {"".join("ab"[x] for x in row) for row in drawn.tolist()}
    assert len(words) == 40
    for word in words:
        assert len(word) == 50
        assert "abaab" not in word
        assert any("abaab" in other for other in one_edit_away(word))
