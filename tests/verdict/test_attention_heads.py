"""The heads of docs/theory/attention.md that are not compiled, in floats on short words."""

from __future__ import annotations

import numpy as np
import pytest

A = 10.0


def attend(scores: list[float], values: list[float]) -> float:
    weights = np.exp(np.array(scores) - max(scores))
    return float(weights @ np.array(values) / weights.sum())


@pytest.mark.parametrize("m", [2, 3, 5])
def test_counts_modulo_m(m: int) -> None:
    increments = np.random.default_rng(m).integers(0, m, size=60)
    for word in (increments, np.zeros(8, int), np.full(30, m - 1)):
        for i in range(1, len(word) + 1):
            c = int(word[:i].sum())
            for r in range(m):
                scores = [0.0, *(A / 2 - A * (m * (t - 1) - (c - r)) ** 2 for t in range(1, i + 1))]
                found = attend(scores, [0.0] + [1.0] * i)
                assert found > 0.99 if c % m == r else found < 0.03


def test_latest_write_and_label_before() -> None:
    rng = np.random.default_rng(0)
    writes = rng.choice([-1, 0, 1], p=[0.05, 0.9, 0.05], size=200)
    for i in range(1, 201):
        latest = next((v for v in reversed(writes[:i]) if v), 1)
        scores = [0.0, *(A * t if writes[t - 1] else -A * t for t in range(1, i + 1))]
        assert abs(attend(scores, [1.0, *writes[:i]]) - latest) < 0.02
        before = attend([-A * (t - i + 1) ** 2 for t in range(i + 1)], [0.0, *writes[:i]])
        assert abs(before - (writes[i - 2] if i > 1 else 0)) < 0.02


def test_matching_bracket() -> None:
    rng, stack, opened = np.random.default_rng(1), [], []
    for i in range(1, 200):
        if stack and rng.random() < 0.5:
            kind = stack.pop()
            scores = [-A * i] * i
            for t, depth, _ in opened:
                scores[t - 1] = A * t - 2 * A * i * (depth - len(stack)) ** 2
            values = np.zeros(i)
            values[[t - 1 for t, _, _ in opened]] = [k for _, _, k in opened]
            assert abs(attend(scores, list(values)) - kind) < 0.02
        else:
            kind = float(rng.choice([1, 2]))
            opened.append((i, len(stack), kind))
            stack.append(kind)


def test_an_average_tells_two_positions_from_one_in_floats() -> None:
    """The bit "at two positions or more" from y = k/n and z = 1/n, up to the largest n of the format."""
    f = np.float32
    for n in (2, 3, 10_001, 2**24 - 1, 2**24, 2**60 + 2**40, 2**125):
        for k in (0, 1, 2, 3, 1000, n):
            if k > n:
                continue
            y, z = f(k) / f(n), f(1) / f(n)
            x = max(y - f(1.5) * z, f(0))
            lifted = f(2.0**63) * (f(2.0**64) * x)
            assert np.isfinite(lifted)
            bit = f(1) - max(f(1) - lifted, f(0))
            assert bit == f(k >= 2), (n, k)
