"""Cells in which some coordinates are known up to a cap: tallies that are counted up for ever.

A time-invariant layer cannot set a flag once; it can only count the events. A coordinate that keeps its
value, never falls, and is read through ReLU units whose slopes cancel where all of them are on makes no
difference beyond the point where they are. There every larger value does the same, so the cap may stand for
it.

What is verified: the coordinate is held by a gate of exactly 1 and feeds no other coordinate; no step of the
walk lowers it; the output rows have no slope along it when its units are on; and at every step of the walk
with a value at the cap or above, all its units are on. Then the step from the cap stands for the steps from
all values above it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from nerode.kernel.network import CheckedLayer, FixedMove, GatedMove, Row, before, now, read_place, seen_unit
from nerode.kernel.numbers import rational
from nerode.kernel.reader import quoted, read_whole
from nerode.kernel.step import ExactArithmetic, States, Stepper, Table
from nerode.kernel.walk import CheckProblem, Image, PointDomain
from nerode.kernel.work import Undecided, Unreadable

MAX_CAP = 1 << 32


@dataclass(frozen=True, slots=True)
class CappedTally:
    """A coordinate with its cap, and the units that read it after and before the letter."""

    layer: int
    coordinate: int
    cap: int
    units_now: tuple[Row, ...]
    units_before: tuple[Row, ...]


class CappedDomain(PointDomain):
    """Joint configurations of network and language, with caps in place of larger values.

    Raises:
        Unreadable: if the caps are not a whole number for each coordinate.
        Undecided: if a coordinate is not a tally.
    """

    def __init__(self, problem: CheckProblem, caps: Any) -> None:
        stepper = Stepper(problem.network, ExactArithmetic(problem.network))
        super().__init__(problem, stepper)
        if not isinstance(caps, dict) or not caps:
            raise Unreadable(f"caps must be an object with a cap for each coordinate, not {quoted(caps)}")
        self._language = problem.language
        self._steps = stepper
        self._layers = problem.network.layers
        self._tallies = []
        for name, cap in caps.items():
            number, i = read_place(name, problem.network)
            layer = self._layers[number]
            read_whole(cap, f"the cap of {quoted(name)}", 1, MAX_CAP)
            start = rational(layer.start[i], "a cap")
            if layer.complex_state or not _is_held(layer, i) or not 0 <= start <= cap:
                raise Undecided(f"{name} is not held by a gate of 1, or does not start between 0 and its cap")
            units = (_units(layer, now(i)), _units(layer, before(i)))
            self._tallies.append(CappedTally(number, i, cap, *units))

    def images(self, cell: Any, letter: int) -> list[Image]:
        """Returns the next state, with caps, and configuration."""
        states, configuration = cell
        new, stream = self._steps.run_layers(states, letter)
        target = self._language.advance(configuration, letter)
        capped = self._capped(states, new, stream)
        return [Image((capped, target), self._language.legal(target), self._steps.answer(stream))]

    def _capped(self, old: States, new: States, stream: Table) -> States:
        """The new states with caps in place of larger values, after checking that this changes nothing."""
        states = [list(state) for state in new]
        for tally in self._tallies:
            layer = self._layers[tally.layer]
            was, value = (rational(s[tally.layer][tally.coordinate], "a cap") for s in (old, new))
            if value < was:
                raise Undecided("a step lowers a coordinate with a cap")
            table = {name: stream.get(name, 0) for name in layer.reads}
            table |= {now(i): v for i, v in enumerate(new[tally.layer])}
            table |= {before(i): v for i, v in enumerate(old[tally.layer])}
            if value >= tally.cap:
                _check_on(tally.units_now, table)
                states[tally.layer][tally.coordinate] = tally.cap
            if layer.exposes_previous and was >= tally.cap:
                _check_on(tally.units_before, table)
        return tuple(tuple(state) for state in states)


def _is_held(layer: CheckedLayer, i: int) -> bool:
    """Whether the coordinate keeps its value and no other coordinate reads it."""
    match layer.move:
        case FixedMove(matrix):
            others = (j for k, row in enumerate(matrix) if k != i for j, c in row if c != 0)
            return matrix[i] == ((i, 1),) and i not in others
        case GatedMove(gates):
            return gates[i] == (1, ())
    return False


def _units(layer: CheckedLayer, name: str) -> tuple[Row, ...]:
    """The units that read a value; their slopes must be positive and cancel in every output."""
    slopes = {}
    for j, (_, terms) in enumerate(layer.seen_units):
        slope = _slope(terms, {name: Fraction(1)})
        if slope < 0:
            raise Undecided("a unit falls along a coordinate with a cap")
        if slope > 0:
            slopes[seen_unit(j)] = slope
    for _, (_, terms) in layer.outputs:
        if any(source == name for source, _ in terms):
            raise Undecided("an output reads a coordinate with a cap directly")
        if _slope(terms, slopes) != 0:
            raise Undecided("an output grows along a coordinate with a cap")
    return tuple(row for j, row in enumerate(layer.seen_units) if seen_unit(j) in slopes)


def _slope(terms: Sequence[tuple[str, Any]], slopes: Mapping[str, Fraction]) -> Fraction:
    parts = (rational(c, "a cap") * slopes[name] for name, c in terms if name in slopes)
    return sum(parts, Fraction(0))


def _check_on(units: Sequence[Row], table: Mapping[str, Any]) -> None:
    for bias, terms in units:
        values = (rational(c, "a cap") * rational(table[name], "a cap") for name, c in terms)
        if rational(bias, "a cap") + sum(values, Fraction(0)) < 0:
            raise Undecided("a unit that reads a coordinate at its cap is off")
