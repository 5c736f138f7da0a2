"""Interval arithmetic in fixed point: a span is a pair of integers, rounded outward.

A span (low, high) stands for all reals between low·2**-96 and high·2**-96. Sums of products with rational
coefficients are exact up to one division at the end. exp comes from its series at a small argument and
repeated squaring, with the rest of the series bounded; tanh and the logistic function come from exp. Each
function is increasing, so the image of a span lies between bounds at its two ends.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from nerode.kernel.network import CellMove, PointTable, Row, before
from nerode.kernel.numbers import Number, rational
from nerode.kernel.work import Undecided, WorkCount

Span = tuple[int, int]

PLACES = 96
ONE = 1 << PLACES
ZERO: Span = (0, 0)

_GUARD = 48
_WIDE = PLACES + _GUARD
_LARGEST = 1 << 12
"""Arguments of exp above this are refused."""

_FLAT = 100 * ONE
"""Beyond this argument tanh and the logistic function are within 2**-140 of their limits."""


def outer(low: Fraction, high: Fraction) -> Span:
    """Returns the smallest span around an interval."""
    return math.floor(low * ONE), math.ceil(high * ONE)


def inner(low: Fraction, high: Fraction) -> Span:
    """Returns the largest span inside an interval; its ends may be in the wrong order if there is none."""
    return math.ceil(low * ONE), math.floor(high * ONE)


def around(value: Number) -> Span:
    """Returns the smallest span around a number."""
    number = rational(value, "interval arithmetic")
    return outer(number, number)


def add(a: Span, b: Span) -> Span:
    """Returns the sums."""
    return a[0] + b[0], a[1] + b[1]


def multiply(a: Span, b: Span) -> Span:
    """Returns the products."""
    if a[0] >= 0:
        low, high = b
        return (a[low < 0] * low) >> PLACES, -(-a[high >= 0] * high >> PLACES)
    products = (a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1])
    return min(products) >> PLACES, -(-max(products) >> PLACES)


def divide(a: Span, b: Span) -> Span:
    """Returns the quotients.

    Raises:
        Undecided: if the divisor is not known to be positive.
    """
    if b[0] <= 0:
        raise Undecided("a divisor is not known to be positive")
    low = (a[0] << PLACES) // (b[1] if a[0] >= 0 else b[0])
    high = -((-a[1] << PLACES) // (b[0] if a[1] >= 0 else b[1]))
    return low, high


def mix(share: Span, old: Span, new: Span) -> Span:
    """Returns (1 - share)·old + share·new for a share in [0,1].

    This is old + share·(new - old), which grows with old and new, so the extremes are at ends of the share.
    """
    fall, rise = new[0] - old[0], new[1] - old[1]
    return old[0] + (share[fall < 0] * fall >> PLACES), old[1] - (-share[rise >= 0] * rise >> PLACES)


def relu(a: Span) -> Span:
    """Returns the images under max(·, 0)."""
    return max(a[0], 0), max(a[1], 0)


def clip(a: Span) -> Span:
    """Returns the images under min(max(·, 0), 1)."""
    return min(max(a[0], 0), ONE), min(max(a[1], 0), ONE)


def exp(a: Span) -> Span:
    """Returns a span around the exponentials."""
    return _exp_at(a[0])[0], _exp_at(a[1])[1]


def tanhs(values: Iterable[Span]) -> list[Span]:
    """Returns spans around the hyperbolic tangents of each."""
    return [(_tanh_at(low)[0], _tanh_at(high)[1]) for low, high in values]


def sigmoids(values: Iterable[Span]) -> list[Span]:
    """Returns spans around the logistic function 1/(1 + e^-x) of each."""
    return [(_sigmoid_at(low)[0], _sigmoid_at(high)[1]) for low, high in values]


@functools.lru_cache(maxsize=1 << 17)
def _exp_at(x: int) -> Span:
    if abs(x) > _LARGEST * ONE:
        raise Undecided(f"exp is only computed between -{_LARGEST:,} and {_LARGEST:,}")
    low, high = _growth(abs(x))
    if x >= 0:
        return low >> _GUARD, -(-high >> _GUARD)
    return (1 << (_WIDE + PLACES)) // high, -(-(1 << (_WIDE + PLACES)) // low)


def _growth(x: int) -> Span:
    """exp(x) for x ≥ 0 in units of 2**-144, from exp(x/2**n) with x/2**n below 1/64."""
    halvings = max(0, (x >> (PLACES - 6)).bit_length())
    shift = _GUARD - halvings
    small = x << shift if shift >= 0 else x >> -shift
    low, high = _series(small)[0], _series(small + (0 if shift >= 0 else 1))[1]
    for _ in range(halvings):
        low, high = low * low >> _WIDE, -(-high * high >> _WIDE)
    return low, high


def _series(y: int) -> Span:
    """exp(y) for 0 ≤ y < 1/32, term by term; what is left out is below twice the next term."""
    low = high = low_term = high_term = 1 << _WIDE
    n = 0
    while high_term > 1:
        n += 1
        low_term = (low_term * y >> _WIDE) // n
        high_term = -((-high_term * y >> _WIDE) // n)
        low += low_term
        high += high_term
    return low, high + 2 * high_term


@functools.lru_cache(maxsize=1 << 17)
def _tanh_at(x: int) -> Span:
    """tanh(x) = (1 - e^-2x) / (1 + e^-2x), which falls with e^-2x."""
    if x < 0:
        low, high = _tanh_at(-x)
        return -high, -low
    if x > _FLAT:
        return ONE - 1, ONE
    low_e, high_e = _exp_at(-2 * x)
    low = ((ONE - high_e) << PLACES) // (ONE + high_e)
    high = -((-(ONE - low_e) << PLACES) // (ONE + low_e))
    return max(low, 0), min(high, ONE)


@functools.lru_cache(maxsize=1 << 17)
def _sigmoid_at(x: int) -> Span:
    if abs(x) > _FLAT:
        return (0, 1) if x < 0 else (ONE - 1, ONE)
    low_e, high_e = _exp_at(-abs(x))
    if x < 0:
        return (low_e << PLACES) // (ONE + low_e), -((-high_e << PLACES) // (ONE + high_e))
    return (1 << 2 * PLACES) // (ONE + high_e), -(-(1 << 2 * PLACES) // (ONE + low_e))


class SpanRows:
    """An affine map on spans, each row over one common denominator.

    The share of the state in every row is the same for every letter, so it is remembered.
    """

    def __init__(self, rows: Iterable[Row], width: int, work: WorkCount) -> None:
        self._work = work
        state = {before(i): i for i in range(width)}
        self._rows: list[tuple[int, int, list[tuple[int, int]], list[tuple[str, int]]]] = []
        for bias, terms in rows:
            numbers = [(name, rational(c, "interval arithmetic")) for name, c in terms]
            offset = rational(bias, "interval arithmetic")
            below = math.lcm(offset.denominator, *(c.denominator for _, c in numbers))
            whole = [(name, int(c * below)) for name, c in numbers if c != 0]
            self._rows.append(
                (
                    int(offset * below) * ONE,
                    below,
                    [(state[name], c) for name, c in whole if name in state],
                    [(name, c) for name, c in whole if name not in state],
                )
            )
        self._columns: dict[str, list[tuple[int, int]]] = {}
        for i, (_, _, _, named) in enumerate(self._rows):
            for name, c in named:
                self._columns.setdefault(name, []).append((i, c))
        self._divided = [(i, below) for i, (_, below, _, _) in enumerate(self._rows) if below != 1]
        self._size = sum(1 + len(held) + len(named) for _, _, held, named in self._rows)
        self._shares: dict[Sequence[Span], tuple[list[int], list[int]]] = {}

    def all_values(self, table: Mapping[str, Span], state: Sequence[Span] = ()) -> list[Span]:
        """Returns all rows; a name that is not in the table stands for zero."""
        self._work.spend(4 * self._size)
        shares = self._shares.get(state)
        if shares is None:
            totals = [_total(start, held, state) for start, _, held, _ in self._rows]
            shares = self._shares[state] = ([low for low, _ in totals], [high for _, high in totals])
        lows, highs, columns = shares[0].copy(), shares[1].copy(), self._columns
        for name, (low, high) in table.items():
            if name not in columns:
                continue
            for i, c in columns[name]:
                if c > 0:
                    lows[i] += c * low
                    highs[i] += c * high
                else:
                    lows[i] += c * high
                    highs[i] += c * low
        for i, below in self._divided:
            lows[i], highs[i] = lows[i] // below, -(-highs[i] // below)
        return list(zip(lows, highs, strict=True))

    def values(self, table: Mapping[str, Span], state: Sequence[Span] = ()) -> dict[int, Span]:
        """Returns all rows by number."""
        return dict(enumerate(self.all_values(table, state)))

    def relus(self, table: Mapping[str, Span]) -> dict[int, Span]:
        """Returns the ReLUs of all rows by number."""
        return dict(enumerate(map(relu, self.all_values(table))))


def _total(start: int, terms: Sequence[tuple[int, int]], spans: Sequence[Span]) -> Span:
    low = high = start
    for i, c in terms:
        a, b = spans[i] if c > 0 else (spans[i][1], spans[i][0])
        low += c * a
        high += c * b
    return low, high


class SpanArithmetic:
    """Spans; after every letter every coordinate is widened by the noise.

    Attributes:
        noise: in units of 2**-96.
        work: counts the operations.
    """

    zero = ZERO
    one = (ONE, ONE)
    meter = None
    leaves_open = True

    def __init__(self, work: WorkCount, noise: int = 0) -> None:
        self.work = work
        self.noise = noise
        self._leads: dict[int, SpanRows] = {}

    def rows(self, rows: Iterable[Row], width: int = 0) -> SpanRows:
        """Returns an affine map of names and of a state of this width."""
        return SpanRows(rows, width, self.work)

    def value(self, number: Number) -> Span:
        """Returns the span around a stored number."""
        return around(number)

    def settle(self, layer: int, values: Sequence[Span]) -> tuple[Span, ...]:
        """Returns the new state of a layer, with noise."""
        return tuple([(low - self.noise, high + self.noise) for low, high in values])

    def gated(self, gate: Span, value: Span, write: Span) -> Span:
        """Returns gate · value + write."""
        return add(multiply(gate, value), write)

    def squash(self, activation: str, values: Sequence[Span], layer: int) -> list[Span]:
        """Returns the activations of values."""
        self.work.spend(200 * len(values))
        if activation == "tanh":
            return tanhs(values)
        return list(map(relu if activation == "relu" else clip, values))

    def cell(
        self, move: CellMove, maps: Sequence[SpanRows], table: Mapping[str, Span], state: Sequence[Span]
    ) -> list[Span]:
        """Returns the new state of a gated cell."""
        self.work.spend(1_000 * len(state))
        return _gru(move, maps, table, state) if move.cell == "gru" else _lstm(move, maps, table, state)

    def above(self, value: Span, threshold: Fraction) -> bool | None:
        """Whether the values are above the threshold; None if some are and some are not."""
        low, high = value
        below, bound = threshold.denominator, threshold.numerator * ONE
        return True if low * below > bound else False if high * below <= bound else None

    def largest(self, products: Sequence[Span]) -> int:
        """Returns the number of the value that seems largest."""
        return max(range(len(products)), key=lambda i: sum(products[i]))

    def leads(
        self, points: PointTable, best: int, products: Sequence[Span], table: Mapping[str, Span]
    ) -> list[Span]:
        """Returns how far one product is above each; the difference as one row is tighter than two spans."""
        if best not in self._leads:
            mine = points.points[best]
            rows = [
                tuple((n, a - b) for n, a, b in zip(points.reads, mine, p, strict=True))
                for p in points.points
            ]
            self._leads[best] = SpanRows([(0, row) for row in rows], 0, self.work)
        return self._leads[best].all_values(table)


def _gru(
    move: CellMove, maps: Sequence[SpanRows], table: Mapping[str, Span], state: Sequence[Span]
) -> list[Span]:
    reset, update = (sigmoids(rows.all_values(table, state)) for rows in maps[:2])
    read = tuple(map(multiply, reset, state))
    candidate = tanhs(maps[2].all_values(table, read))
    shares = update if move.cap == 1 else [_capped(z, move.cap) for z in update]
    return list(map(mix, shares, state, candidate))


def _capped(share: Span, cap: Fraction) -> Span:
    """1 - cap·(1 - share), which grows with the share."""
    kept = outer(cap, cap)
    low, high = (multiply(kept, (ONE - end, ONE - end)) for end in share)
    return ONE - low[1], ONE - high[0]


def _lstm(
    move: CellMove, maps: Sequence[SpanRows], table: Mapping[str, Span], state: Sequence[Span]
) -> list[Span]:
    """The states h, c (and n) of an LSTM or sLSTM cell."""
    width = len(move.gates[0])
    write, forget, shown, inner = (rows.all_values(table, state[:width]) for rows in maps)
    kept = sigmoids(forget)
    amount = sigmoids(write) if move.cell == "lstm" else list(map(exp, write))
    new = [
        add(multiply(k, c), multiply(a, z))
        for k, c, a, z in zip(kept, state[width : 2 * width], amount, tanhs(inner), strict=True)
    ]
    gates = sigmoids(shown)
    if move.cell == "lstm":
        return [*map(multiply, gates, tanhs(new)), *new]
    total = [add(multiply(k, n), a) for k, n, a in zip(kept, state[2 * width :], amount, strict=True)]
    h = [multiply(o, divide(c, n)) for o, c, n in zip(gates, new, total, strict=True)]
    return [*h, *new, *total]
