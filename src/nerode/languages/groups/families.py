"""The table of named groups and monoids: how they are written, how large they are, how they are made."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from nerode.languages.groups import named
from nerode.languages.groups.monoid import FiniteMonoid


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
    smallest: tuple[int, ...]
    largest: tuple[int, ...]
    order: Callable[..., int]
    note: Callable[..., str]
    build: Callable[..., FiniteMonoid]
    is_group: bool


FAMILIES = (
    MonoidFamily(
        pattern=re.compile(r"z(\d+)"),
        canonical="Z{}".format,
        smallest=(2,),
        largest=(999_999,),
        order=lambda n: n,
        note="{0} is the integers modulo {1} under addition".format,
        build=named.cyclic_group,
        is_group=True,
    ),
    MonoidFamily(
        pattern=re.compile(r"s(\d+)"),
        canonical="S{}".format,
        smallest=(2,),
        largest=(20,),
        order=math.factorial,
        note="{0} is all permutations of {1} points, the left factor applied first".format,
        build=named.symmetric_group,
        is_group=True,
    ),
    MonoidFamily(
        pattern=re.compile(r"a(\d+)"),
        canonical="A{}".format,
        smallest=(3,),
        largest=(20,),
        order=lambda n: math.factorial(n) // 2,
        note="{0} is the even permutations of {1} points, the left factor applied first".format,
        build=named.alternating_group,
        is_group=True,
    ),
    MonoidFamily(
        pattern=re.compile(r"d(\d+)"),
        canonical="D{}".format,
        smallest=(3,),
        largest=(499_999,),
        order=lambda n: 2 * n,
        note="{0} is the dihedral group of a {1}-gon, which has 2·{1} elements".format,
        build=named.dihedral_group,
        is_group=True,
    ),
    MonoidFamily(
        pattern=re.compile(r"q8"),
        canonical=lambda: "Q8",
        smallest=(),
        largest=(),
        order=lambda: 8,
        note="{0} is the quaternion group, ±1, ±i, ±j, ±k".format,
        build=named.quaternion_group,
        is_group=True,
    ),
    MonoidFamily(
        pattern=re.compile(r"t(\d+)"),
        canonical="T{}".format,
        smallest=(2,),
        largest=(9,),
        order=lambda n: int(n**n),
        note="{0} is all maps of {1} points to themselves, the left factor applied first".format,
        build=named.full_transformation_monoid,
        is_group=False,
    ),
    MonoidFamily(
        pattern=re.compile(r"u1"),
        canonical=lambda: "U1",
        smallest=(),
        largest=(),
        order=lambda: 2,
        note="{0} has an identity 1 and a zero 0".format,
        build=named.semilattice_monoid,
        is_group=False,
    ),
    MonoidFamily(
        pattern=re.compile(r"u2|flip-flop-monoid"),
        canonical=lambda: "U2",
        smallest=(),
        largest=(),
        order=lambda: 3,
        note="{0} is the flip-flop monoid: hold, set to 1, reset to 0".format,
        build=named.flip_flop_monoid,
        is_group=False,
    ),
    MonoidFamily(
        pattern=re.compile(r"cyclic-monoid-(\d+)-(\d+)|c\((\d+),(\d+)\)"),
        canonical="C({},{})".format,
        smallest=(1, 1),
        largest=(999, 999),
        order=lambda m, n: m + n,
        note="{0} is the powers of x with x^({1}+{2}) = x^{1}".format,
        build=named.cyclic_monoid,
        is_group=False,
    ),
)
