"""Named groups and monoids: explicit elements, their product, and a table of how they are written.

Maps and permutations act from the right: in the product x·y the factor x is applied first.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from nerode.core import Budget, InputError, started
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
        budget = started(budget)
        budget.check("bytes", 4 * self.order * len(letters), order=self.order)
        table = np.empty((self.order, len(letters)), dtype=np.int32)
        right = [self.values[a] for a in letters]
        for x, value in enumerate(self.values):
            table[x] = [self._numbers[self.multiply(value, y)] for y in right]
            if x % 256 == 0:
                budget.check_time(order=self.order)
        return table


Images = tuple[int, ...]
Quaternion = tuple[int, int, int, int]


def cyclic_group(n: int) -> FiniteMonoid:
    """Returns the integers modulo n under addition."""
    return FiniteMonoid(
        name=f"Z{n}",
        values=tuple(range(n)),
        element_names=tuple(map(str, range(n))),
        multiply=partial(_add_modulo, n),
        generators=(1,),
        is_group=True,
    )


def symmetric_group(n: int) -> FiniteMonoid:
    """Returns all permutations of n points, generated by (12) and (12…n)."""
    values = tuple(itertools.permutations(range(n)))
    generators = [_rotation(n, 0, 2), _rotation(n, 0, n)]
    return _permutation_group(f"S{n}", values, generators)


def alternating_group(n: int) -> FiniteMonoid:
    """Returns the even permutations of n points, generated by (123) and a cycle of odd length.

    The cycle is (12…n) for odd n and (23…n) for even n.
    """
    values = tuple(p for p in itertools.permutations(range(n)) if _is_even(p))
    generators = [_rotation(n, 0, 3), _rotation(n, 1 - n % 2, n)]
    return _permutation_group(f"A{n}", values, generators)


def dihedral_group(n: int) -> FiniteMonoid:
    """Returns the 2n symmetries of a regular n-gon; (i, j) stands for rⁱsʲ, and s·r = r⁻¹·s."""
    values = tuple((i, j) for j in (0, 1) for i in range(n))
    names = tuple((_power("r", i) + "s" * j) or "e" for i, j in values)
    return FiniteMonoid(
        name=f"D{n}",
        values=values,
        element_names=names,
        multiply=partial(_multiply_dihedral, n),
        generators=(1, n),
        is_group=True,
    )


def quaternion_group() -> FiniteMonoid:
    """Returns the unit quaternions ±1, ±i, ±j, ±k."""
    units = [tuple(int(p == q) for p in range(4)) for q in range(4)]
    values = (*units, *(tuple(-c for c in unit) for unit in units))
    return FiniteMonoid(
        name="Q8",
        values=values,
        element_names=("1", "i", "j", "k", "-1", "-i", "-j", "-k"),
        multiply=_multiply_quaternions,
        generators=(1, 2),
        is_group=True,
    )


def full_transformation_monoid(n: int) -> FiniteMonoid:
    """Returns all maps of n points to themselves, written by their images.

    Its generators are (12), (12…n) and the map that sends 2 to 1 and nothing else.
    """
    one = tuple(range(n))
    others = (images for images in itertools.product(range(n), repeat=n) if images != one)
    values = (one, *others)
    collapse = (0, 0, *range(2, n))
    generators = dict.fromkeys([_rotation(n, 0, 2), _rotation(n, 0, n), collapse])
    return FiniteMonoid(
        name=f"T{n}",
        values=values,
        element_names=tuple("[" + "".join(str(p + 1) for p in images) + "]" for images in values),
        multiply=_compose,
        generators=tuple(values.index(g) for g in generators),
        is_group=False,
        route=(0, 0),
    )


def semilattice_monoid() -> FiniteMonoid:
    """Returns U1: an identity 1 and a zero 0."""
    return FiniteMonoid(
        name="U1",
        values=((0, 1), (1, 1)),
        element_names=("1", "0"),
        multiply=_compose,
        generators=(1,),
        is_group=False,
        route=(0, 0),
    )


def flip_flop_monoid() -> FiniteMonoid:
    """Returns U2, the monoid of a one-bit store: hold, set (to 1), reset (to 0)."""
    return FiniteMonoid(
        name="U2",
        values=((0, 1), (1, 1), (0, 0)),
        element_names=("hold", "set", "reset"),
        multiply=_compose,
        generators=(1, 2),
        is_group=False,
        route=(0, 1),
    )


def cyclic_monoid(index: int, period: int) -> FiniteMonoid:
    """Returns the powers of x with x^(index+period) = x^index, acting on 0 … index+period-1."""
    size = index + period
    step = tuple(p + 1 if p + 1 < size else index for p in range(size))
    values: list[Images] = [tuple(range(size))]
    while len(values) < size:
        values.append(_compose(values[-1], step))
    return FiniteMonoid(
        name=f"C({index},{period})",
        values=tuple(values),
        element_names=tuple(_power("x", i) or "1" for i in range(size)),
        multiply=_compose,
        generators=(1,),
        is_group=False,
        route=(0, size - 1),
    )


def _permutation_group(name: str, values: tuple[Images, ...], generators: list[Images]) -> FiniteMonoid:
    numbers = {value: i for i, value in enumerate(values)}
    return FiniteMonoid(
        name=name,
        values=values,
        element_names=tuple(map(_cycles, values)),
        multiply=_compose,
        generators=tuple(numbers[g] for g in dict.fromkeys(generators)),
        is_group=True,
    )


def _rotation(n: int, first: int, stop: int) -> Images:
    """The permutation of n points that moves first, first+1, …, stop-1 round."""
    return tuple(p if not first <= p < stop else (p + 1 if p + 1 < stop else first) for p in range(n))


def _cycles(images: Images) -> str:
    """A permutation as cycles of points from 1; the identity is e."""
    separator = "," if len(images) > 9 else ""
    seen: set[int] = set()
    written = ""
    for start in range(len(images)):
        cycle = []
        p = start
        while p not in seen:
            seen.add(p)
            cycle.append(str(p + 1))
            p = images[p]
        if len(cycle) > 1:
            written += f"({separator.join(cycle)})"
    return written or "e"


def _is_even(images: Images) -> bool:
    inversions = sum(a > b for a, b in itertools.combinations(images, 2))
    return inversions % 2 == 0


def _power(letter: str, exponent: int) -> str:
    return "" if exponent == 0 else letter if exponent == 1 else f"{letter}{exponent}"


def _compose(x: Images, y: Images) -> Images:
    return tuple([y[p] for p in x])


def _add_modulo(n: int, x: int, y: int) -> int:
    return (x + y) % n


def _multiply_dihedral(n: int, x: tuple[int, int], y: tuple[int, int]) -> tuple[int, int]:
    i, j = x
    k, m = y
    return ((i - k if j else i + k) % n, (j + m) % 2)


def _multiply_quaternions(x: Quaternion, y: Quaternion) -> Quaternion:
    a, b, c, d = x
    e, f, g, h = y
    return (
        a * e - b * f - c * g - d * h,
        a * f + b * e + c * h - d * g,
        a * g - b * h + c * e + d * f,
        a * h + b * g - c * f + d * e,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MonoidFamily:
    """One row: how a family is written, how large its members are, how they are made.

    Attributes:
        pattern: matches a whole lower-case name; its groups are the numbers.
        canonical: the name as it is printed, from the numbers.
        smallest: the least value of each number.
        largest: the greatest value that makes sense to name; budgets stop most of them much earlier.
        order: number of elements, from the numbers.
        note: what the name means, from the numbers.
        build: makes the member.
        is_group: whether the members are groups.
    """

    pattern: re.Pattern[str]
    canonical: Callable[..., str]
    smallest: tuple[int, ...] = ()
    largest: tuple[int, ...] = ()
    order: Callable[..., int]
    note: Callable[..., str]
    build: Callable[..., FiniteMonoid]
    is_group: bool = True


FAMILIES = (
    MonoidFamily(
        pattern=re.compile(r"z(\d+)"),
        canonical="Z{}".format,
        smallest=(2,),
        largest=(999_999,),
        order=lambda n: n,
        note="{0} is the integers modulo {1} under addition".format,
        build=cyclic_group,
    ),
    MonoidFamily(
        pattern=re.compile(r"s(\d+)"),
        canonical="S{}".format,
        smallest=(2,),
        largest=(20,),
        order=math.factorial,
        note="{0} is all permutations of {1} points, the left factor applied first".format,
        build=symmetric_group,
    ),
    MonoidFamily(
        pattern=re.compile(r"a(\d+)"),
        canonical="A{}".format,
        smallest=(3,),
        largest=(20,),
        order=lambda n: math.factorial(n) // 2,
        note="{0} is the even permutations of {1} points, the left factor applied first".format,
        build=alternating_group,
    ),
    MonoidFamily(
        pattern=re.compile(r"d(\d+)"),
        canonical="D{}".format,
        smallest=(3,),
        largest=(499_999,),
        order=lambda n: 2 * n,
        note="{0} is the dihedral group of a {1}-gon, which has 2·{1} elements".format,
        build=dihedral_group,
    ),
    MonoidFamily(
        pattern=re.compile(r"q8"),
        canonical=lambda: "Q8",
        order=lambda: 8,
        note="{0} is the quaternion group, ±1, ±i, ±j, ±k".format,
        build=quaternion_group,
    ),
    MonoidFamily(
        pattern=re.compile(r"t(\d+)"),
        canonical="T{}".format,
        smallest=(2,),
        largest=(9,),
        order=lambda n: int(n**n),
        note="{0} is all maps of {1} points to themselves, the left factor applied first".format,
        build=full_transformation_monoid,
        is_group=False,
    ),
    MonoidFamily(
        pattern=re.compile(r"u1"),
        canonical=lambda: "U1",
        order=lambda: 2,
        note="{0} has an identity 1 and a zero 0".format,
        build=semilattice_monoid,
        is_group=False,
    ),
    MonoidFamily(
        pattern=re.compile(r"u2|flip-flop-monoid"),
        canonical=lambda: "U2",
        order=lambda: 3,
        note="{0} is the flip-flop monoid: hold, set to 1, reset to 0".format,
        build=flip_flop_monoid,
        is_group=False,
    ),
    MonoidFamily(
        pattern=re.compile(r"cyclic-monoid-(\d+)-(\d+)|c\((\d+),(\d+)\)"),
        canonical="C({},{})".format,
        smallest=(1, 1),
        largest=(999, 999),
        order=lambda m, n: m + n,
        note="{0} is the powers of x with x^({1}+{2}) = x^{1}".format,
        build=cyclic_monoid,
        is_group=False,
    ),
)
