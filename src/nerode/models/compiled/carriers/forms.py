"""Affine forms over the numbered places of a residual stream, with exact coefficients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from nerode.core import Exact, to_float
from nerode.network import Affine

ONE = 0
"""The place of the stream that always holds 1."""


@dataclass(frozen=True, slots=True)
class Form:
    """constant + Σ coefficient · (what stands at a place)."""

    terms: Mapping[int, Exact] = field(default_factory=dict)
    constant: Exact = 0

    @property
    def is_constant(self) -> bool:
        """Whether nothing is read."""
        return not self.terms

    def scaled(self, factor: Exact) -> Form:
        """Returns the form times a number."""
        if factor == 0:
            return Form()
        return Form({place: c * factor for place, c in self.terms.items()}, self.constant * factor)

    def mapped(self, function: Callable[[Exact], Exact]) -> Form:
        """Returns the form with a function applied to all its numbers."""
        terms = {place: function(c) for place, c in self.terms.items()}
        return Form({p: c for p, c in terms.items() if c != 0}, function(self.constant))

    def plus(self, other: Form) -> Form:
        """Returns the sum of two forms."""
        terms = dict(self.terms)
        for place, c in other.terms.items():
            terms[place] = terms.get(place, 0) + c
        return Form({p: c for p, c in terms.items() if c != 0}, self.constant + other.constant)

    def row(self, width: int) -> Tensor:
        """Returns the coefficients by place, in float64; the constant is that of the place `ONE`."""
        row = torch.zeros(width, dtype=torch.float64)
        for place, c in self.terms.items():
            row[place] = to_float(c)
        row[ONE] += to_float(self.constant)
        return row


def at(place: int) -> Form:
    """Returns the form that reads one place."""
    return Form({place: 1})


def compose(affine: Affine, inputs: Sequence[Form]) -> list[Form]:
    """Returns the rows of a map whose inputs are forms themselves."""
    return [
        combine(((inputs[j], c) for j, c in row), constant)
        for row, constant in zip(affine.rows, affine.bias, strict=True)
    ]


def combine(parts: Iterable[tuple[Form, Exact]], constant: Exact = 0) -> Form:
    """Returns the constant and the sum of forms times numbers."""
    total = Form({}, constant)
    for form, factor in parts:
        total = total.plus(form.scaled(factor))
    return total


def matrix(forms: Sequence[Form], width: int) -> Tensor:
    """Returns the rows of forms as a matrix (forms, width) in float64."""
    return torch.stack([form.row(width) for form in forms]) if forms else torch.zeros(0, width).double()
