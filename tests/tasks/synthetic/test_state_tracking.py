"""Products re-derived letter by letter; pairs always trained; what is read, and by how many letters."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from sympy.combinatorics import Permutation

from nerode.core import InputError, UnknownName
from nerode.languages.groups import finite_monoid
from nerode.records import TaskConfig
from nerode.tasks import build_task
from nerode.tasks.task import SPLITS


def task(name="state-tracking", **settings):
    return build_task(TaskConfig(name=name, settings=settings))


def as_permutation(cycles, points):
    written = (
        [[int(p) - 1 for p in cycle] for cycle in cycles.strip("()").split(")(")] if cycles != "e" else []
    )
    return Permutation(written, size=points)


@pytest.mark.parametrize("name", ["s3", "a5", "s5-swaps", "a5-generators", "s4-generators"])
def test_products_of_permutations_by_sympy(name):
    built = task(name)
    points = int(built.settings.monoid[1:])
    batch = built.sample(9, 12, np.random.default_rng(0))
    for word, targets in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
        product = Permutation(size=points)
        for letter, target in zip(word, targets, strict=True):
            product = product * as_permutation(built.alphabet[letter], points)  # the left one acts first
            assert product == as_permutation(built.elements[target], points)
    assert batch.mask.all()


def test_sums_of_residues():
    built = task("z60")
    assert (built.letters, built.outputs, built.training_lengths) == (60, 60, (2, 8))
    batch = built.sample(30, 50, np.random.default_rng(1))
    for word, targets in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
        assert targets == [sum(word[: i + 1]) % 60 for i in range(30)]


def test_a_product_of_groups_factor_by_factor():
    built = task("a4xz5")
    assert built.outputs == 60
    group = finite_monoid("A4xZ5")
    batch = built.sample(7, 20, np.random.default_rng(2))
    for word, target in zip(batch.inputs.tolist(), batch.targets[:, -1].tolist(), strict=True):
        permutation, residue = tuple(range(4)), 0
        for letter in word:
            factor, number = group.values[letter]
            permutation = tuple(factor[p] for p in permutation)
            residue = (residue + number) % 5
        assert group.values[target] == (permutation, residue)


def test_a_store_that_is_no_group():
    built = task("u2")
    batch = built.sample(12, 60, np.random.default_rng(3))
    for word, targets in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
        last = "hold"
        for letter, target in zip(word, targets, strict=True):
            last = built.alphabet[letter] if built.alphabet[letter] != "hold" else last
            assert built.elements[target] == last


@pytest.mark.parametrize(("letters", "most"), [("swaps", 2), ("swaps-and-3-cycles", 3)])
def test_which_permutations_are_read(letters, most):
    built = task(monoid="S5", letters=letters)
    wanted = {p for p in itertools.permutations(range(5)) if sum(i != x for i, x in enumerate(p)) <= most}
    values = finite_monoid("S5").values
    assert {values[built.elements.index(name)] for name in built.alphabet} == wanted
    assert built.letters == len(wanted) == {2: 11, 3: 31}[most]


def test_four_letters_for_an_element():
    built = task("s5-four-tokens")
    assert (built.letters, built.training_lengths) == (121, (8, 64))
    assert all(n % 4 == 0 for n in built.test_lengths)
    batch = built.sample(16, 20, np.random.default_rng(4))
    values = finite_monoid("S5").values
    for word, targets, mask in zip(
        batch.inputs.tolist(), batch.targets.tolist(), batch.mask.tolist(), strict=True
    ):
        product = tuple(range(5))
        for i, letter in enumerate(word):
            if i % 4 == 0:
                product = tuple(values[letter][p] for p in product)
            else:
                assert letter == 120
            assert mask[i] == (i % 4 == 3)
            if mask[i]:
                assert values[targets[i]] == product
    with pytest.raises(InputError, match="multiples of 4"):
        built.sample(6, 1, np.random.default_rng(0))


def test_all_pairs_are_trained_on_and_never_tested():
    built = task("s3")
    rng = np.random.default_rng(5)
    drawn = {tuple(word) for word in built.draw("train", 2, 2000, rng).inputs.tolist()}
    assert drawn == set(itertools.product(range(6), repeat=2))
    for split in ("validation", "test"):
        with pytest.raises(InputError, match=f"hardly any sequence of length 2 in the {split} split"):
            built.draw(split, 2, 1, rng)
    assert not any(map(built.trains_on, range(3, 8)))
    with pytest.raises(InputError, match="trains on some lengths from 2 to 8; length 5 is for testing only"):
        built.draw("train", 5, 1, rng)
    unpaired = task("s3", pairs=0)
    assert unpaired.training_lengths == (8, 8)
    assert not unpaired.trains_on(2)


def test_pairs_have_their_share_of_the_steps():
    rng = np.random.default_rng(7)
    built = task("s3", pairs=0.25, shortest=5, longest=8)
    chosen = [built.choose_length((2, 5, 6, 7, 8), rng) for _ in range(4000)]
    assert abs(chosen.count(2) / 4000 - 0.25) < 0.03
    assert abs(chosen.count(7) / 4000 - 0.75 / 4) < 0.03
    assert built.choose_length((2,), rng) == 2
    assert built.choose_length((5,), rng) == 5


def test_splits_are_disjoint_at_the_length_of_training():
    built = task("z2", shortest=6, longest=8)
    rng = np.random.default_rng(6)
    for length in (6, 8):
        drawn = [{tuple(w) for w in built.draw(s, length, 300, rng).inputs.tolist()} for s in SPLITS]
        assert len(set.union(*drawn)) == sum(map(len, drawn))


def test_lengths_of_the_papers():
    assert task("a5").test_lengths == (8, 16, 24, 32, 40, 64, 128, 256, 512)
    assert task("s5-swaps").training_lengths == (2, 32)
    assert task("a5-generators").training_lengths == (2, 20)
    assert task("a5").draw("test", 512, 2, np.random.default_rng(0)).inputs.shape == (2, 512)


def test_settings_that_make_no_task():
    with pytest.raises(InputError, match="A5 has no swaps"):
        task(monoid="A5", letters="swaps")
    with pytest.raises(InputError, match="Z60 has one of the generators only"):
        task(monoid="Z60", letters="generators")
    with pytest.raises(UnknownName, match="group or monoid"):
        task(monoid="A5y")
    with pytest.raises(InputError, match="not a range"):
        task(shortest=9)
    with pytest.raises(InputError, match="pairs is 1"):
        task(pairs=1)
    with pytest.raises(InputError, match="1 letter or more"):
        task(tokens=0)
    with pytest.raises(InputError, match="as many or more"):
        task(tokens=9)


def test_inputs_are_int64_and_the_same_for_the_same_generator():
    one, two = (task("a5").sample(8, 5, np.random.default_rng(9)) for _ in range(2))
    assert one.inputs.dtype == one.targets.dtype == torch.int64
    assert torch.equal(one.inputs, two.inputs)
