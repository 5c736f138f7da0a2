"""Piecewise-linear functions of one hidden ReLU layer that constructions share.

All constants are integers or dyadic rationals, so that every value on the way is one. The digits follow the
retentive overwrite of docs/theory: a value written over a gate r of at most 1/4 keeps the one before it as
the second digit in base 1/r, with room for what is left of all earlier ones (at most r²/(1-r) ≤ r/3).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from nerode.compiler.forms import Form, constant, total
from nerode.compiler.layer_builder import Relu
from nerode.core import Exact

RETAIN = Fraction(1, 4)
"""The usual gate of a retentive overwrite; a smaller one forgets sooner, which floats may need."""


def conjunction(literals: Iterable[Form], relu: Relu) -> Form:
    """Returns 1 where all literals, each 0 or 1, are 1, 0 elsewhere; one unit for two literals or more."""
    parts = [form for form in dict.fromkeys(literals) if form != constant(1)]
    if not parts:
        return constant(1)
    return parts[0] if len(parts) == 1 else relu(total(parts) - (len(parts) - 1))


def ramp(form: Form, low: Exact, steepness: int, relu: Relu) -> Form:
    """Returns 0 up to `low` and 1 from `low + 1/steepness` on, linear between."""
    rise = (form - low) * steepness
    return relu(rise) - relu(rise - 1)


def is_positive(integer: Form, relu: Relu) -> Form:
    """Returns 1 for an integer above 0, and 0 otherwise."""
    return relu(integer) - relu(integer - 1)


def equals(integer: Form, value: int, relu: Relu) -> Form:
    """Returns 1 where an integer has this value, and 0 elsewhere: a tent of three units."""
    return relu(integer - (value - 1)) - 2 * relu(integer - value) + relu(integer - (value + 1))


def top_digit(form: Form, relu: Relu) -> Form:
    """Returns the value that was written last over a gate of at most 1/4."""
    return ramp(form, Fraction(1, 2), 4, relu)


def second_digit(form: Form, relu: Relu, retain: Fraction = RETAIN) -> Form:
    """Returns the value before the one that was written last over the gate `retain`.

    The form lies in [0, r/3], [r, 4r/3], 1 + [0, r/3] or 1 + [r, 4r/3].
    """
    steep = int(4 / retain)
    return steps(form, ((retain / 2, steep), (Fraction(1, 2), -4), (1 + retain / 2, steep)), relu)


def old_value(form: Form, wrote: Form, relu: Relu, retain: Fraction = RETAIN) -> Form:
    """Returns the value before the current step of a coordinate with gate 1 (hold) or `retain` (write).

    After a hold it is the top digit, after a write the second one. Both are one function of the coordinate
    shifted by 2 where `wrote` is 1.
    """
    steep = int(4 / retain)
    rises = (
        (Fraction(1, 2), 4),
        (Fraction(3, 2), -4),
        (2 + retain / 2, steep),
        (Fraction(5, 2), -4),
        (3 + retain / 2, steep),
    )
    return steps(form + 2 * wrote, rises, relu)


def steps(form: Form, rises: Sequence[tuple[Exact, int]], relu: Relu) -> Form:
    """Returns a staircase from 0: at each (place, steepness) it goes up by one, or down if negative."""
    return total(ramp(form, low, abs(s), relu) * (1 if s > 0 else -1) for low, s in rises)
