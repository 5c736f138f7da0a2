"""How many neurons of a network C relu(h + b) it takes to memorise N alternating points on a line.

Along the line x = t·u the network is a sum of k functions c·relu(a t + b). Each neuron is active on the
points from some point on, or up to some point; for a choice of these sets and of the signs of c, the values
that the network can take at the points form a cone with two generators a neuron. Whether the alternating
values lie in one of these cones is decided exactly: by the ramps, or by a separating vector for each choice.

The published proposition says that k < N neurons never suffice. For N = 2, 3 and 4 that is so. For N = 5 four
neurons do suffice, and for N = 6 again four: ramps that rise and ramps that fall together do what the proof
excludes. What the proof shows, k ≥ N - 2, is attained.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

from nerode.core import Budget, InputError
from nerode.proofs.linear_programs import find_in_cone, separates

Generator = tuple[Fraction, ...]
Neuron = tuple[Generator, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorisationBound:
    """What the search over all activation patterns found.

    Attributes:
        points: N, the number of points t = 1 … N with the values (-1)^t.
        neurons: k, the number of neurons.
        output_bias: whether a constant may be added to the output.
        possible: whether some network of this form takes all the values.
        patterns: how many choices of active sets and signs were examined.
        separators: the vectors that rule the choices out; each choice is ruled out by one of them.
        ramps: if it is possible, (a, b, c) of each neuron.
        constant: if it is possible, the constant that is added to the output.
    """

    points: int
    neurons: int
    output_bias: bool
    possible: bool
    patterns: int
    separators: tuple[tuple[Fraction, ...], ...]
    ramps: tuple[tuple[Fraction, Fraction, int], ...]
    constant: Fraction


def memorisation_bound(
    points: int, neurons: int, *, output_bias: bool = False, budget: Budget | None = None
) -> MemorisationBound:
    """Returns whether k ramps can take the alternating values at N points, with the proof.

    Implements: [Nandakumar2024, Proposition A.8]

    Raises:
        InputError: for fewer than two points or no neuron.
        BudgetExceeded: if there are too many activation patterns for the budget's time.
    """
    if points < 2 or neurons < 1:
        raise InputError(f"{points} points and {neurons} neurons make no question; give at least 2 and 1")
    budget = budget or Budget()
    target = [Fraction((-1) ** t) for t in range(1, points + 1)]
    kinds = [(sign, neuron) for neuron in _neurons(points) for sign in (1, -1)]
    constant = [tuple(Fraction(s) for _ in range(points)) for s in (1, -1)] if output_bias else []
    separators: list[tuple[Fraction, ...]] = []
    patterns = 0
    for chosen in itertools.combinations_with_replacement(kinds, neurons):
        patterns += 1
        generators = [_scaled(g, sign) for sign, neuron in chosen for g in neuron] + constant
        if any(separates(z, generators, target) for z in separators):
            continue
        budget.check_time(points=points, neurons=neurons, patterns=patterns)
        answer = find_in_cone(generators, target)
        if answer.weights is not None:
            return MemorisationBound(
                points=points,
                neurons=neurons,
                output_bias=output_bias,
                possible=True,
                patterns=patterns,
                separators=(),
                ramps=_ramps(chosen, answer.weights),
                constant=answer.weights[-2] - answer.weights[-1] if output_bias else Fraction(0),
            )
        assert answer.separator is not None
        if not separates(answer.separator, generators, target):
            raise ArithmeticError("the simplex method returned a vector that separates nothing")
        separators.append(answer.separator)
    return MemorisationBound(
        points=points,
        neurons=neurons,
        output_bias=output_bias,
        possible=False,
        patterns=patterns,
        separators=tuple(separators),
        ramps=(),
        constant=Fraction(0),
    )


def _neurons(points: int) -> list[Neuron]:
    """For each active set, two functions whose non-negative combinations are all the ramps active there."""
    times = range(1, points + 1)
    rising = [
        _pair([max(t - s, 0) for t in times], [max(t - s + 1, 0) for t in times])
        for s in range(2, points + 1)
    ]
    falling = [
        _pair([max(s - t, 0) for t in times], [max(s - t + 1, 0) for t in times]) for s in range(1, points)
    ]
    everywhere = _pair([t - 1 for t in times], [points - t for t in times])
    return [everywhere, *rising, *falling]


def _pair(first: list[int], second: list[int]) -> Neuron:
    return tuple(map(Fraction, first)), tuple(map(Fraction, second))


def _scaled(generator: Generator, sign: int) -> Generator:
    return tuple(sign * v for v in generator)


def _ramps(
    chosen: tuple[tuple[int, Neuron], ...], weights: tuple[Fraction, ...]
) -> tuple[tuple[Fraction, Fraction, int], ...]:
    """The ramps c·relu(a t + b) of a solution, read off two points where each is active or just not."""
    found = []
    for k, (sign, neuron) in enumerate(chosen):
        p, q = weights[2 * k], weights[2 * k + 1]
        a, b = Fraction(0), Fraction(0)
        for weight, generator in ((p, neuron[0]), (q, neuron[1])):
            slope, offset = _line(generator)
            a, b = a + weight * slope, b + weight * offset
        found.append((a, b, sign))
    return tuple(found)


def _line(generator: Generator) -> tuple[Fraction, Fraction]:
    """Slope and offset of the line that a ramp is where it is positive; slopes of ramps are 1 or -1."""
    positive = [t for t, v in enumerate(generator, start=1) if v > 0]
    if not positive:
        return Fraction(0), Fraction(0)
    rising = generator[-1] > generator[0]
    slope = Fraction(1 if rising else -1)
    return slope, generator[positive[0] - 1] - slope * positive[0]
