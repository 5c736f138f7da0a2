"""Finite monoids as explicit elements with a rule for multiplying them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nerode.core import Budget, InputError
from nerode.languages.dfa import IntArray


@dataclass(frozen=True, kw_only=True, eq=False)
class FiniteMonoid:
    """A finite monoid; its elements are the numbers 0 … order-1, and 0 is the identity.

    The elements are kept as values (residues, tuples of images, pairs …) and multiplied by rule, so that
    a group of ten thousand elements needs no table of a hundred million entries.

    Attributes:
        name: canonical name, e.g. "S3" or "A4xZ5".
        values: one hashable value an element, the identity first.
        element_names: readable and distinct, in the same order.
        multiply: the value of a product from the values of its factors.
        generators: elements that generate the monoid together with the identity.
        is_group: whether every element has an inverse.
        route: for a monoid of maps that is not a group, the point where its language starts and the point
            where it accepts (see `nerode.languages.groups.word_problem`); None for a group.
    """

    name: str
    values: tuple[Hashable, ...]
    element_names: tuple[str, ...]
    multiply: Callable[[Any, Any], Hashable] = field(repr=False)
    generators: tuple[int, ...]
    is_group: bool
    route: tuple[int, int] | None = None
    _numbers: dict[Hashable, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        numbers = {value: i for i, value in enumerate(self.values)}
        if len(numbers) != len(self.values) or len(set(self.element_names)) != len(self.values):
            raise InputError(f"the elements of {self.name} are not distinct or not named one by one")
        if not self.generators or not all(0 <= g < len(self.values) for g in self.generators):
            raise InputError(f"the generators of {self.name} are not among its elements")
        one = self.values[0]
        for g in self.generators:
            value = self.values[g]
            if self.multiply(one, value) != value or self.multiply(value, one) != value:
                raise InputError(f"the first element of {self.name} is not its identity")
        if self.is_group != (self.route is None):
            raise InputError(f"{self.name} needs a route exactly if it is not a group")
        object.__setattr__(self, "_numbers", numbers)

    @property
    def order(self) -> int:
        """Number of elements."""
        return len(self.values)

    @property
    def identity(self) -> int:
        """The number of the identity, always 0."""
        return 0

    def product(self, *factors: int) -> int:
        """Returns the product of elements, taken from left to right; of none, the identity."""
        value = self.values[0]
        for x in factors:
            value = self.multiply(value, self.values[x])
        try:
            return self._numbers[value]
        except KeyError:
            raise InputError(
                f"the elements of {self.name} are not closed under multiplication: {value!r}"
            ) from None

    def element(self, name: str) -> int:
        """Returns the number of the element with this name."""
        try:
            return self.element_names.index(name)
        except ValueError:
            raise InputError(
                f"{self.name} has no element {name!r}; its elements are written like "
                f"{', '.join(self.element_names[:6])}"
            ) from None

    def times(self, letters: tuple[int, ...], budget: Budget | None = None) -> IntArray:
        """Returns the table whose entry [x, i] is x · letters[i].

        Raises:
            BudgetExceeded: if it takes too much memory or too long.
        """
        budget = budget or Budget()
        budget.check("bytes", 4 * self.order * len(letters), order=self.order)
        table = np.empty((self.order, len(letters)), dtype=np.int32)
        right = [self.values[a] for a in letters]
        for x, value in enumerate(self.values):
            table[x] = [self._numbers[self.multiply(value, y)] for y in right]
            if x % 256 == 0:
                budget.check_time(order=self.order)
        return table
