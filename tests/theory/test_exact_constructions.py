"""Constructions of theorems over the reals, in exact arithmetic: no float format carries their numbers.

Each is compared with its language on prefixes of long words, right and wrong ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from nerode.algebra.cascades import Add, Command, Reset, decompose, decompose_solvable
from nerode.compiler.level_machine import (
    TabledLevel,
    tabulate,
    without_counter_resets,
)
from nerode.core import Exact, root_of_unity
from nerode.languages import Alphabet, Dfa, Language, RegularLanguage
from nerode.languages.bestiary import find_language
from nerode.verdict.theorems import THEOREMS
from tests.theory.machines import Level, assert_recognises, cascading, counting

COUNTERS = ["dyck-1", "shuffle-2", "boolean-3", "anbn", "anbncn", "majority"]
STAR_FREE = ["flip-flop", "set-reset", "tomita-4", "d-2", "u2"]
DYCK = find_language("dyck-2")


class OpenSum:
    """exact-counters-open-gates: u ← c u and h ← c h + s u, compared with each other."""

    def __init__(self, start: int, gate: Fraction) -> None:
        self.gate, self.unit, self.held = gate, Fraction(1), Fraction(start)

    def add(self, amount: int) -> None:
        self.unit *= self.gate
        self.held = self.gate * self.held + amount * self.unit

    @property
    def sign(self) -> int:
        half, held = abs(self.unit) / 2, self.held if self.unit > 0 else -self.held
        return (held > half) - (held < -half)


@pytest.mark.parametrize("gate", [Fraction(3, 4), Fraction(-2, 3)])
@pytest.mark.parametrize("name", COUNTERS)
def test_counters_with_open_gates(name: str, gate: Fraction) -> None:
    language = find_language(name)
    assert_recognises(counting(language, lambda start: OpenSum(start, gate)), language, 80)


class SquashedSum:
    """The same through tanh, u ← tanh(c u) and h ← tanh(c h + s u), to 120 digits."""

    weight = Decimal("0.25")

    def __init__(self, start: int, unit: Decimal) -> None:
        self.unit, self.held = unit, start * unit

    def add(self, amount: int) -> None:
        self.unit = _tanh(self.weight * self.unit)
        self.held = _tanh(self.weight * self.held + amount * self.unit)

    @property
    def quotient(self) -> Decimal:
        return self.held / self.unit

    @property
    def sign(self) -> int:
        return (self.quotient > 0.5) - (self.quotient < -0.5)


def _tanh(value: Decimal) -> Decimal:
    twice = (2 * value).exp()
    return (twice - 1) / (twice + 1)


@pytest.mark.parametrize("name", COUNTERS)
def test_counters_through_tanh(name: str) -> None:
    language = find_language(name)
    with localcontext(prec=120):
        run = counting(language, lambda start: SquashedSum(start, Decimal(1) / 1024))
        assert_recognises(run, language, 40, count=6)


@pytest.mark.parametrize("most", [1, 2, 4])
def test_errors_through_tanh_are_below_their_bound(most: int) -> None:
    """2 u₀² m³ bounds all errors together; docs/theory/open-gates.md has the argument."""
    start = Fraction(1)
    while 8 * start * start * most**3 > 1:
        start /= 2
    bound = 2 * start * start * most**3
    with localcontext(prec=200):
        for writes in ([most] * 60, [most] * 30 + [-most] * 30, [most, -most] * 30):
            count, squashed = 0, SquashedSum(0, Decimal(start.numerator) / start.denominator)
            for amount in writes:
                squashed.add(amount)
                count += amount
                assert abs(squashed.quotient - count) <= Decimal(bound.numerator) / bound.denominator


def test_the_sum_of_the_errors_is_below_two() -> None:
    assert sum((t + 3) ** 3 * 0.25 ** (2 * t + 2) for t in range(60)) < 2
    for z in (0.001, 0.1, 0.25):
        assert z / math.tanh(z) <= 1 + z * z / 3
        assert math.tanh(z) >= 2 * z / 3


def open_stack(word: Sequence[int]) -> Iterator[bool]:
    """exact-stack-open-gates: h/u is the stack in base 4, a letter that does not fit leaves it."""
    unit, held, errors, gate = Fraction(1), Fraction(0), Fraction(0), Fraction(1, 8)
    for letter in word:
        kind, closes = divmod(letter, 2)
        unit *= gate
        digit = (kind + 1) * unit
        held = 4 * gate * held - 4 * digit if closes else gate / 4 * held + digit
        errors = gate * errors + max(-held, 0) + max(held - 3 * unit, 0)
        yield errors < unit / 2 and held < unit / 2


def integer_stack(word: Sequence[int]) -> Iterator[bool]:
    """stack-of-two-integers: a path in the Stern-Brocot tree, down for "(" and "[", up for their partners."""
    x = y = 1
    dead = False
    for letter in word:
        kind, closes = divmod(letter, 2)
        sign = -1 if closes else 1
        x, y = (x, y + sign * x) if kind == 0 else (x + sign * y, y)
        dead = dead or min(x, y) < 1
        yield not dead and x == y


def growing_stack(word: Sequence[int]) -> Iterator[bool]:
    """exact-stack-growing-weights: brackets weigh 4ⁿ, n the depth; their share of 4ⁿ shows the innermost."""
    depth, held, dead = 0, Fraction(0), False
    for letter in word:
        kind, closes = divmod(letter, 2)
        held -= (kind + 1) * Fraction(4) ** depth if closes else 0
        depth += -1 if closes else 1
        held += 0 if closes else (kind + 1) * Fraction(4) ** depth
        share = held / Fraction(4) ** depth
        dead = dead or not -Fraction(1, 2) < share < 3
        yield not dead and share < Fraction(1, 2)


def relu_stack(word: Sequence[int]) -> Iterator[bool]:
    """rational-networks-compute-anything and stack-of-digits-with-gaps: digits 1 and 3 in base 4."""
    q, errors = Fraction(0), Fraction(0)
    for letter in word:
        kind, closes = divmod(letter, 2)
        digit = 2 * kind + 1
        if closes:
            errors += max(digit - 4 * q, 0) + max(4 * q - digit - 1, 0)
        q = max(4 * q - digit, Fraction(0)) if closes else (q + digit) / 4
        q = q if errors == 0 else Fraction(0)
        yield errors == 0 and q == 0


@pytest.mark.parametrize("run", [open_stack, integer_stack, growing_stack, relu_stack])
def test_stacks_of_any_depth(run: Callable[[Sequence[int]], Iterator[bool]]) -> None:
    assert_recognises(run, DYCK, 70, count=40)


class SignedSums:
    """A register: one number for each label, of which one is positive."""

    def __init__(self, level: TabledLevel) -> None:
        self.values = [Fraction(1 if label == level.start else -1) for label in range(level.num_labels)]

    @property
    def label(self) -> int:
        (found,) = [label for label, value in enumerate(self.values) if value > 0]
        return found

    def apply(self, command: Command) -> None:
        for label in range(len(self.values)):
            write = 0 if not isinstance(command, Reset) else 1 if command.label == label else -1
            self.move(label, write)
        self.end()

    def move(self, label: int, write: int) -> None:
        """Writes 1, -1 or nothing."""
        raise NotImplementedError

    def end(self) -> None:
        """Ends the letter."""


class FadingRegister(SignedSums):
    """exact-registers-fixed-gates: the gate is 4⁻ᵏ in layer k, and writes are as small as layer k - 1."""

    def __init__(self, level: TabledLevel, depth: int) -> None:
        super().__init__(level)
        self.depth, self.scale = depth, Fraction(1)

    def move(self, label: int, write: int) -> None:
        above = self.scale * Fraction(1, 4) ** (self.depth - 1)
        self.values[label] = self.values[label] * Fraction(1, 4) ** self.depth + write * above

    def end(self) -> None:
        self.scale *= Fraction(1, 4) ** (self.depth - 1)


class GrowingRegister(SignedSums):
    """exact-growing-registers and exact-registers-fixed-decay: writes of ±3·4ᵗ, in quotients by uᵗ."""

    def __init__(self, level: TabledLevel, gate: Fraction) -> None:
        super().__init__(level)
        self.gate, self.unit, self.time = gate, Fraction(1), 1
        self.held = list(self.values)

    def move(self, label: int, write: int) -> None:
        unit = self.unit * self.gate
        self.held[label] = self.gate * self.held[label] + write * 3 * 4**self.time * unit
        self.values[label] = self.held[label] / unit

    def end(self) -> None:
        self.unit *= self.gate
        self.time += 1


class Turn:
    """A counter as a number that turns, with a gate of modulus 1."""

    def __init__(self, level: TabledLevel) -> None:
        self.m, self.value = level.num_labels, root_of_unity(level.start, level.num_labels)

    @property
    def label(self) -> int:
        return next(k for k in range(self.m) if self.value == root_of_unity(k, self.m))

    def apply(self, command: Command) -> None:
        self.value = self.value * root_of_unity(command.amount if isinstance(command, Add) else 0, self.m)


@pytest.mark.parametrize("name", STAR_FREE)
def test_registers_with_fixed_gates(name: str) -> None:
    language = find_language(name)
    machine = tabulate(decompose(language.dfa()), language.dfa())
    assert_recognises(cascading(machine, FadingRegister), language, 60)


@pytest.mark.parametrize("m", [2, 3, 5])
def test_a_turn_that_fades_is_a_clock(m: int) -> None:
    value: Exact = 1
    for position in range(1, 40):
        value = value * (root_of_unity(1, m) * Fraction(1, 4))
        angles = [k for k in range(m) if value * root_of_unity(-k, m) * Fraction(4) ** position == 1]
        assert angles == [position % m]


@pytest.mark.parametrize("gate", [Fraction(31, 32), Fraction(-1, 3)])
@pytest.mark.parametrize("name", STAR_FREE)
def test_registers_with_any_fixed_gate(name: str, gate: Fraction) -> None:
    language = find_language(name)
    machine = tabulate(decompose(language.dfa()), language.dfa())
    run = cascading(machine, lambda level, depth: GrowingRegister(level, gate))
    assert_recognises(run, language, 60)


@pytest.mark.parametrize("name", ["set-reset", "flip-flop", "tomita-3", "z3", "s3", "t3"])
def test_registers_that_grow_and_turns(name: str) -> None:
    language = find_language(name)
    machine = without_counter_resets(tabulate(decompose_solvable(language.dfa()), language.dfa()), modulus=2)

    def make(level: TabledLevel, depth: int) -> Level:
        return GrowingRegister(level, Fraction(1)) if level.kind == "reset" else Turn(level)

    assert_recognises(cascading(machine, make), language, 60)


Matrix = list[list[Fraction]]


def identity(n: int) -> Matrix:
    return [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]


def contract(matrix: Matrix, along: Sequence[int], left: Fraction) -> Matrix:
    """The matrix followed by I - (1 - left) v vᵀ/(vᵀv), 0 ≤ left ≤ 1."""
    assert 0 <= left <= 1
    square = sum(v * v for v in along)
    columns = list(zip(*matrix, strict=True))
    dots = [sum(v * c for v, c in zip(along, column, strict=True)) for column in columns]
    return [
        [value - (1 - left) * v * dot / square for value, dot in zip(row, dots, strict=True)]
        for v, row in zip(along, matrix, strict=True)
    ]


def swap_by_contractions(n: int, i: int, j: int) -> Matrix:
    """A multiple of the swap of two of n coordinates, beside one that is always 0.

    Y, the product of contractions along k = e_i - e_j, k + 3z and k - 3z, with the share of the first such
    that its trace is 0 in the plane of k and z, has the square -det Y: two of them are a multiple of -1.
    """
    eighth = Fraction(1, 8)
    k = [int(a == i) - int(a == j) for a in range(n + 1)]
    others = [[*k[:-1], height] for height in (3, -3)]

    def trace(left: Fraction) -> Fraction:
        plane = identity(n + 1)
        for along, share in ((k, left), *((v, eighth) for v in others)):
            plane = contract(plane, along, share)
        image = sum(
            a * b
            for a, b in zip(
                k, [sum(r * v for r, v in zip(row, k, strict=True)) for row in plane], strict=True
            )
        )
        return image / 2 + plane[-1][-1]

    left = trace(Fraction(0)) / (trace(Fraction(0)) - trace(Fraction(1)))
    found = identity(n + 1)
    for _ in range(2):
        for along, share in ((k, left), *((v, eighth) for v in others)):
            found = contract(found, along, share)
    size = left * eighth * eighth
    for a in range(n):
        if a not in (i, j):
            found = contract(found, [int(b == a) for b in range(n + 1)], size)
    # What is orthogonal to k in the plane of e_i and e_j shrinks alike.
    return contract(found, [int(b in (i, j)) for b in range(n + 1)], size)


def test_contractions_make_a_multiple_of_a_swap() -> None:
    matrix = swap_by_contractions(4, 1, 3)
    size = matrix[0][0]
    swapped = [0, 3, 2, 1]
    assert 0 < size < 1
    assert [row[:4] for row in matrix[:4]] == [
        [size * int(swapped[a] == b) for b in range(4)] for a in range(4)
    ]


@pytest.mark.parametrize("name", ["parity", "z3", "s3", "tomita-3", "t3"])
def test_products_of_contractions(name: str) -> None:
    """exact-products-of-contractions: swaps and mergers of states, each times a number below 1."""
    language = find_language(name)
    dfa = language.dfa()
    n = dfa.num_states
    letters = [letter_by_contractions(n, column) for column in dfa.transitions.T.tolist()]

    def run(word: Sequence[int]) -> Iterator[bool]:
        vector = [Fraction(int(q == dfa.start)) for q in range(n + 1)]
        for letter in word:
            vector = [
                sum((a * v for a, v in zip(row, vector, strict=True)), Fraction(0)) for row in letters[letter]
            ]
            (state,) = [q for q in range(n) if vector[q] != 0]
            assert vector[state] > 0
            yield bool(dfa.accepting[state])

    assert_recognises(run, language, 30)


def letter_by_contractions(n: int, images: Sequence[int]) -> Matrix:
    """A multiple of the map of states: mergers by two projections each, then swaps."""
    found, first = identity(n + 1), dict[int, int]()
    for q, image in enumerate(images):
        kept = first.setdefault(image, q)
        if kept != q:
            for along in (
                [int(a == q) - int(a == kept) for a in range(n + 1)],
                [int(a == q) for a in range(n + 1)],
            ):
                found = contract(found, along, Fraction(0))
    places = {q: q for q in first.values()}
    for image, q in first.items():
        here = places[q]
        if here != image:
            swap = swap_by_contractions(n, here, image)
            found = [
                [sum((row[b] * found[b][c] for b in range(n + 1)), Fraction(0)) for c in range(n + 1)]
                for row in swap
            ]
            moved = next((p for p, place in places.items() if place == image), None)
            places[q] = image
            if moved is not None:
                places[moved] = here
    return found


def rwkv_7_swap(n: int, i: int, j: int) -> list[Callable[[list[Fraction]], list[Fraction]]]:
    """Two factors diag(w) - (a ∘ κ) κᵀ that are together 45/128 times the swap of two of n coordinates."""

    def factor(sign: int, a: Fraction, here: Fraction, there: Fraction) -> Callable[..., list[Fraction]]:
        assert all(Fraction(545, 1000) < w < 1 for w in (here, there))
        assert 0 < a < 1

        def apply(x: list[Fraction]) -> list[Fraction]:
            dot = (x[i] + sign * x[j]) / 2  # the key is (e_i ± e_j)/√2
            moved = [(here if k in (i, j) else there) * v for k, v in enumerate(x)]
            moved[i] -= a * dot
            moved[j] -= a * sign * dot
            return moved

        return apply

    third, later = Fraction(3, 5), Fraction(75, 128)
    return [
        factor(-1, Fraction(39, 40), third, third),
        factor(1, Fraction(45, 128), Fraction(15, 16), later),
    ]


@pytest.mark.parametrize("n", [2, 3, 5])
def test_two_factors_of_rwkv_7_are_a_multiple_of_a_swap(n: int) -> None:
    start = [Fraction(k + 1) for k in range(n)]
    for i, j in itertools.combinations(range(n), 2):
        vector = start
        for factor in rwkv_7_swap(n, i, j):
            vector = factor(vector)
        swapped = [start[j if k == i else i if k == j else k] for k in range(n)]
        assert vector == [Fraction(45, 128) * v for v in swapped]


FIVE = Dfa(
    alphabet=Alphabet(("a", "b")),
    transitions=np.array([[1, 1], [2, 2], [3, 0], [4, 3], [0, 4]], dtype=np.int32),
    start=0,
    accepting=np.array([True, False, False, False, False]),
)
"""Five points that a five-cycle and a three-cycle generate A5 on."""


@pytest.mark.parametrize(
    "language",
    [
        find_language("z3"),
        find_language("s3"),
        RegularLanguage(name="a5 on five points", automaton=FIVE, convention="back at the first point"),
    ],
    ids=lambda language: language.name,
)
def test_blocks_of_factors_that_shrink(language: Language) -> None:
    """exact-blocks-one-factor: the letters of a block permute the vector during the next one."""
    dfa = language.dfa()
    moves = dfa.transitions.T.tolist()
    n = dfa.num_states
    length = 1 << (2 * (n - 1) - 1).bit_length()

    def swaps(images: list[int]) -> list[tuple[int, int]]:
        """Swaps of coordinates that take the entry of each state to its image, in order."""
        at, found = list(images), []
        for place in range(n):
            other = at.index(place)
            if other != place:
                found.append((place, other))
                at[place], at[other] = at[other], at[place]
        return found

    def run(word: Sequence[int]) -> Iterator[bool]:
        vector = [Fraction(k + 1) for k in range(n)]  # the entry of each state: where its start is now
        pending: list[Callable[[list[Fraction]], list[Fraction]]] = []
        block = list(range(n))
        for position, letter in enumerate(word):
            if position % length == 0:
                assert not pending
                pending = [factor for pair in swaps(block) for factor in rwkv_7_swap(n, *pair)]
                block = list(range(n))
            vector = pending.pop(0)(vector) if pending else [Fraction(3, 5) * v for v in vector]
            block = [moves[letter][q] for q in block]
            whole = vector
            for factor in pending:
                whole = factor(whole)
            order = sorted(range(n), key=lambda place: whole[place])
            yield bool(dfa.accepting[block[order[dfa.start]]])

    assert_recognises(run, language, 3 * length + 5, count=4)


def test_every_row_without_a_float_format_is_run_here() -> None:
    reasons = {row.name for row in THEOREMS.values() if any("no float" in n.reason for n in row.no_network)}
    text = Path(__file__).read_text()
    # Registers as here with rotations, which compile; stack-in-digits is run in test_counting.py.
    derived = {"exact-growing-registers-and-rotations", "stack-in-digits"}
    assert sorted(name for name in reasons - derived if name not in text) == []
