"""Words to train on: from a pool that depends on nothing but the language, in one split only."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from nerode.core import InputError
from nerode.languages import resolve_language
from nerode.records import TaskConfig
from nerode.tasks import build_task
from nerode.tasks.formal.language_task import FewWords, LengthBin, length_bins, list_words
from nerode.tasks.task import SPLITS
from tests.tasks.formal.membership import MEMBER


def task(name, **settings):
    return build_task(TaskConfig(name=name, settings=settings))


@pytest.mark.parametrize("name", ["predict-tomita-3", "next-dyck-1", "predict-a5", "states-s3"])
def test_splits_are_disjoint(name):
    built = task(name)
    rng = np.random.default_rng(0)
    for length in (10, 16, 24):
        drawn = {s: built.draw(s, length, 40, rng) for s in SPLITS}
        words = {s: set(map(tuple, b.inputs.tolist())) for s, b in drawn.items()}
        assert not words["train"] & words["validation"]
        assert not words["train"] & words["test"]
        assert not words["validation"] & words["test"]
        assert all(set(built.split_of(batch)) == {s} for s, batch in drawn.items())
        assert all(batch.inputs.shape == (40, length) for batch in drawn.values())


@pytest.mark.parametrize("name", ["predict-tomita-3", "predict-a5", "recognise-parity", "next-shuffle-2"])
def test_a_batch_depends_on_the_generator_alone(name):
    first, second = task(name), task(name)
    for seed in (5, 6, 7):
        second.draw("train", 20, 8, np.random.default_rng(seed + 1))
        ours = first.draw("train", 20, 8, np.random.default_rng(seed))
        theirs = second.draw("train", 20, 8, np.random.default_rng(seed))
        assert torch.equal(ours.inputs, theirs.inputs)
        assert torch.equal(ours.targets, theirs.targets)


def test_labels_of_the_pool_are_those_of_the_words():
    for name in ("predict-tomita-3", "predict-a5", "next-dyck-2", "recognise-tomita-5"):
        built = task(name)
        batch = built.draw("train", 24, 32, np.random.default_rng(1))
        again = built.label(batch.inputs.numpy())
        assert torch.equal(batch.targets, again.targets)
        assert torch.equal(batch.mask, again.mask)


def test_the_pool_has_about_as_many_words_as_asked_for():
    built = task("predict-tomita-4", pool=256)
    words = {
        tuple(w)
        for seed in range(60)
        for w in built.draw("train", 40, 50, np.random.default_rng(seed)).inputs.tolist()
    }
    assert 250 <= len(words) <= 256
    fresh = task("predict-tomita-4", pool=0)
    words = {
        tuple(w)
        for seed in range(20)
        for w in fresh.draw("train", 40, 50, np.random.default_rng(seed)).inputs.tolist()
    }
    assert len(words) > 990


@pytest.mark.parametrize("count", [65, 200, 256, 257, 500])
@pytest.mark.parametrize("name", ["predict-tomita-4", "predict-a5"])
def test_large_batches_have_no_word_twice(name, count):
    built = task(name)
    batch = built.draw("train", 40, count, np.random.default_rng(0))
    assert len(batch) == len(set(map(tuple, batch.inputs.tolist()))) == count
    assert set(built.split_of(batch)) == {"train"}
    assert torch.equal(batch.targets, built.label(batch.inputs.numpy()).targets)


def test_settings_that_make_no_task():
    with pytest.raises(InputError, match="pool is -1"):
        task("predict-parity", pool=-1)
    with pytest.raises(InputError, match="not a range"):
        task("predict-parity", shortest=0)
    with pytest.raises(InputError, match="for testing only"):
        task("predict-parity").draw("train", 51, 1, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("name", "lengths"),
    [
        ("predict-tomita-3", (50, 100, 150, 500)),
        ("predict-dyck-1", (50, 100, 150, 500)),
        ("predict-aaaa-star", (40, 100, 148, 500)),
        ("predict-ngram-seed", (20,)),
        ("recognise-012-star-02-star", (50, 100, 150, 500)),
        ("recognise-ngram-seed", (21,)),
        ("states-tomita-2", (50, 100, 150, 500)),
        ("states-ngram-seed", (20,)),
    ],
)
def test_the_longest_tested_length_of_each_bin_has_words(name, lengths):
    built = task(name)
    assert built.test_lengths == lengths
    for length in lengths:
        assert built.has(length)
        assert len(built.draw("test", length, 2, np.random.default_rng(0))) == 2
    assert built.has(47) == (name in {"recognise-012-star-02-star", "predict-tomita-3", "states-tomita-2"})


def test_the_bins_of_the_papers():
    names = [b.name for b in length_bins(1, 50)]
    assert names == ["1-50", "51-100", "101-150", "451-500"]
    assert [b.name for b in build_task(TaskConfig(name="predict-tomita-3")).bins] == names
    assert [b.name for b in length_bins(3, 40, longer=(1,))] == ["3-40", "41-80"]
    with pytest.raises(InputError, match="not a range"):
        LengthBin(low=3, high=2)


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


def test_one_round_shows_the_split_of_the_only_word_of_a_length(monkeypatch):
    built = task("language-prediction", language="anbncndn", longest=800)

    def drawn(split, length):
        try:
            return built.draw(split, length, 20, np.random.default_rng(0)).inputs.tolist()
        except InputError as problem:
            return str(problem)

    lengths = range(400, 460, 4)
    once = [drawn(split, length) for split in SPLITS for length in lengths]
    monkeypatch.setattr(type(built), "has_one_word", lambda self, length: False)
    assert once == [drawn(split, length) for split in SPLITS for length in lengths]
    assert sum(isinstance(words, list) for words in once) == len(lengths)
    assert not task("language-recognition", language="anbncndn").has_one_word(8)
