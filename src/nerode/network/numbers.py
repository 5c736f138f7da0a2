"""Number systems: the arithmetic that a step is computed in.

A step (see `step.py` and the recurrences) only asks for what is below, for whole vectors at a time. Exact and
decimal numbers are here; torch tensors, nodes of an ONNX graph and boxes are defined where they are used.

Methods that are given a part of a record convert its numbers once and return a function. That part is named
by its place, for errors and for the names of weights.
"""

from __future__ import annotations

import functools
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Generic, Protocol, TypeVar

from nerode.core import Cyclotomic, Exact, imaginary_part, real_part
from nerode.network.affine import Affine, Factor, Row, moved_columns, multiplied

Vector = TypeVar("Vector")
Rows = Sequence[Row]


class RecurrenceStep(Protocol[Vector]):
    """One step of a recurrence: what the input contributes, and what that makes of the state.

    The two are apart because the first does not need the state: it can be computed for a whole word at once.
    """

    def drive(self, seen: Vector, letter: Any) -> tuple[Any, ...]:
        """Returns what the input contributes.

        Args:
            seen: what the layer reads, followed by its units.
            letter: the letter, or one letter for each row of a batch.
        """

    def advance(self, drive: tuple[Any, ...], state: Vector) -> Vector:
        """Returns the state after the letter."""

    def shown(self, drive: tuple[Any, ...], state: Vector) -> dict[str, Vector]:
        """Returns what moves the state, by name: gates, writes, sums."""


class Numbers(ABC, Generic[Vector]):
    """Vectors of one kind of number, and what a step does with them."""

    @abstractmethod
    def map(self, affine: Affine, place: str) -> Callable[[Vector], Vector]:
        """Returns an affine map."""

    def with_units(self, affine: Affine, place: str) -> Callable[[Vector], Vector]:
        """Returns x ↦ x followed by relu(map(x))."""
        return _WithUnits(affine, self, place)

    @abstractmethod
    def stateful(
        self, affine: Affine, place: str, number: int | None = None
    ) -> tuple[Callable[[Vector], Any], Callable[[Any, Vector], Vector]]:
        """Returns an affine map of what a layer sees and of a state as wide as the image, in two halves.

        The first is given what the layer sees; the second is given its result and the state.

        Args:
            affine: the map; its last inputs are the state.
            place: its place.
            number: which of several maps of one recurrence it is; None if it is the only one.
        """

    @abstractmethod
    def matrix(self, rows: Rows, place: str) -> Callable[[Vector, Vector], Vector]:
        """Returns (h, b) ↦ A h + b."""

    @abstractmethod
    def vectors(self, table: Sequence[Sequence[Exact]], place: str) -> Callable[[Any], Vector]:
        """Returns the map from choices to the vectors of a table."""

    @abstractmethod
    def by_rows(self, matrices: Sequence[Rows]) -> Callable[[Any, Vector, Vector], Vector]:
        """Returns (choice, h, b) ↦ A(choice) h + b."""

    def by_factors(
        self, factors: Sequence[Sequence[Factor]], width: int
    ) -> Callable[[Any, Vector, Vector], Vector]:
        """Returns (choice, h, b) ↦ A(choice) h + b for products of Householder factors."""
        return self.by_rows([multiplied(product, width) for product in factors])

    def by_columns(
        self, images: Sequence[Sequence[int]], diagonals: Sequence[Sequence[Exact]]
    ) -> Callable[[Any, Vector, Vector], Vector]:
        """Returns (choice, h, b) ↦ A(choice) h + b for matrices with one entry per column."""
        return self.by_rows(list(map(moved_columns, images, diagonals)))

    def selector(self, affine: Affine) -> Callable[[Vector], Any]:
        """Returns the map from what a layer sees to a choice: the place of the row that is 1."""
        rows = self.map(affine, "selector")
        return lambda seen: self.one_hot(rows(seen))

    @abstractmethod
    def one_hot(self, values: Vector) -> Any:
        """Returns the choice of a selector: the place of its 1."""

    @abstractmethod
    def picks(self, places: Sequence[int], place: str) -> Callable[[Vector], Vector]:
        """Returns the map that picks some entries."""

    @abstractmethod
    def join(self, parts: Sequence[Vector]) -> Vector:
        """Returns vectors one after the other."""

    @abstractmethod
    def split(self, values: Vector, count: int) -> list[Vector]:
        """Returns a vector in parts of equal length."""

    @abstractmethod
    def parts(self, values: Vector) -> list[Vector]:
        """Returns the real and the imaginary parts of a complex vector."""

    @abstractmethod
    def apply(self, function: str, values: Vector) -> Vector:
        """Returns relu, clip (to [0,1]), tanh, sigmoid or exp of each entry."""

    @abstractmethod
    def times(self, left: Vector, right: Vector) -> Vector:
        """Returns products entry by entry."""

    @abstractmethod
    def gated(self, gate: Vector, values: Vector, added: Vector) -> Vector:
        """Returns gate · value + added, entry by entry."""

    @abstractmethod
    def over(self, left: Vector, right: Vector) -> Vector:
        """Returns quotients entry by entry."""

    @abstractmethod
    def mix(self, share: Vector, old: Vector, new: Vector) -> Vector:
        """Returns (1 - share) · old + share · new."""

    @abstractmethod
    def capped(self, share: Vector, cap: Exact) -> Vector:
        """Returns 1 - cap · (1 - share)."""

    def recurrence(self, record: Any, *, is_complex: bool) -> RecurrenceStep[Vector]:
        """Returns the step of a recurrence; numbers that know complex states differ here."""
        step: RecurrenceStep[Vector] = record.step(self)
        return step


class _WithUnits(Generic[Vector]):
    """Vectors followed by units of them."""

    def __init__(self, affine: Affine, numbers: Numbers[Vector], place: str) -> None:
        self._numbers = numbers
        self._map = numbers.map(affine, place)
        self._any = bool(affine.num_outputs)

    def __call__(self, values: Vector) -> Vector:
        if not self._any:
            return values
        return self._numbers.join([values, self._numbers.apply("relu", self._map(values))])


Scalar = Any
"""Exact in exact mode, Decimal in decimal mode; one network uses one of the two throughout."""

Scalars = Sequence[Scalar]


class ExactNumbers(Numbers[Scalars]):
    """Sequences of rational and cyclotomic numbers, without rounding."""

    def number(self, value: Exact) -> Scalar:
        """Returns an exact number in this arithmetic."""
        return value

    def map(self, affine: Affine, place: str) -> Callable[[Scalars], Scalars]:
        """Returns a map that looks only at inputs that are not zero."""
        return ColumnMap(affine, self.number)

    def with_units(self, affine: Affine, place: str) -> Callable[[Scalars], Scalars]:
        """Returns x ↦ x followed by relu(map(x))."""
        if not affine.num_outputs:
            return lambda x: x
        units = self.map(affine, place)
        return lambda x: [*x, *[v if v > 0 else 0 for v in units(x)]]

    def stateful(
        self, affine: Affine, place: str, number: int | None = None
    ) -> tuple[Callable[[Scalars], Any], Callable[[Any, Scalars], Scalars]]:
        """Returns a first half that waits for the state, so that each sum is one sum."""
        whole = self.map(affine, place)
        return lambda seen: seen, lambda seen, state: whole([*seen, *state])

    def matrix(self, rows: Rows, place: str) -> Callable[[Scalars, Scalars], Scalars]:
        """Returns (h, b) ↦ A h + b."""
        moved = self.by_rows([rows])
        return lambda h, added: moved(0, h, added)

    def vectors(self, table: Sequence[Sequence[Exact]], place: str) -> Callable[[int], Scalars]:
        """Returns the vectors of a table."""
        return [[self.number(e) for e in vector] for vector in table].__getitem__

    def by_rows(self, matrices: Sequence[Rows]) -> Callable[[int, Scalars, Scalars], Scalars]:
        """Returns (choice, h, b) ↦ A(choice) h + b; most coordinates of a one-hot state are zero."""

        @functools.cache
        def columns(choice: int) -> list[list[tuple[int, Scalar]]]:
            found: list[list[tuple[int, Scalar]]] = [[] for _ in matrices[choice]]
            for i, row in enumerate(matrices[choice]):
                for j, c in row:
                    found[j].append((i, self.number(c)))
            return found

        def moved(choice: int, h: Scalars, added: Scalars) -> Scalars:
            new = list(added)
            for v, column in zip(h, columns(choice), strict=True):
                if v:
                    for i, c in column:
                        new[i] = new[i] + c * v
            return new

        return moved

    def by_factors(
        self, factors: Sequence[Sequence[Factor]], width: int
    ) -> Callable[[int, Scalars, Scalars], Scalars]:
        """Returns (choice, h, b) ↦ A(choice) h + b, one factor after the other."""
        number = self.number
        products = [
            [(number(f.scale), [(i, number(e)) for i, e in enumerate(f.vector) if e != 0]) for f in product]
            for product in factors
        ]

        def moved(choice: int, h: Scalars, added: Scalars) -> Scalars:
            values = list(h)
            for scale, vector in products[choice]:
                product: Scalar = 0
                for i, e in vector:
                    product = product + e * values[i]
                if product != 0:
                    amount = scale * product
                    for i, e in vector:
                        values[i] = values[i] - amount * e
            return [v + b for v, b in zip(values, added, strict=True)]

        return moved

    def one_hot(self, values: Scalars) -> int:
        """Returns the place of the 1.

        Raises:
            ArithmeticError: if the values are not one 1 among zeros.
        """
        chosen = [i for i, v in enumerate(values) if v != 0]
        if len(chosen) != 1 or values[chosen[0]] != 1:
            raise ArithmeticError(f"a selector is not one-hot: {values}")
        return chosen[0]

    def picks(self, places: Sequence[int], place: str) -> Callable[[Scalars], Scalars]:
        """Returns the map that picks some entries."""
        return lambda values: [values[i] for i in places]

    def join(self, parts: Sequence[Scalars]) -> Scalars:
        """Returns vectors one after the other."""
        return list(itertools.chain.from_iterable(parts))

    def split(self, values: Scalars, count: int) -> list[Scalars]:
        """Returns a vector in parts of equal length."""
        width = len(values) // count
        return [values[i * width : (i + 1) * width] for i in range(count)]

    def parts(self, values: Scalars) -> list[Scalars]:
        """Returns the real and the imaginary parts."""
        return [[real_part(v) for v in values], [imaginary_part(v) for v in values]]

    def apply(self, function: str, values: Scalars) -> Scalars:
        """Returns the images under one of the functions of the class."""
        return list(map(self.function(function), values))

    def function(self, name: str) -> Callable[[Scalar], Scalar]:
        """Returns a function of one number."""
        return _FUNCTIONS[name]

    def times(self, left: Scalars, right: Scalars) -> Scalars:
        """Returns products."""
        return [a * b for a, b in zip(left, right, strict=True)]

    def gated(self, gate: Scalars, values: Scalars, added: Scalars) -> Scalars:
        """Returns gate · value + added."""
        return [g * v + b if v else b for g, v, b in zip(gate, values, added, strict=True)]

    def over(self, left: Scalars, right: Scalars) -> Scalars:
        """Returns quotients."""
        return [a / b for a, b in zip(left, right, strict=True)]

    def mix(self, share: Scalars, old: Scalars, new: Scalars) -> Scalars:
        """Returns (1 - share) · old + share · new."""
        return [(1 - s) * a + s * b for s, a, b in zip(share, old, new, strict=True)]

    def capped(self, share: Scalars, cap: Exact) -> Scalars:
        """Returns 1 - cap · (1 - share)."""
        most = self.number(cap)
        return [1 - most * (1 - s) for s in share]


DIGITS = Context(prec=50)
"""The precision of decimal numbers; who computes with them makes it the local context."""


class DecimalNumbers(ExactNumbers):
    """Decimal numbers of 50 digits, for tanh, sigmoid and exp."""

    def number(self, value: Exact) -> Decimal:
        """Returns the nearest decimal number."""
        if isinstance(value, Cyclotomic):
            raise TypeError("a network with tanh or sigmoid units cannot have irrational weights")
        fraction = Fraction(value)
        return DIGITS.divide(Decimal(fraction.numerator), Decimal(fraction.denominator))

    def function(self, name: str) -> Callable[[Scalar], Scalar]:
        """Returns a function of one number."""
        return _DECIMAL_FUNCTIONS[name]


class ColumnMap:
    """An affine map with its numbers converted once, by columns: only inputs that are not zero cost time."""

    def __init__(self, affine: Affine, number: Callable[[Exact], Scalar]) -> None:
        self.bias = [number(b) for b in affine.bias]
        # Most weights are 1: None spares the product.
        self.columns: dict[int, list[tuple[int, Scalar | None]]] = {}
        for i, row in enumerate(affine.rows):
            for j, c in row:
                self.columns.setdefault(j, []).append((i, None if c == 1 else number(c)))

    def __call__(self, x: Scalars) -> list[Scalar]:
        """Returns the image of a vector."""
        values = self.bias.copy()
        for j, column in self.columns.items():
            v = x[j]
            if v:
                for i, c in column:
                    values[i] = values[i] + (v if c is None else c * v)
        return values


def relu(value: Scalar) -> Scalar:
    """Returns the value, or 0 if it is negative."""
    return value if value > 0 else 0


def _clip(value: Scalar) -> Scalar:
    return 0 if value < 0 else 1 if value > 1 else value


def sign(value: Scalar) -> Scalar:
    """Returns 1, 0 or -1."""
    return int(value > 0) - int(value < 0)


@functools.lru_cache(maxsize=1 << 16)
def _tanh(value: Decimal) -> Decimal:
    if abs(value) > 60:
        return Decimal(1).copy_sign(value)
    grown = (2 * value).exp()
    return (grown - 1) / (grown + 1)


@functools.lru_cache(maxsize=1 << 16)
def _sigmoid(value: Decimal) -> Decimal:
    return 1 / (1 + (-value).exp())


_FUNCTIONS: dict[str, Callable[[Scalar], Scalar]] = {
    "relu": relu,
    "clip": _clip,
}
_DECIMAL_FUNCTIONS: dict[str, Callable[[Scalar], Scalar]] = {
    **_FUNCTIONS,
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "exp": Decimal.exp,
}
