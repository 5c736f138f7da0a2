"""Shares of the largest number, positions, and what rounding excuses."""

from __future__ import annotations

import math

import pytest
import torch

from tests.peers.comparison import differences, gap_of, position_gap_of

EXACT = torch.tensor([[[4.0], [-8.0], [2.0]]], dtype=torch.float64)


def changed(position: int, number: float) -> torch.Tensor:
    other = EXACT.clone()
    other[0, position] = number
    return other


def test_a_difference_is_a_share_of_the_largest_number() -> None:
    assert differences(EXACT, changed(0, 5.0)).flatten().tolist() == [1 / 8, 0, 0]
    assert differences(EXACT, changed(0, 5.0), least=16.0).flatten().tolist() == [1 / 16, 0, 0]
    assert differences(0 * EXACT, 0 * EXACT + 3).flatten().tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("ours", "theirs", "share"),
    [
        (math.inf, math.inf, 0),
        (math.inf, -math.inf, math.inf),
        (math.inf, 1.0, math.inf),
        (1.0, math.nan, math.inf),
        (math.nan, math.nan, math.inf),
    ],
)
def test_what_is_not_finite(ours: float, theirs: float, share: float) -> None:
    found = differences(changed(2, ours), changed(2, theirs))
    assert found.flatten().tolist() == [0, 0, share]


def test_positions_of_a_gap() -> None:
    theirs = EXACT + torch.tensor([[[0.0], [0.08], [-0.8]]])
    found = position_gap_of(EXACT, EXACT, theirs, tolerance=1e-3)
    assert (found.first, found.at, found.last) == (1, 2, 2)
    assert found.largest == pytest.approx(0.1)
    assert found.beyond
    within = position_gap_of(EXACT, EXACT, theirs, tolerance=0.2)
    assert (within.first, within.last, within.beyond) == (None, None, False)


@pytest.mark.parametrize(("own", "allowed"), [(0.0, 1e-3), (1e-4, 1e-3), (1e-2, 4e-2), (1.0, 0.1)], ids=str)
def test_rounding_of_ours_excuses_within_bounds(own: float, allowed: float) -> None:
    ours = EXACT + own * 8
    for found in (gap_of(EXACT, ours, EXACT, 1e-3), position_gap_of(EXACT, ours, EXACT, 1e-3)):
        assert found.own == pytest.approx(own)
        assert found.allowed == pytest.approx(allowed)
