"""Larger automata that belong to a class by the way they are made."""

from __future__ import annotations

import numpy as np

from benchmarks.subregular import (
    avoiding,
    random_factors,
    random_truth,
    saturating_counts,
    subsequence_positions,
    symbols,
)
from nerode.algebra.classes.table import decide_membership
from nerode.languages import minimise


def test_classes_of_languages_made_from_factors_and_pieces() -> None:
    rng = np.random.default_rng(31)
    for _ in range(25):
        k = int(rng.choice([2, 3, 4, 16]))
        parts = random_factors(rng, k, 3, 4)
        longest = max(map(len, parts))
        everything = frozenset(symbols(k))
        local = decide_membership("strictly-local", minimise(avoiding(k, parts, everything)))
        assert local.holds
        assert local.parameter is not None
        assert local.parameter <= longest
        testable = minimise(saturating_counts(k, parts, 1, everything, random_truth(rng)))
        assert decide_membership("locally-testable", testable).holds
        counted = minimise(saturating_counts(k, parts[:2], 2, everything, random_truth(rng)))
        assert decide_membership("locally-threshold-testable", counted).holds
        pieces = minimise(subsequence_positions(k, parts, random_truth(rng)))
        assert decide_membership("piecewise-testable", pieces).holds
        assert decide_membership("dot-depth-one", pieces).holds
        without = subsequence_positions(
            k, parts, lambda seen, parts=parts: all(i < len(p) for i, p in zip(seen, parts, strict=True))
        )
        strict = decide_membership("strictly-piecewise", minimise(without))
        assert strict.holds
        assert strict.parameter is not None
        assert strict.parameter <= longest
