"""A linear layer with ReLU units behind it as a function of the last words, in whole numbers.

If the layer forgets after n-1 words, its state is a fixed linear map of them: the word that was read `age`
words ago is multiplied by A^age B. The argument of each unit is then a sum over the ages of something that
depends on one word, plus a constant; multiplied by a common denominator it is whole, and floats add and
multiply whole numbers exactly as long as these stay small.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from nerode.core import Exact, InputError
from nerode.proofs.checker_records import CheckedNetwork, Fixed, Layer, now, seen_unit

Window = tuple[int, ...]
Active = dict[str, Fraction]
"""The directions of the stream that are not zero."""

Sparse = dict[int, Fraction]

_EXACT_FLOATS = 1 << 53
_WINDOWS_AT_ONCE = 512
_ENTRIES_AT_ONCE = 1 << 22


class LinearWindows:
    """The units of a linear layer as functions of the last words.

    Args:
        network: a network whose only layer is `layer`.
        layer: a layer with readout units that read the state, and outputs that read these units.
        moves: its recurrence, A^length = 0.
        length: number of words of a window.
    """

    def __init__(self, network: CheckedNetwork, layer: Layer, moves: Fixed, length: int) -> None:
        self.length = length
        reads = sorted(set(layer.reads))
        rows, bias = _unit_arguments(layer, *_unrolled(moves, reads, length))
        self._scale = [
            math.lcm(b.denominator, *(v.denominator for v in row.values()))
            for row, b in zip(rows, bias, strict=True)
        ]
        matrix = [
            [int(row.get(k, 0) * s) for k in range(length * len(reads))]
            for row, s in zip(rows, self._scale, strict=True)
        ]
        offsets = [int(b * s) for b, s in zip(bias, self._scale, strict=True)]
        words = [[_whole(vector[name]) for name in reads] for vector in network.embedding]
        size = max((abs(v) for vector in words for v in vector), default=0)
        sums = (sum(map(abs, row)) * size + abs(offset) for row, offset in zip(matrix, offsets, strict=True))
        dtype: Any = np.float64 if max(sums, default=0) < _EXACT_FLOATS else object
        self._words = np.array(words, dtype=dtype)
        self._matrix = np.array(matrix, dtype=dtype).reshape(len(rows), length * len(reads)).T
        self._offsets = np.array(offsets, dtype=dtype)
        self._columns = _unit_columns(layer)

    def outputs_after(self, windows: Sequence[Window]) -> Iterator[tuple[Window, Active]]:
        """Yields for each window the directions that are not zero after it."""
        for first in range(0, len(windows), _WINDOWS_AT_ONCE):
            batch = windows[first : first + _WINDOWS_AT_ONCE]
            # Newest word first: block `age` belongs to the word that was read `age` words ago.
            newest_first = [[window[-1 - age] for window in batch] for age in range(self.length)]
            inputs = np.hstack([self._words[words] for words in newest_first])
            for window, line in zip(batch, inputs @ self._matrix + self._offsets, strict=True):
                fired = np.flatnonzero(line > 0).tolist()
                yield window, self._outputs({j: line[j] for j in fired})

    def lone_windows(self) -> tuple[list[Window], Active]:
        """Returns the windows on which units fire that do not always fire, and what there is on all others.

        Raises:
            InputError: if a unit fires on some windows, but not on one or on all.
        """
        found: set[Window] = set()
        always: dict[int, Any] = {}
        width = self._words.shape[1]
        at_once = max(1, _ENTRIES_AT_ONCE // max(1, len(self._words)))
        for first in range(0, len(self._offsets), at_once):
            block = slice(first, first + at_once)
            parts = [
                self._words @ self._matrix[age * width : (age + 1) * width, block]
                for age in range(self.length)
            ]
            low = self._offsets[block] + sum(part.min(axis=0) for part in parts)
            high = self._offsets[block] + sum(part.max(axis=0) for part in parts)
            always |= {first + int(j): high[j] for j in np.flatnonzero((low == high) & (high > 0))}
            firing = np.flatnonzero((low < high) & (high > 0))
            if not len(firing):
                continue
            second = high - np.min([_lead(part) for part in parts], axis=0)
            if (second[firing] > 0).any():
                raise InputError("a unit fires on several windows, but not on all of them")
            best = np.array([part[:, firing].argmax(axis=0) for part in reversed(parts)])
            found.update(tuple(window) for window in best.T.tolist())
        return sorted(found), self._outputs(always)

    def _outputs(self, fired: dict[int, Any]) -> Active:
        """The directions of the stream that are not zero, from the units that fire."""
        found: Active = {}
        for j, value in fired.items():
            for name, c in self._columns[j]:
                found[name] = found.get(name, Fraction(0)) + c * Fraction(int(value), self._scale[j])
        return {name: v for name, v in found.items() if v}


def _lead(part: Any) -> Any:
    """How far the best word of each column is ahead of the second best."""
    ordered = np.sort(part, axis=0)
    return ordered[-1] - ordered[-2]


def _unrolled(moves: Fixed, reads: list[str], length: int) -> tuple[list[Fraction], list[Sparse]]:
    """The constant part of each coordinate and its coefficients of the window's words.

    Coordinate c of the word that was read `age` words ago is input number age · (number of reads) + c.
    """
    place = {name: c for c, name in enumerate(reads)}
    block: list[Sparse] = []
    for _, terms in moves.writes:
        row: Sparse = {}
        for name, c in terms:
            row[place[name]] = row.get(place[name], Fraction(0)) + rational(c)
        block.append(row)
    drift = [rational(offset) for offset, _ in moves.writes]
    matrix = [[(j, rational(c)) for j, c in row] for row in moves.matrix]
    constant = list(drift)
    states = [dict(row) for row in block]
    for age in range(1, length):
        block = _product(matrix, block)
        drift = [sum((c * drift[j] for j, c in row if drift[j]), Fraction(0)) for row in matrix]
        constant = [a + b for a, b in zip(constant, drift, strict=True)]
        for state, row in zip(states, block, strict=True):
            state.update((age * len(reads) + k, v) for k, v in row.items())
    return constant, states


def _product(matrix: list[list[tuple[int, Fraction]]], block: list[Sparse]) -> list[Sparse]:
    """The product of two sparse matrices; whole numbers over common denominators, which are faster."""
    below = math.lcm(*(v.denominator for row in block for v in row.values()))
    whole = [{k: v.numerator * (below // v.denominator) for k, v in row.items()} for row in block]
    product = []
    for row in matrix:
        scale = math.lcm(*(c.denominator for _, c in row))
        total: dict[int, int] = {}
        for j, c in row:
            factor = c.numerator * (scale // c.denominator)
            for k, v in whole[j].items():
                total[k] = total.get(k, 0) + factor * v
        product.append({k: Fraction(v, scale * below) for k, v in total.items() if v})
    return product


def _unit_arguments(
    layer: Layer, constant: list[Fraction], states: list[Sparse]
) -> tuple[list[Sparse], list[Fraction]]:
    """The arguments of the readout units as linear maps of the words of the window."""
    places = {now(i): i for i in range(len(layer.state))}
    rows: list[Sparse] = []
    bias = []
    for offset, terms in layer.seen_units:
        row: Sparse = {}
        total = rational(offset)
        for name, c in terms:
            if name not in places:
                raise InputError("a readout unit reads something else than the state")
            factor = rational(c)
            total += factor * constant[places[name]]
            for k, v in states[places[name]].items():
                row[k] = row.get(k, Fraction(0)) + factor * v
        rows.append(row)
        bias.append(total)
    return rows, bias


def _unit_columns(layer: Layer) -> list[list[tuple[str, Fraction]]]:
    """For each readout unit the directions that it adds to, with coefficients."""
    places = {seen_unit(j): j for j in range(len(layer.seen_units))}
    columns: list[list[tuple[str, Fraction]]] = [[] for _ in places]
    for name, (offset, terms) in layer.outputs:
        if offset != 0:
            raise InputError("an output is not zero where no unit fires")
        for source, c in terms:
            if source not in places:
                raise InputError("an output reads something else than the readout units")
            columns[places[source]].append((name, rational(c)))
    return columns


def rational(value: Exact) -> Fraction:
    """Returns an exact number as a fraction.

    Raises:
        InputError: if it is irrational.
    """
    if not isinstance(value, int | Fraction):
        raise InputError(f"{value} is not rational; this method is for rational networks")
    return Fraction(value)


def _whole(value: Exact) -> int:
    number = rational(value)
    if number.denominator != 1:
        raise InputError("an embedding has an entry that is not a whole number")
    return number.numerator
