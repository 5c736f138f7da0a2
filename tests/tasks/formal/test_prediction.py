"""Which symbols may follow: against definitions written down again, by trying all continuations."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch

from nerode.core import InputError, UnknownName
from nerode.languages.bestiary import BESTIARY
from nerode.records import TaskConfig
from nerode.tasks import build_task
from nerode.tasks.table import all_tasks
from nerode.tasks.task import Memory
from tests.tasks.formal.membership import MEMBER, may_continue


def task(language, **settings):
    return build_task(TaskConfig(name=f"predict-{language}", settings=settings))


@functools.cache
def legal(name, prefix, alphabet, most):
    following = [may_continue(name, prefix + letter, alphabet, most) for letter in alphabet]
    return [*following, MEMBER[name](prefix)]


@pytest.mark.parametrize("name", MEMBER)
def test_the_symbols_that_may_follow(name):
    built = task(name)
    alphabet = "".join(built.alphabet)
    longest = 6 if len(alphabet) < 4 else 4
    rng = np.random.default_rng(0)
    checked = 0
    for length in range(1, longest + 1):
        if not any(MEMBER[name](w) for w in all_words(alphabet, length)):
            with pytest.raises(InputError, match=r"no .*word"):
                built.sample(length, 1, rng)
            continue
        batch = built.sample(length, 30, rng)
        assert batch.inputs.shape == (30, length)
        assert batch.mask.all()
        for word, targets in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
            text = "".join(alphabet[letter] for letter in word)
            assert MEMBER[name](text)
            for place, target in enumerate(targets, start=1):
                assert target == legal(name, text[:place], alphabet, longest), text[:place]
                checked += 1
    assert checked > 50


def all_words(alphabet, length):
    words = [""]
    for _ in range(length):
        words = [w + letter for w in words for letter in alphabet]
    return words


def test_long_words_of_the_two_languages_that_a_public_data_set_labels_wrongly():
    rng = np.random.default_rng(1)
    built = task("012-star-02-star")
    batch = built.sample(90, 40, rng)
    for word, targets in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
        for place in range(1, 91):
            last = [letter for letter in word[:place] if letter != 2][-1:]
            assert targets[place - 1] == [True, True, True, last == [0]]
    built = task("tomita-3")
    batch = built.sample(90, 40, rng)
    for word, targets in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
        for place in range(1, 91):
            # An odd run of 1s and an odd run of 0s at the end: only another 0 saves the word.
            text = "".join(map(str, word[:place]))
            zeros = len(text) - len(text.rstrip("0"))
            ones = len(text[: place - zeros]) - len(text[: place - zeros].rstrip("1"))
            doomed = bool(ones % 2 and zeros % 2)
            assert targets[place - 1] == [True, not doomed, not doomed]


@pytest.mark.parametrize(
    "name", ["shuffle-4", "boolean-3", "boolean-5", "anbncn", "dyck-8-10", "dyck-2", "majority", "ngram-seed"]
)
def test_many_words_at_once_as_the_machine_of_the_language_says_letter_by_letter(name):
    built = task(name)
    length = {"anbncn": 45, "boolean-3": 41, "boolean-5": 41, "ngram-seed": 20}.get(name, 40)
    batch = built.sample(length, 8, np.random.default_rng(2))
    for word, targets in zip(batch.inputs.tolist(), batch.targets.numpy(), strict=True):
        assert built.language.accepts(word)
        for found, row in zip(built.language.legal_along(word)[1:], targets, strict=True):
            assert set(np.flatnonzero(row[:-1]).tolist()) == found.symbols
            assert row[-1] == found.end


def test_every_language_of_the_bestiary_has_a_preset():
    presets = all_tasks()[1]
    assert all(f"predict-{name}" in presets for name in BESTIARY)
    assert task("tomita-3").memory is Memory.STATEFUL
    assert task("shuffle-2").memory is Memory.COUNTING


def test_languages_of_the_user(tmp_path):
    built = build_task(TaskConfig(name="language-prediction", settings={"language": "(ab|c)*d"}))
    assert built.alphabet == ("a", "b", "c", "d")
    text = "0 1 a\n1 0 a\n1\n"
    path = tmp_path / "odd.att"
    path.write_text(text, encoding="utf-8")
    built = build_task(TaskConfig(name="language-prediction", settings={"language": str(path)}))
    batch = built.sample(7, 2, np.random.default_rng(0))
    assert batch.targets[:, :, -1].tolist() == [[True, False] * 3 + [True]] * 2
    with pytest.raises(UnknownName, match="did you mean tomita-"):
        build_task(TaskConfig(name="language-prediction", settings={"language": "tomita-9"}))


def next_task(language, **settings):
    return build_task(TaskConfig(name=f"next-{language}", settings=settings))


@pytest.mark.parametrize("name", ["tomita-3", "dyck-1", "dyck-2-3", "boolean-3", "flip-flop"])
def test_targets_are_the_word_moved_by_one_and_what_may_follow(name):
    built = next_task(name)
    length = 41 if name == "boolean-3" else 40
    batch = built.sample(length, 20, np.random.default_rng(0))
    prediction = build_task(TaskConfig(name=f"predict-{name}")).label(batch.inputs.numpy())
    assert torch.equal(batch.targets[..., 1:].bool(), prediction.targets)
    for word, targets in zip(batch.inputs.tolist(), batch.targets[..., 0].tolist(), strict=True):
        assert targets == [*word[1:], len(built.alphabet)]
    # The symbol that comes is one that may come.
    assert (batch.targets[..., 1:].gather(-1, batch.targets[..., :1].long()) == 1).all()


def test_a_legal_symbol_is_right_and_no_other():
    built = next_task("dyck-1")
    batch = built.label(np.array([[0, 1, 0, 1]]))
    scores = torch.zeros(1, 4, 3)
    scores[0, :, 1] = 1.0  # always close
    assert built.correct(scores, batch).tolist() == [[True, False, True, False]]
    scores[0, :, 2] = 2.0  # always end
    assert built.correct(scores, batch).tolist() == [[False, True, False, True]]


def test_the_loss_is_that_of_the_symbol_that_comes():
    built = next_task("dyck-1")
    batch = built.label(np.array([[0, 1, 0, 1]]))
    scores = torch.full((1, 4, 3), -50.0)
    for place, symbol in enumerate([1, 0, 1, 2]):
        scores[0, place, symbol] = 50.0
    assert built.loss(scores, batch).item() == pytest.approx(0.0, abs=1e-6)
    assert built.loss(torch.zeros(1, 4, 3), batch).item() == pytest.approx(np.log(3))
