"""Evaluating forms whose ReLU units were made one after the other."""

from __future__ import annotations

from nerode.compiler.forms import DirectionForm, constant, direction
from nerode.core import Exact


class Values:
    """Directions with values; `relu` makes units whose values are known at once."""

    def __init__(self, values: dict[str, Exact]) -> None:
        self.values = dict(values)
        self.num_units = 0

    def of(self, form: DirectionForm) -> Exact:
        """The value of a form."""
        total = form.bias
        for name, coefficient in form.terms.items():
            total = total + coefficient * self.values[name]
        return total

    def relu(self, form: DirectionForm) -> DirectionForm:
        """A unit, as a layer's builder would make it."""
        if form.is_constant:
            return constant(max(form.bias, 0))
        name = f"unit {self.num_units}"
        self.num_units += 1
        self.values[name] = max(self.of(form), 0)
        return direction(name)
