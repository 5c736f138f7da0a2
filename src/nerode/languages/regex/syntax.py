"""What a regular expression is made of."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from nerode.core import InputError
from nerode.languages.alphabet import Alphabet
from nerode.languages.trees import Tree, flatten, subtrees

MAX_REPEAT = 10_000
"""The largest number inside the braces of a repeat."""


class Expression(Tree):
    """A node of a regular expression; every node is one of the classes below."""

    __slots__ = ()

    @property
    def children(self) -> tuple[Expression, ...]:
        """The operands, left to right."""
        return ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sum(1 for _ in subtrees(self))} subexpressions)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EmptySet(Expression):
    """No word."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Epsilon(Expression):
    """The empty word."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Letters(Expression):
    """One letter out of a non-empty set, given as a sorted tuple."""

    symbols: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.symbols or list(self.symbols) != sorted(set(self.symbols)):
            raise InputError(
                f"the letters {self.symbols} are not a non-empty sorted tuple without repetitions"
            )

    @property
    def label(self) -> Hashable:
        """The letters."""
        return self.symbols


def _check_parts(node: Concat | Union | Intersection) -> None:
    kind = type(node)
    if len(node.parts) < 2 or any(isinstance(part, kind) for part in node.parts):
        raise InputError(
            f"a {kind.__name__} needs at least two parts, none of them a {kind.__name__}; "
            f"{kind.__name__.lower()}() makes one from any parts"
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Concat(Expression):
    """One part after the other."""

    parts: tuple[Expression, ...]

    def __post_init__(self) -> None:
        _check_parts(self)

    @property
    def children(self) -> tuple[Expression, ...]:
        """The parts."""
        return self.parts


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Union(Expression):
    """Words of at least one part."""

    parts: tuple[Expression, ...]

    def __post_init__(self) -> None:
        _check_parts(self)

    @property
    def children(self) -> tuple[Expression, ...]:
        """The parts."""
        return self.parts


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Intersection(Expression):
    """Words of all parts."""

    parts: tuple[Expression, ...]

    def __post_init__(self) -> None:
        _check_parts(self)

    @property
    def children(self) -> tuple[Expression, ...]:
        """The parts."""
        return self.parts


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Complement(Expression):
    """Words over the alphabet that the operand does not have."""

    operand: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        """The operand."""
        return (self.operand,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Repeat(Expression):
    """At least `low` and at most `high` times the operand; None is no limit."""

    operand: Expression
    low: int
    high: int | None

    def __post_init__(self) -> None:
        top = self.low if self.high is None else self.high
        if not 0 <= self.low <= top <= MAX_REPEAT:
            raise InputError(
                f"a repeat from {self.low} to {self.high} is not possible; "
                f"give 0 ≤ low ≤ high ≤ {MAX_REPEAT:,}, or None for no upper limit"
            )

    @property
    def children(self) -> tuple[Expression, ...]:
        """The operand."""
        return (self.operand,)

    @property
    def label(self) -> Hashable:
        """The limits."""
        return self.low, self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Regex:
    """An expression and the alphabet that its complements are relative to."""

    expression: Expression
    alphabet: Alphabet

    def __post_init__(self) -> None:
        if not self.alphabet.symbols:
            raise InputError("a regular expression needs an alphabet with at least one symbol")
        known = set(self.alphabet)
        for node in subtrees(self.expression):
            if isinstance(node, Letters) and not known.issuperset(node.symbols):
                unknown = next(symbol for symbol in node.symbols if symbol not in known)
                raise InputError(
                    f"the letter {unknown!r} of the expression is not in the alphabet "
                    f"{{{self.alphabet.describe()}}}"
                )


def concat(*parts: Expression) -> Expression:
    """Returns the parts one after the other; ε if there are none."""
    flat = flatten(Concat, parts)
    return Concat(flat) if len(flat) > 1 else flat[0] if flat else Epsilon()


def union(*parts: Expression) -> Expression:
    """Returns the union of the parts; ∅ if there are none."""
    flat = flatten(Union, parts)
    return Union(flat) if len(flat) > 1 else flat[0] if flat else EmptySet()


def intersection(*parts: Expression) -> Expression:
    """Returns the intersection of one or more parts."""
    flat = flatten(Intersection, parts)
    if not flat:
        raise InputError("an intersection needs at least one part")
    return Intersection(flat) if len(flat) > 1 else flat[0]
