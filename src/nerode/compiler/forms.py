"""Affine forms over named directions: how constructions write the rows of their maps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from nerode.core import Exact


class Form:
    """bias + sum of coefficient · direction; a value that can be added and scaled.

    Attributes:
        terms: the non-zero coefficients by direction.
        bias: the constant.
    """

    __slots__ = ("bias", "terms")

    def __init__(self, terms: Mapping[str, Exact] | None = None, bias: Exact = 0) -> None:
        self.terms = {name: c for name, c in (terms or {}).items() if c != 0}
        self.bias = bias

    def __add__(self, other: Form | Exact) -> Form:
        return total((self, other))

    __radd__ = __add__

    def __neg__(self) -> Form:
        return self * -1

    def __sub__(self, other: Form | Exact) -> Form:
        return self + (-other)

    def __rsub__(self, other: Exact) -> Form:
        return -self + other

    def __mul__(self, factor: Exact) -> Form:
        return Form({name: c * factor for name, c in self.terms.items()}, self.bias * factor)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self.terms == other.terms and self.bias == other.bias

    def __hash__(self) -> int:
        return hash((frozenset(self.terms.items()), self.bias))

    def __repr__(self) -> str:
        return f"Form({self.terms}, {self.bias})"

    @property
    def is_constant(self) -> bool:
        """Whether the form reads nothing."""
        return not self.terms


def reduce_one_hot(form: Form, one_hot: Sequence[str]) -> Form:
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
    return form - best * (Form(dict.fromkeys(one_hot, 1)) - 1)


def direction(name: str) -> Form:
    """Returns the value of one direction."""
    return Form({name: 1})


def constant(value: Exact) -> Form:
    """Returns a constant."""
    return Form(None, value)


def total(forms: Iterable[Form | Exact]) -> Form:
    """Returns the sum; 0 for none."""
    terms: dict[str, Exact] = {}
    bias: Exact = 0
    for form in forms:
        if isinstance(form, Form):
            bias = bias + form.bias
            for name, coefficient in form.terms.items():
                terms[name] = terms.get(name, 0) + coefficient
        else:
            bias = bias + form
    return Form(terms, bias)
