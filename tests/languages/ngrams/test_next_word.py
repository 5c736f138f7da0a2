from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from nerode.languages.ngrams.next_word import _integer_below, draw, log_fraction, slide


def test_slide_keeps_the_last_entries() -> None:
    assert slide((1, 2), 3, 2) == (2, 3)
    assert slide((1,), 3, 2) == (1, 3)
    assert slide((), 3, 0) == ()


@pytest.mark.parametrize("kind", [Fraction, float])
def test_draws_have_their_probabilities(kind: type) -> None:
    rng = np.random.default_rng(3)
    distribution = {7: kind(1) / 6, 2: kind(1) / 3, 9: kind(1) / 2}
    seen = Counter(draw(distribution, rng) for _ in range(6000))
    for word, p in distribution.items():
        assert abs(seen[word] - 6000 * float(p)) < 6 * (6000 * 0.25) ** 0.5


def test_draws_from_fractions_finer_than_a_float() -> None:
    rng = np.random.default_rng(3)
    tiny = Fraction(1, 3**500)
    assert {draw({0: tiny, 1: 1 - tiny}, rng) for _ in range(50)} == {1}
    assert draw({4: Fraction(1)}, rng) == 4


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 256, 257])
def test_integers_below_a_bound_reach_all_of_them_and_no_other(bound: int) -> None:
    rng = np.random.default_rng(3)
    assert {_integer_below(bound, rng) for _ in range(20 * bound)} == set(range(bound))


def test_draws_from_floats_that_do_not_sum_to_one() -> None:
    rng = np.random.default_rng(3)
    seen = Counter(draw({0: 0.1, 1: 0.3}, rng) for _ in range(4000))
    assert abs(seen[0] - 1000) < 6 * 32


def test_logarithms_of_fractions() -> None:
    assert log_fraction(Fraction(1)) == 0.0
    assert log_fraction(Fraction(0)) == -np.inf
    assert log_fraction(Fraction(1, 2**5000)) == pytest.approx(-5000 * np.log(2), rel=1e-14)
