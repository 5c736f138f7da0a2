"""Metric Automata Theory: numbers that are wrong as printed. See docs/theory/corrections.md."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

Interval = tuple[float, float]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


TANH_2 = math.tanh(2)
R2 = {(0, 0): (-0.01, 0.015), (0, 1): (0.02, 0.05), (1, 0): (0.95, 0.98), (1, 1): (0.985, 1.01)}
"""The printed intervals of the memory of two bits, by (newest bit, bit before)."""

R2_INPUT = {0: -8.1, 1: 8.1}


def misses(
    intervals: dict[tuple[int, int], Interval], update: Callable[[float, float], float]
) -> list[tuple[tuple[int, int], int]]:
    """The transitions whose image is not inside the interval where it should be; `update` is increasing."""
    missed = []
    for (newest, before), (low, high) in intervals.items():
        for bit, u in R2_INPUT.items():
            target_low, target_high = intervals[bit, newest]
            if not (target_low <= update(low, u) and update(high, u) <= target_high):
                missed.append(((newest, before), bit))
    return missed


def test_the_memory_of_two_bits_misses_half_of_its_intervals_as_printed() -> None:
    def cell(h: float, u: float) -> float:
        return sigmoid(u + 10 * h - 5) * TANH_2

    assert len(misses(R2, cell)) == 4
    # The reason: no value of the cell is above tanh 2, and [0.985, 1.01] lies above it.
    assert R2[1, 1][0] > TANH_2
    assert misses(R2, lambda h, u: sigmoid(u + 10 * h - 5)) == []


def test_the_memory_of_two_bits_works_after_scaling_by_tanh_2() -> None:
    scaled = {bits: (low * TANH_2, high * TANH_2) for bits, (low, high) in R2.items()}
    assert misses(scaled, lambda h, u: sigmoid(u + 10 / TANH_2 * h - 5) * TANH_2) == []


def test_the_memory_of_two_bits_is_indexed_by_the_newest_bit_first() -> None:
    """So "the last bit was 0" is X00 and X01, not X01 and X10; and the other order of the names is wrong."""
    swapped = {(b, a): interval for (a, b), interval in R2.items()}
    assert misses(swapped, lambda h, u: sigmoid(u + 10 * h - 5))
    for low, high in R2.values():
        for bit, u in R2_INPUT.items():
            image = sigmoid(u + 10 * low - 5), sigmoid(u + 10 * high - 5)
            homes = {bits for bits, (a, b) in R2.items() if a <= image[0] and image[1] <= b}
            assert {newest for newest, _ in homes} == {bit}


SLSTM = {"low": (-0.05, 0.2), "high": (0.8, 1.05)}


def test_the_memory_of_one_bit_needs_negative_inputs() -> None:
    """Reset is the input -8; with inputs from [0, 10] alone the high state is never left."""

    def cell(h: float, u: float) -> float:
        return sigmoid(u + 10 * h - 5) * TANH_2

    low, high = SLSTM["low"], SLSTM["high"]
    assert cell(high[1], -8) < low[1]
    assert cell(low[0], 8) > high[0]
    assert all(cell(high[0], u) > high[0] for u in np.linspace(0, 10, 101))


def test_the_reserve_of_the_cell_is_that_of_its_own_forget_gate() -> None:
    """Noise d a step moves c by at most d / (1 - σ(-3)), as σ(-3) is the gate, not by d / (1 - σ(3))."""
    forget, noise = sigmoid(-3), 0.01
    c = fixed = TANH_2 / (1 - forget)
    for _ in range(200):
        c = forget * c + TANH_2 + noise
    assert c - fixed == pytest.approx(noise / (1 - sigmoid(-3)))
    assert c - fixed < noise / (1 - sigmoid(3)) / 20
    assert fixed == pytest.approx(1.01202, abs=1e-5)


def test_the_gates_of_the_linear_flip_flop_are_a_quarter_of_what_is_printed() -> None:
    eps = Fraction(1, 4)
    low, high = (-2 - eps, -2 + eps), (2 - eps, 2 + eps)

    def images(gate: Fraction, write: int) -> tuple[Fraction, Fraction]:
        return gate * low[0] + write, gate * high[1] + write

    def fits(gate: Fraction) -> bool:
        down, up = images(gate, -2), images(gate, 2)
        return low[0] <= down[0] and down[1] <= low[1] and high[0] <= up[0] and up[1] <= high[1]

    assert fits(eps / 4)
    # The printed range [eps, 1] does not contain that gate, and its own least gate misses the intervals.
    assert eps / 4 < eps
    assert not fits(eps)


def test_differences_of_a_robust_linear_recurrence_shrink_geometrically() -> None:
    diameter, eps, gap = Fraction(21, 10), Fraction(1, 20), Fraction(1, 2)
    rate = 1 - 2 * eps / diameter

    def steps(bound: Callable[[int], Fraction]) -> int:
        return next(n for n in itertools.count() if diameter * bound(n) < gap)

    printed = steps(lambda n: diameter / (diameter + 2 * n * eps))
    geometric = steps(lambda n: rate**n)
    assert (printed, geometric) == (68, 30)
    assert all(rate**n <= diameter / (diameter + 2 * n * eps) for n in range(200))
    # The rate is attained: x -> rate x keeps every eps-ball inside [-M/2, M/2], a larger gate does not.
    half = diameter / 2
    assert rate * half + eps == half
    assert (rate + Fraction(1, 1000)) * half + eps > half
