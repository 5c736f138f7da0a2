"""Recognition: labels by definition, classes in balance, negatives near, splits disjoint."""

from __future__ import annotations

import numpy as np
import pytest

from nerode.core import InputError
from nerode.records import TaskConfig
from nerode.tasks import build_task
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
