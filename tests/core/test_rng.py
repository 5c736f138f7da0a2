"""Random streams by name."""

from __future__ import annotations

import itertools

import numpy as np

from nerode.core.config import stream


def test_the_same_name_gives_the_same_numbers() -> None:
    assert np.array_equal(
        stream(3, "sampling", "parity").random(50), stream(3, "sampling", "parity").random(50)
    )


def test_numbers_do_not_depend_on_what_else_was_drawn() -> None:
    alone = stream(0, "b").random(20)
    first = stream(0, "a")
    first.random(1000)
    np.random.default_rng(0).random(10)
    assert np.array_equal(stream(0, "b").random(20), alone)


def test_numbers_are_the_same_on_every_machine() -> None:
    # printf '1\x1ftest' | sha256sum, the first 16 bytes; NumPy promises the raw output of a seeded PCG64.
    expected = np.random.PCG64(int("bb8e618d668e7deca2eeb1958cc52ce2", 16))
    assert np.array_equal(stream(1, "test").bit_generator.random_raw(20), expected.random_raw(20))


def test_seed_and_every_part_of_the_purpose_count() -> None:
    names = [
        (0,),
        (1,),
        (0, "a"),
        (0, "b"),
        (0, "a", "b"),
        (0, "b", "a"),
        (0, "ab"),
        (0, "a", 1),
        (0, "a", 2),
        (-1,),
    ]
    draws = [tuple(stream(*name).integers(0, 2**62, 4).tolist()) for name in names]
    assert len(set(draws)) == len(names)


def test_streams_are_not_correlated() -> None:
    numbers = [stream(0, "run", i).standard_normal(2000) for i in range(12)]
    # The correlation of independent samples has standard deviation 1/sqrt(2000) = 0.022.
    for x, y in itertools.combinations(numbers, 2):
        assert abs(np.corrcoef(x, y)[0, 1]) < 0.11


def test_the_global_generator_is_left_alone() -> None:
    np.random.seed(5)
    expected = np.random.random(3)
    np.random.seed(5)
    stream(0, "x").random(100)
    assert np.array_equal(np.random.random(3), expected)
