"""Affine forms over named directions, and piecewise-linear functions of them with one hidden ReLU layer.

Constructions write the rows of their maps as forms. All constants of the piecewise-linear functions are
integers or dyadic rationals, so that every value on the way is one. The digits follow the retentive overwrite
of docs/theory: a value written over a gate r of at most 1/4 keeps the one before it as the second digit in
base 1/r, with room for what is left of all earlier ones (at most r²/(1-r) ≤ r/3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from nerode.core import Exact, charge

RETAIN = Fraction(1, 4)
"""The usual gate of a retentive overwrite; a smaller one forgets sooner, which floats may need."""


class DirectionForm:
    """bias + sum of coefficient · direction; a value that can be added and scaled.

    Attributes:
        terms: the non-zero coefficients by direction.
        bias: the constant.
    """

    __slots__ = ("bias", "terms")

    def __init__(self, terms: Mapping[str, Exact] | None = None, bias: Exact = 0) -> None:
        self.terms = {name: c for name, c in (terms or {}).items() if c != 0}
        self.bias = bias

    def __add__(self, other: DirectionForm | Exact) -> DirectionForm:
        return total((self, other))

    __radd__ = __add__

    def __neg__(self) -> DirectionForm:
        return self * -1

    def __sub__(self, other: DirectionForm | Exact) -> DirectionForm:
        return self + (-other)

    def __rsub__(self, other: Exact) -> DirectionForm:
        return -self + other

    def __mul__(self, factor: Exact) -> DirectionForm:
        return DirectionForm({name: c * factor for name, c in self.terms.items()}, self.bias * factor)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DirectionForm) and self.terms == other.terms and self.bias == other.bias

    def __hash__(self) -> int:
        return hash((frozenset(self.terms.items()), self.bias))

    def __repr__(self) -> str:
        return f"DirectionForm({self.terms}, {self.bias})"

    @property
    def is_constant(self) -> bool:
        """Whether the form reads nothing."""
        return not self.terms


Relu = Callable[[DirectionForm], DirectionForm]
"""Makes a ReLU unit of a form and returns its value as a form."""

Join = Callable[[Iterable[DirectionForm], Relu], DirectionForm]
"""Makes a conjunction of literals."""


def reduce_one_hot(form: DirectionForm, one_hot: Sequence[str]) -> DirectionForm:
    """Returns a form with fewer terms, if any, that agrees where exactly one of some directions is 1.

    The sum of these directions is 1 there, so any multiple of (sum - 1) may be subtracted. A constant counts
    as a term: [a] - [b] stays as it is.
    """
    if not any(name in form.terms for name in one_hot):
        return form
    coefficients = [form.terms.get(name, 0) for name in one_hot]

    def num_terms(multiple: Exact) -> int:
        return sum(1 for c in coefficients if c != multiple)

    best = min(dict.fromkeys((0, *coefficients)), key=num_terms)
    saved = num_terms(0) - num_terms(best)
    if saved <= max(0, (form.bias + best != 0) - (form.bias != 0)):
        return form
    return form - best * (DirectionForm(dict.fromkeys(one_hot, 1)) - 1)


def direction(name: str) -> DirectionForm:
    """Returns the value of one direction."""
    return DirectionForm({name: 1})


def constant(value: Exact) -> DirectionForm:
    """Returns a constant."""
    return DirectionForm(None, value)


def total(forms: Iterable[DirectionForm | Exact]) -> DirectionForm:
    """Returns the sum; 0 for none."""
    charge()
    terms: dict[str, Exact] = {}
    bias: Exact = 0
    for form in forms:
        if isinstance(form, DirectionForm):
            bias = bias + form.bias
            for name, coefficient in form.terms.items():
                terms[name] = terms.get(name, 0) + coefficient
        else:
            bias = bias + form
    return DirectionForm(terms, bias)


def combination(parts: Iterable[tuple[Exact, DirectionForm]]) -> DirectionForm:
    """Returns the sum of forms times numbers, from pairs (number, form)."""
    charge()
    terms: dict[str, Exact] = {}
    bias: Exact = 0
    for factor, form in parts:
        bias = bias + factor * form.bias
        for name, coefficient in form.terms.items():
            terms[name] = terms.get(name, 0) + factor * coefficient
    return DirectionForm(terms, bias)


def conjunction(literals: Iterable[DirectionForm], relu: Relu) -> DirectionForm:
    """Returns 1 where all literals, each 0 or 1, are 1, 0 elsewhere; one unit for two literals or more."""
    parts = [form for form in dict.fromkeys(literals) if form != constant(1)]
    if not parts:
        return constant(1)
    return parts[0] if len(parts) == 1 else relu(total(parts) - (len(parts) - 1))


def ramp(form: DirectionForm, low: Exact, steepness: int, relu: Relu) -> DirectionForm:
    """Returns 0 up to `low` and 1 from `low + 1/steepness` on, linear between."""
    rise = (form - low) * steepness
    return relu(rise) - relu(rise - 1)


def is_positive(integer: DirectionForm, relu: Relu, one: DirectionForm | Exact = 1) -> DirectionForm:
    """Returns `one` for a multiple of it, by an integer above 0, and 0 for other multiples."""
    return relu(integer) - relu(integer - one)


def is_zero(integer: DirectionForm, relu: Relu, one: DirectionForm | Exact = 1) -> DirectionForm:
    """Returns `one` for 0, and 0 for multiples of it by other integers: a tent of three units."""
    return relu(integer + one) - 2 * relu(integer) + relu(integer - one)


def equals(integer: DirectionForm, value: int, relu: Relu) -> DirectionForm:
    """Returns 1 where an integer has this value, and 0 elsewhere."""
    return is_zero(integer - value, relu)


def top_digit(form: DirectionForm, relu: Relu) -> DirectionForm:
    """Returns the value that was written last over a gate of at most 1/4."""
    return ramp(form, Fraction(1, 2), 4, relu)


def second_digit(form: DirectionForm, relu: Relu, retain: Fraction = RETAIN) -> DirectionForm:
    """Returns the value before the one that was written last over the gate `retain`.

    The form lies in [0, r/3], [r, 4r/3], 1 + [0, r/3] or 1 + [r, 4r/3].
    """
    steep = int(4 / retain)
    return steps(form, ((retain / 2, steep), (Fraction(1, 2), -4), (1 + retain / 2, steep)), relu)


def old_value(
    form: DirectionForm, wrote: DirectionForm, relu: Relu, retain: Fraction = RETAIN
) -> DirectionForm:
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


def steps(form: DirectionForm, rises: Sequence[tuple[Exact, int]], relu: Relu) -> DirectionForm:
    """Returns a staircase from 0: at each (place, steepness) it goes up by one, or down if negative."""
    return total(ramp(form, low, abs(s), relu) * (1 if s > 0 else -1) for low, s in rises)
