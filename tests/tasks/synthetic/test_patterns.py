"""Copying and denoising: the pattern is read off the raw sequence; both directions; splits."""

from __future__ import annotations

import numpy as np
import pytest

from nerode.core import InputError, UnknownName
from nerode.records import TaskConfig
from nerode.tasks import build_task
from nerode.tasks.task import SPLITS


def task(name, **settings):
    return build_task(TaskConfig(name=name, settings=settings))


def written(batch, symbols):
    """Each sequence as text: digits, `_` for the blank, `!` for the signal; its answers, `.` for none."""
    letters = [*map(str, range(symbols)), "_", "!"]
    for word, targets, mask in zip(
        batch.inputs.tolist(), batch.targets.tolist(), batch.mask.tolist(), strict=True
    ):
        answers = "".join(str(t) if m else "." for t, m in zip(targets, mask, strict=True))
        yield "".join(letters[x] for x in word), answers


@pytest.mark.parametrize("name", ["copying", "denoising"])
@pytest.mark.parametrize(("pattern", "blanks"), [(1, 0), (1, 7), (4, 0), (5, 12), (10, 50)])
def test_the_pattern_comes_back(name, pattern, blanks):
    batch = task(name).compose(pattern, blanks, 40, np.random.default_rng(pattern))
    for text, answers in written(batch, 8):
        before, after = text.split("!")
        assert len(before) == pattern + blanks
        assert before.count("_") == blanks
        assert after == "_" * (pattern - 1)
        assert answers == "." * len(before) + before.replace("_", "")
        if name == "copying":
            assert before.endswith("_" * blanks)


def test_blanks_are_scattered_evenly():
    batch = task("denoising").compose(3, 9, 8000, np.random.default_rng(0))
    share = (batch.inputs[:, :12] != 8).double().mean(0).numpy()
    assert np.allclose(share, 0.25, atol=0.03)


@pytest.mark.parametrize("name", ["copying", "denoising"])
def test_longer_sequences_have_more_blanks(name):
    built = task(name)
    assert (built.letters, built.outputs, built.training_lengths) == (10, 8, (30, 70))
    assert [n for n in range(100) if built.trains_on(n)] == [30, 40, 50, 60, 70]
    assert built.test_lengths == (70, 120, 270, 520)
    assert [built.sizes(n) for n in built.test_lengths] == [(10, 50), (10, 100), (10, 250), (10, 500)]
    with pytest.raises(InputError, match="no sequence of length 19"):
        built.sample(19, 1, np.random.default_rng(0))


@pytest.mark.parametrize("name", ["copying-patterns", "denoising-patterns"])
def test_longer_sequences_have_longer_patterns(name):
    built = task(name)
    assert [n for n in range(100) if built.trains_on(n)] == [54, 58, 62, 66, 70]
    assert [built.sizes(n) for n in built.test_lengths] == [(10, 50), (20, 50), (50, 50), (100, 50)]
    with pytest.raises(InputError, match="no sequence of length 53"):
        built.sample(53, 1, np.random.default_rng(0))


def test_both_directions_are_axes_of_one_task():
    built = task("copying-small")
    blanks, pattern = built.axes
    assert (blanks.name, blanks.trained, blanks.values) == ("blanks", (4, 8, 12, 16, 20), (20, 40, 100, 200))
    assert (pattern.name, pattern.trained, pattern.values) == ("pattern", (5,), (5, 10, 25, 50))
    rng = np.random.default_rng(1)
    for text, _ in written(built.draw_at("pattern", 10, 6, rng), 4):
        assert [len(text), text.count("_")] == [20 + 2 * 10, 20 + 9]
    for text, _ in written(built.draw_at("blanks", 100, 6, rng), 4):
        assert [len(text), text.count("_")] == [100 + 2 * 5, 100 + 4]
    with pytest.raises(UnknownName, match="did you mean pattern"):
        built.draw_at("patern", 3, 1, rng)
    with pytest.raises(InputError, match="make no sequence"):
        built.draw_at("pattern", 0, 1, rng)


def test_a_trained_value_of_an_axis_is_tested_with_sequences_of_the_test_split():
    built = task("copying", patterns=(2,), blanks=(3,), symbols=8)
    batch = built.draw_at("blanks", 3, 100, np.random.default_rng(2))
    assert set(built.split_of(batch)) == {"test"}
    assert set(built.split_of(built.draw_at("pattern", 2, 50, np.random.default_rng(2)))) == {"test"}


@pytest.mark.parametrize("name", ["copying-small", "denoising-small", "copying-small-patterns"])
def test_splits_are_disjoint(name):
    built = task(name)
    rng = np.random.default_rng(3)
    for length in filter(built.trains_on, range(25, 31)):
        drawn = [{tuple(w) for w in built.draw(s, length, 200, rng).inputs.tolist()} for s in SPLITS]
        assert len(set.union(*drawn)) == sum(map(len, drawn))


def test_settings_that_make_no_task():
    with pytest.raises(InputError, match="mix one of them"):
        task("copying", patterns=(1, 2), blanks=(1, 2))
    with pytest.raises(InputError, match="rising numbers from 1 on"):
        task("copying", patterns=(0,))
    with pytest.raises(InputError, match="rising numbers from 0 on"):
        task("copying", blanks=())
    with pytest.raises(InputError, match="rising numbers"):
        task("denoising", blanks=(5, 5))
    with pytest.raises(InputError, match="symbols is 0"):
        task("copying", symbols=0)
