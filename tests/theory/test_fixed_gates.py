"""Sums with gates that no record of a network holds: RetNet's, and those of gated cells.

A layer h ← c h + w u beside u ← c u, with any fixed c ≠ 0, has h = u q where q ← q + w: the quotients h/u are
sums with gates of 1. Here the cells run with their own gates, in floats, and what reads them divides;
docs/theory/open-gates.md has the argument.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from nerode.algebra.cascades import Command, Reset, decompose
from nerode.compiler.level_machine import TabledLevel, tabulate
from nerode.languages.bestiary import find_language
from nerode.models.architectures.retnet import RetNet, RetNetSettings
from tests.theory.machines import assert_recognises, cascading, counting, words

Floats = npt.NDArray[np.floating]

Pair = tuple[Any, Any]
"""The state of a unit and of a coordinate beside it."""

COUNTERS = ["dyck-1", "shuffle-2", "boolean-3", "anbn", "anbncn", "majority"]
STAR_FREE = ["flip-flop", "set-reset", "tomita-4", "even-pairs", "d-2", "aab-star", "u2"]


Cell = Callable[[Pair, float], tuple[Pair, float]]
"""From the pair and a write to the pair after it and the quotient."""


class CellSum:
    """A sum as the quotient of a coordinate and a unit that fade alike."""

    def __init__(self, cell: Cell, unit: Any, start: int) -> None:
        self.cell, self.pair, self.quotient = cell, (unit, start * unit), float(start)

    def add(self, amount: float) -> None:
        self.pair, self.quotient = self.cell(self.pair, float(amount))

    @property
    def sign(self) -> int:
        return (self.quotient > 0.5) - (self.quotient < -0.5)


class CellRegister:
    """A register whose writes are ±3·4ᵗ: the sign of the sum is the last one."""

    def __init__(self, level: TabledLevel, cell: Cell, unit: Any) -> None:
        starts = [1 if label == level.start else -1 for label in range(level.num_labels)]
        self.sums, self.time = [CellSum(cell, unit, start) for start in starts], 1

    @property
    def label(self) -> int:
        return max(range(len(self.sums)), key=lambda label: self.sums[label].quotient)

    def apply(self, command: Command) -> None:
        for label, held in enumerate(self.sums):
            write = 0 if not isinstance(command, Reset) else 3 if command.label == label else -3
            held.add(write * 4.0**self.time)
        self.time += 1


def retnet_gate() -> complex:
    """γ e^{iθ} of the first head and the first pair of keys of the zoo's layer."""
    layer = RetNet(2, RetNetSettings(heads=1, keys=4))
    (a, b), (c, d) = layer.transition(torch.zeros(1, 1, 2, dtype=torch.float64)).matrix[0, 0, 0, 0].tolist()
    assert a == d
    assert b == -c
    assert math.isclose(a * d - b * c, (31 / 32) ** 2)
    return complex(a, b)


def turning(gate: complex) -> Callable[[Pair, float], tuple[Pair, float]]:
    """u ← c u, h ← c h + w u; the quotient is real."""

    def cell(pair: Pair, write: float) -> tuple[Pair, float]:
        unit, held = gate * pair[0], gate * pair[1]
        held = held + write * unit
        return (unit, held), (held / unit).real

    return cell


def gru(pair: Pair, write: float) -> tuple[Pair, float]:
    """h ← h/8 + 7/8 tanh(x): what reaches the cell is the artanh of the write."""
    kept = 1 / 8
    unit = kept * pair[0]
    held = kept * pair[1] + (1 - kept) * math.tanh(math.atanh(write * unit / (1 - kept)))
    return (unit, held), held / unit


def slstm(pair: Pair, write: float) -> tuple[Pair, float]:
    """c ← c/8 + tanh(x), n ← n/8 + 1, h = c/n: unit and coordinate have the same normaliser."""
    (unit, held), normaliser = pair, 8 / 7
    unit, held = unit / 8, held / 8 + math.tanh(math.atanh(write * unit / 8))
    return (unit, held), (held / normaliser) / (unit / normaliser)


def elman(pair: Pair, write: float) -> tuple[Pair, float]:
    """u ← tanh(9/10 u), h ← tanh(9/10 h + w u): errors of the quotient are of the order of u² and add up."""
    unit = math.tanh(0.9 * pair[0])
    held = math.tanh(0.9 * pair[1] + write * unit)
    return (unit, held), held / unit


@pytest.mark.parametrize("name", COUNTERS)
def test_the_gates_of_retnet_count(name: str) -> None:
    language, cell = find_language(name), turning(retnet_gate())
    assert_recognises(counting(language, lambda start: CellSum(cell, 1 + 0j, start)), language, 150)


@pytest.mark.parametrize("name", STAR_FREE)
def test_the_gates_of_retnet_are_registers(name: str) -> None:
    language, cell = find_language(name), turning(retnet_gate())
    machine = tabulate(decompose(language.dfa()), language.dfa())
    run = cascading(machine, lambda level, depth: CellRegister(level, cell, 1 + 0j))
    assert_recognises(run, language, 150)


@pytest.mark.parametrize(("cell", "unit"), [(gru, 1e-3), (slstm, 1e-3), (elman, 1e-8)])
@pytest.mark.parametrize("name", ["dyck-1", "anbncn", "boolean-3"])
def test_cells_with_constant_gates(name: str, cell: Any, unit: float) -> None:
    language = find_language(name)
    assert_recognises(counting(language, lambda start: CellSum(cell, unit, start)), language, 120)


def test_a_unit_with_another_gate_is_not_enough() -> None:
    gate = retnet_gate()

    def wrong(pair: Pair, write: float) -> tuple[Pair, float]:
        unit, held = 0.96 * pair[0], gate * pair[1] + write * 0.96 * pair[0]
        return (unit, held), (held / unit).real

    language = find_language("dyck-1")
    with pytest.raises(AssertionError):
        assert_recognises(counting(language, lambda start: CellSum(wrong, 1 + 0j, start)), language, 200)


@pytest.mark.parametrize("gate", [Fraction(3, 4), Fraction(31, 32)])
def test_weights_by_depth_with_a_gate_that_fades(gate: Fraction) -> None:
    """Dyck-2: u = cᵗ, depth n = h/u, and a sum of ± kind · 4ⁿ · u, whose quotient by u 4ⁿ shows the top."""
    language = find_language("dyck-2")
    for word in words(language, 80):
        unit, depth, held, dead, configuration = (
            Fraction(1),
            Fraction(0),
            Fraction(0),
            False,
            language.initial(),
        )
        for letter in word:
            kind, closes = divmod(letter, 2)
            unit *= gate
            depth = gate * depth + (-1 if closes else 1) * unit
            level = int(depth / unit)
            write = -(kind + 1) * Fraction(4) ** (level + 1) if closes else (kind + 1) * Fraction(4) ** level
            held = gate * held + write * unit
            top = held / (unit * Fraction(4) ** level)
            dead = dead or not -Fraction(1, 2) < top < 3
            configuration = language.advance(configuration, letter)
            legal = language.legal(configuration)
            assert legal.end == (not dead and top < Fraction(1, 2))
            assert (1 in legal.symbols) == (not dead and 1 <= top < 2)
            assert (3 in legal.symbols) == (not dead and 2 <= top < 3)


def test_brackets_through_tanh() -> None:
    """Dyck-2 by weights of depth in a tanh-RNN: the errors of u, depth and sum are far below the room."""
    language, weight, start = find_language("dyck-2"), Decimal(1) / 16, Decimal(1) / 2**20

    def squash(value: Decimal) -> Decimal:
        twice = (2 * value).exp()
        return (twice - 1) / (twice + 1)

    with localcontext(prec=300):
        for word in words(language, 60):
            unit, depth, held, configuration = start, Decimal(0), Decimal(0), language.initial()
            for letter in word:
                kind, closes = divmod(letter, 2)
                if letter not in language.legal(configuration).symbols:
                    break
                configuration = language.advance(configuration, letter)
                unit = squash(weight * unit)
                depth = squash(weight * depth + (-unit if closes else unit))
                level = depth / unit
                power = Decimal(4) ** (level + 1 if closes else level)
                held = squash(weight * held + (kind + 1) * power * (-unit if closes else unit))
                share = held / (unit * Decimal(4) ** level)
                legal = language.legal(configuration)
                found = [
                    abs(share - middle) < Decimal("0.4") for middle in (0, Decimal("1.33"), Decimal("2.33"))
                ]
                assert found == [legal.end, 1 in legal.symbols, 3 in legal.symbols]


def delay_filter(angles: int, steps: int) -> tuple[Floats, Floats, Floats]:
    """Angles of RetNet, weights of their states, and what these make of a letter k steps ago, k from 1 on."""
    theta = 10_000.0 ** -np.linspace(0, 1, angles)
    powers = (31 / 32 * np.exp(1j * theta)) ** np.arange(1, steps)[:, None]
    basis = np.concatenate([powers.real, powers.imag], axis=1)
    target = np.eye(steps - 1)[0]
    weights = np.linalg.solve(basis.T @ basis + 1e-2 * np.eye(2 * angles), basis.T @ target)
    return theta, weights, basis @ weights


def test_many_angles_of_one_decay_are_a_delay() -> None:
    """RetNet at finite precision: a combination of (31/32 e^{iθ})ᵏ is nearly 1 at k = 1 and 0 at k > 1.

    The letter itself, k = 0, is on the stream. What is left of all older letters together is below the weight
    of the last one, so that a threshold tells it, and the weights are small enough for float32.
    """
    steps = 900
    theta, weights, filtered = delay_filter(400, steps)
    total = np.abs(weights).sum()
    left = np.abs(filtered[1:]).sum() + total * (31 / 32) ** steps * 32
    # States are at most 32: three roundings per step, over 32 steps, and those of the sum of products.
    rounding = total * 32 * (3 * 32 + 2 * len(theta)) * 2.0**-24
    assert left + rounding < 0.8 * filtered[0]


def test_a_delay_of_retnet_in_float32() -> None:
    """The same filter in numpy's float32, products added in order, on the word that is worst for it."""
    theta, weights, filtered = delay_filter(400, 900)
    c, s = (31 / 32 * np.cos(theta)).astype(np.float32), (31 / 32 * np.sin(theta)).astype(np.float32)
    for last in (-1, 1):
        re, im = np.zeros_like(c), np.zeros_like(c)
        for letter in (*(-last * np.sign(filtered[:0:-1])), last, 0):
            re, im = c * re - s * im + np.float32(letter), s * re + c * im
        products = weights.astype(np.float32) * np.concatenate([re, im])
        assert last * np.add.accumulate(products)[-1] > 0.3


def test_an_alternating_count() -> None:
    """A gate of -1 adds b with the sign of the position, where weights without a clock all vanish."""
    table = [[0, 1], [2, 0], [1, 3], [3, 3]]
    for length in range(11):
        for word in itertools.product((0, 1), repeat=length):
            state, total, error = 0, 0, False
            for position, letter in enumerate(word):
                state = table[state][letter]
                total += letter * (-1) ** position
                error = error or abs(total) >= 2
            shown = 3 if error else 0 if total == 0 else 1 if (total == 1) == (length % 2 == 1) else 2
            assert shown == state
