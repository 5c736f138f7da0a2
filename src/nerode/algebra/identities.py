"""Identities of semigroups as data: read from text, evaluated on the maps that words induce on states.

An identity is written as in the books: letters are variables that range over non-empty words, ω is the
power that makes an element idempotent, 1 is the empty word. "(xy)^ω x = (xy)^ω" is the identity of the
R-trivial monoids. A violation is an assignment of words to the variables for which the two sides act
differently on some state.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass

from nerode.algebra.permutations import compose
from nerode.core import charge

Map = tuple[int, ...]
"""A transformation of the states 0 … n-1 by its images. Words act from left to right."""

_EXPONENTS = {"ω": 0, "(ω+1)": 1, "(ω-1)": -1}


@dataclass(frozen=True, slots=True)
class Term:
    """A product of factors; a factor is a variable or a term, alone (None) or to the power ω + shift."""

    factors: tuple[tuple[str | Term, int | None], ...]

    @property
    def variables(self) -> frozenset[str]:
        """The variables that occur."""
        inner = (frozenset(f) if isinstance(f, str) else f.variables for f, _ in self.factors)
        return frozenset[str]().union(*inner) - {"1"}


@functools.cache
def parse_identity(text: str) -> tuple[tuple[tuple[str, Term], tuple[str, Term]], ...]:
    """Returns the pairs of sides, as (text, term), that an identity equates.

    Args:
        text: equations separated by commas; "l = m = r" stands for "l = m" and "m = r".
    """
    equations = []
    for chain in text.split(","):
        sides = [side.strip() for side in chain.split("=")]
        if len(sides) < 2:
            raise ValueError(f"{chain!r} is not an equation")
        terms = [(side, _parse_term(side)) for side in sides]
        equations += [(terms[i], terms[i + 1]) for i in range(len(terms) - 1)]
    return tuple(equations)


def _parse_term(text: str) -> Term:
    factors: list[tuple[str | Term, int | None]] = []
    rest = text.replace(" ", "")
    while rest:
        factor: str | Term
        if rest[0] == "(":
            end = _closing(rest)
            factor, rest = _parse_term(rest[1:end]), rest[end + 1 :]
        elif rest[0].isalpha() or rest[0] == "1":
            factor, rest = rest[0], rest[1:]
        else:
            raise ValueError(f"{rest!r} in the term {text!r} starts with no variable, 1 or bracket")
        shift = None
        if rest.startswith("^"):
            exponent = next((e for e in _EXPONENTS if rest.startswith(e, 1)), None)
            if exponent is None:
                raise ValueError(
                    f"the exponent in {rest!r} of the term {text!r} is none of {list(_EXPONENTS)}"
                )
            shift, rest = _EXPONENTS[exponent], rest[1 + len(exponent) :]
        factors.append((factor, shift))
    return Term(tuple(factors))


def _closing(text: str) -> int:
    depth = 0
    for i, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return i
    raise ValueError(f"the bracket at the start of {text!r} is not closed")


def evaluate(term: Term, values: Mapping[str, Map], degree: int) -> Map:
    """Returns the map of a term, given the maps of its variables."""
    result = tuple(range(degree))
    for factor, shift in term.factors:
        if factor == "1":
            continue
        value = values[factor] if isinstance(factor, str) else evaluate(factor, values, degree)
        result = compose(result, value if shift is None else omega_power(value, shift))
    return result


def omega_power(x: Map, shift: int = 0) -> Map:
    """Returns x^(ω + shift): the idempotent power of a map, or its neighbour in the same group."""
    return map_power(x, 2 * omega_exponent(x) + shift)


def omega_exponent(x: Map) -> int:
    """Returns some N > 0 for which x^N is idempotent; the least one that is not below the longest tail."""
    image, tail = set(x), 1
    while len(smaller := {x[q] for q in image}) < len(image):
        image, tail = smaller, tail + 1
    period = 1
    while image:
        q = first = image.pop()
        length = 1
        while (q := x[q]) != first:
            image.remove(q)
            length += 1
        period = math.lcm(period, length)
    return period * -(-tail // period)


def map_power(x: Map, exponent: int) -> Map:
    """Returns x composed with itself `exponent` times."""
    result = tuple(range(len(x)))
    while exponent:
        charge()
        if exponent & 1:
            result = compose(result, x)
        x = compose(x, x)
        exponent >>= 1
    return result
