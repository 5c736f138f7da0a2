"""The text of the n-gram paper: sentences by their templates, and completion by models that are known."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from nerode.core import InputError
from nerode.records import RunSpec, TaskConfig
from nerode.tasks import build_task
from nerode.tasks.task import SPLITS
from nerode.training.data import FixedData

TEMPLATES = {
    14: r"\w+ woke at \w+ o'clock and was too \w+ to go back to (sleep|bed)",
    20: r"He (got|stood|rose) up and (put|pulled) on his \w+ "
    r"because he didn't want to \w+ into the \w+ in his \w+",
}


def task(**settings):
    return build_task(TaskConfig(name="ngram-text", settings=settings))


def text(built, word):
    return " ".join(built.alphabet[x] for x in word)


@pytest.mark.parametrize("length", [14, 20])
def test_sentences_are_those_of_a_template(length):
    built = task()
    batch = built.sample(length, 300, np.random.default_rng(0))
    sentences = [text(built, word) for word in batch.inputs.tolist()]
    assert all(re.fullmatch(TEMPLATES[length], s) for s in sentences)
    assert len(set(sentences)) > 250
    assert (built.letters, built.outputs, built.test_lengths) == (79, 80, (14, 20))
    assert [n for n in range(1, 40) if built.trains_on(n)] == [14, 20]


def test_words_of_a_slot_are_as_likely():
    built = task()
    names = built.sample(14, 4000, np.random.default_rng(1)).inputs[:, 0].bincount(minlength=79)
    assert sorted(names.tolist())[-11] == 0
    assert names.max() < 480
    assert names[names > 0].min() > 320


def test_splits_are_disjoint():
    built = task()
    rng = np.random.default_rng(2)
    for length in (14, 20):
        drawn = [set(map(tuple, built.draw(s, length, 150, rng).inputs.tolist())) for s in SPLITS]
        assert not (drawn[0] & drawn[1])
        assert not (drawn[0] & drawn[2])
        assert not (drawn[1] & drawn[2])


def knows(built, follow):
    """A model that has read everything and gives some scores to what may follow."""

    def answer(inputs, state):
        read = [
            [*before, *word]
            for before, word in zip(state or [[]] * len(inputs), inputs.tolist(), strict=True)
        ]
        scores = torch.full((*inputs.shape, 80), -30.0)
        for row, words in enumerate(read):
            legal = built.language.legal_along(words)[-1]
            for symbol in [*legal.symbols, *([79] if legal.end else [])]:
                scores[row, -1, symbol] = follow
        return scores, read

    return answer


def test_a_model_that_knows_the_language_completes_everything():
    built = task(completions=40)
    found = built.examine(knows(built, 1.0), np.random.default_rng(3))
    assert (found["greedy"], found["sampled"]) == (1.0, 1.0)
    assert re.fullmatch("|".join(TEMPLATES.values()), found["greedy_examples"][0]["text"])


def test_greedy_and_sampled_completions_differ():
    built = task(completions=20)
    # Legal words are the most likely, but all the others together come nearly as often.
    found = built.examine(knows(built, -26.0), np.random.default_rng(4))
    assert found["greedy"] == 1.0
    assert found["sampled"] < 0.5


def test_a_model_that_never_ends_fails():
    built = task(completions=4)

    def babble(inputs, state):
        return torch.nn.functional.one_hot(inputs, 80).float() * 40, None

    found = built.examine(babble, np.random.default_rng(5))
    assert (found["greedy"], found["sampled"]) == (0.0, 0.0)
    sentence = built.complete(babble, np.zeros((1, 6), dtype=np.int64), "greedy", np.random.default_rng(0))
    assert sentence == [(0,) * 30]


def test_prefixes_are_of_unseen_sentences_half_of_each_template():
    built = task(completions=31)
    prefixes = built.prefixes(np.random.default_rng(6))
    assert prefixes.shape == (31, 6)
    assert [text(built, p).startswith("He ") for p in prefixes.tolist()] == [False] * 15 + [True] * 16
    with pytest.raises(InputError, match="prefix is 14"):
        task(prefix=14)
    with pytest.raises(InputError, match="completions is 1"):
        task(completions=1)


@pytest.mark.parametrize(("sample", "counts"), [(40, [20, 20]), (7, [4, 3])])
def test_a_fixed_sample_has_half_of_each_template(sample, counts):
    data = FixedData(task(), RunSpec(batch=4, epochs=1, sample=sample))
    assert [len(group) for group in data.groups] == counts
    assert [group.inputs.shape[1] for group in data.groups] == [14, 20]
