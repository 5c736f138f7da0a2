"""A chi-square test for draws that should follow a known distribution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping

from scipy.stats import chisquare

THRESHOLD = 1e-5
"""A right sampler fails for one seed in 100,000, so that about 100 tests with fixed seeds are all safe."""


def assert_distribution(draws: Iterable[Hashable], weights: Mapping[Hashable, int]) -> None:
    """Fails if the draws are not in proportion to the weights; see `THRESHOLD`."""
    found = Counter(draws)
    assert set(found) <= set(weights)
    number, total = sum(found.values()), sum(weights.values())
    expected = [number * weight / total for weight in weights.values()]
    # Below about 5 expected draws in a cell the statistic is not distributed like chi-square.
    assert min(expected) >= 5
    if len(weights) > 1:
        assert chisquare([found[key] for key in weights], expected).pvalue > THRESHOLD
