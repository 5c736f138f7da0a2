"""Recognition: labels by definition, classes in balance, negatives near, splits disjoint."""

from __future__ import annotations

import numpy as np
import pytest

from nerode.core import InputError
from nerode.languages import resolve_language
from nerode.records import TaskConfig
from nerode.tasks import build_task
from nerode.tasks.formal.recognition import near_misses
from nerode.tasks.formal.source import word_source
from nerode.tasks.task import SPLITS
from tests.tasks.formal.membership import MEMBER


def task(language, **settings):
    return build_task(TaskConfig(name=f"recognise-{language}", settings=settings))


@pytest.mark.parametrize("labels", ["last", "all"])
@pytest.mark.parametrize("name", MEMBER)
def test_labels_by_definition(name, labels):
    built = task(name, labels=labels)
    letters = built.alphabet
    rng = np.random.default_rng(0)
    for length in (4, 9, 60):
        batch = built.sample(length, 12, rng)
        assert batch.mask.all() if labels == "all" else batch.mask.sum(1).tolist() == [1] * 12
        for word, targets, mask in zip(
            batch.inputs.tolist(), batch.targets.tolist(), batch.mask.tolist(), strict=True
        ):
            text = "".join(letters[x] for x in word)
            for place in range(1, length + 1):
                if mask[place - 1]:
                    assert targets[place - 1] == MEMBER[name](text[:place])


def test_half_of_the_words_are_in_the_language():
    built = task("tomita-4")
    shares = [
        built.sample(30, 101, np.random.default_rng(s)).targets[:, -1].double().mean().item()
        for s in range(9)
    ]
    assert all(50 / 101 <= share <= 51 / 101 for share in shares)
    trained = built.draw("train", 30, 64, np.random.default_rng(0)).targets[:, -1]
    assert 10 < trained.sum() < 54


def test_lengths_with_one_class_only():
    rng = np.random.default_rng(0)
    built = task("dyck-1")
    assert built.classes(9) == (False, True)
    assert not built.sample(9, 20, rng).targets[:, -1].any()
    built = task("aa-star")
    assert built.classes(60) == (True, False)
    assert built.sample(60, 5, rng).targets[:, -1].all()
    built = task("aaaa-star")
    with pytest.raises(InputError, match="nor one that is nearly in it"):
        built.sample(54, 1, rng)


@pytest.mark.parametrize("name", ["tomita-3", "dyck-1", "aa-star"])
def test_splits_are_disjoint(name):
    built = task(name)
    rng = np.random.default_rng(3)
    seen = {split: set() for split in SPLITS}
    for split in SPLITS:
        for length in (8, 9, 10, 14):
            try:
                batch = built.draw(split, length, 30, rng)
            except InputError:
                continue
            assert set(built.split_of(batch)) == {split}
            seen[split] |= set(map(tuple, batch.inputs.tolist()))
    assert all(seen.values())
    assert sum(map(len, seen.values())) == len(set().union(*seen.values()))


def test_settings_that_make_no_task():
    with pytest.raises(InputError, match="edits is 0"):
        task("parity", edits=0)
    with pytest.raises(InputError, match="not a range"):
        task("parity", shortest=9, longest=3)


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
