"""Lower bounds for the size of the minimal automaton that can be read off the expression."""

from __future__ import annotations

from dataclasses import dataclass

from nerode.languages.regex.syntax import (
    Complement,
    Concat,
    Epsilon,
    Expression,
    Intersection,
    Letters,
    Repeat,
    Union,
)
from nerode.languages.trees import fold


@dataclass(frozen=True, slots=True)
class Lengths:
    """The shortest and the longest word of a non-empty language; None: there is no longest one."""

    shortest: int
    longest: int | None


def least_states(expression: Expression) -> int:
    """Returns a number of states that the minimal complete automaton is sure to have.

    A shortest accepted word visits no state twice, and neither does any word of a finite language, which
    also needs a dead state. So a pattern of a million letters is known to be too large before anything
    is built. Nothing is claimed for expressions with complements or intersections.

    Args:
        expression: a simplified one.
    """
    lengths = fold(expression, _lengths)
    if lengths is None:
        return 1
    finite = 0 if lengths.longest is None else lengths.longest + 2
    return max(lengths.shortest + 1, finite)


def _lengths(node: Expression, below: list[Lengths | None]) -> Lengths | None:
    """The lengths of a node; None when they are not known or there is no word."""
    known = [lengths for lengths in below if lengths is not None]
    if len(known) < len(below):
        return None
    longest = [lengths.longest for lengths in known]
    bounded = [length for length in longest if length is not None]
    infinite = len(bounded) < len(longest)
    match node:
        case Epsilon():
            return Lengths(0, 0)
        case Letters():
            return Lengths(1, 1)
        case Concat():
            return Lengths(sum(lengths.shortest for lengths in known), None if infinite else sum(bounded))
        case Union():
            return Lengths(min(lengths.shortest for lengths in known), None if infinite else max(bounded))
        case Repeat(_, low, high):
            top = None if infinite or high is None else bounded[0] * high
            return Lengths(known[0].shortest * low, top)
        case Complement() | Intersection():
            return None
        case _:
            return None
