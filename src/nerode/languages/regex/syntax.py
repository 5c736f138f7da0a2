"""Regular expressions as trees, their text, and membership straight from the definition.

`to_text` writes with as few parentheses as possible; `matches` is slow, short and independent of the
automata: the oracle for everything compiled.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nerode.core import InputError
from nerode.languages.alphabet import Alphabet, WordLike
from nerode.languages.notation import Tree, flatten, fold, subtrees, write_symbol

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


RESERVED = frozenset("|&~*+?{}()[]<>.\\^$ε∅")
"""Characters that mean something outside a class."""

RESERVED_IN_CLASS = RESERVED | {"-"}
"""Characters that mean something inside a class, and those that do outside."""

_BINDING: dict[type[Expression], int] = {Union: 1, Intersection: 2, Concat: 3, Complement: 4, Repeat: 5}
_ATOM = 6
_SEPARATOR: dict[type[Expression], str] = {Union: "|", Intersection: "&", Concat: ""}


def to_text(regex: Regex) -> str:
    """Returns a pattern that parses to this expression over this alphabet."""
    pieces: list[str] = []
    # What is still to be written, last first: text, or an expression and how tightly it must bind.
    todo: list[str | tuple[Expression, int]] = [(regex.expression, 0)]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        node, needed = item
        binding = _BINDING.get(type(node), _ATOM)
        if binding < needed:
            todo += [")", (node, 0), "("]
        elif isinstance(node, Complement):
            todo += [(node.operand, binding), "~"]
        elif isinstance(node, Repeat):
            todo += [_limits_text(node), (node.operand, binding)]
        elif node.children:
            todo += _interleaved(node, binding)
        else:
            pieces.append(_atom_text(node, regex.alphabet))
    return "".join(pieces)


def _interleaved(node: Expression, binding: int) -> list[str | tuple[Expression, int]]:
    todo: list[str | tuple[Expression, int]] = []
    for part in reversed(node.children):
        todo += [(part, binding + 1), _SEPARATOR[type(node)]]
    return todo[:-1]


def _limits_text(node: Repeat) -> str:
    match node.low, node.high:
        case 0, None:
            return "*"
        case 1, None:
            return "+"
        case 0, 1:
            return "?"
        case low, None:
            return f"{{{low},}}"
        case low, high:
            return f"{{{low}}}" if low == high else f"{{{low},{high}}}"


def _atom_text(node: Expression, alphabet: Alphabet) -> str:
    if isinstance(node, Epsilon):
        return "ε"
    if isinstance(node, EmptySet):
        return "∅"
    assert isinstance(node, Letters)
    if len(node.symbols) == 1:
        return write_symbol(node.symbols[0], RESERVED)
    if len(node.symbols) == len(alphabet):
        return "."
    chosen = set(node.symbols)
    rest = [symbol for symbol in alphabet if symbol not in chosen]
    sign, symbols = ("^", rest) if 2 * len(rest) < len(chosen) else ("", list(node.symbols))
    return f"[{sign}{''.join(write_symbol(symbol, RESERVED_IN_CLASS) for symbol in symbols)}]"


Spans = npt.NDArray[np.bool_]
"""`spans[i, j]`: whether the factor from position i to position j matches."""


def matches(regex: Regex, word: WordLike) -> bool:
    """Whether the word matches, by deciding for every factor and every subexpression.

    The time is cubic in the length of the word; it is meant as an oracle for short words.
    """
    letters = [regex.alphabet.symbols[i] for i in regex.alphabet.encode(word)]
    spans = fold(regex.expression, lambda node, below: _spans(node, below, letters))
    return bool(spans[0, len(letters)])


def _spans(node: Expression, below: list[Spans], word: list[str]) -> Spans:
    size = len(word) + 1
    spans = np.zeros((size, size), dtype=np.bool_)
    match node:
        case EmptySet():
            pass
        case Epsilon():
            np.fill_diagonal(spans, True)
        case Letters(symbols):
            for i, letter in enumerate(word):
                spans[i, i + 1] = letter in symbols
        case Union():
            spans = np.logical_or.reduce(below)
        case Intersection():
            spans = np.logical_and.reduce(below)
        case Complement():
            spans = np.triu(~below[0])
        case Concat():
            spans = below[0]
            for right in below[1:]:
                spans = spans @ right
        case Repeat(_, low, high):
            spans = _power(below[0], low)
            # A word of this length needs no more factors than it has letters.
            more = len(word) if high is None else min(high - low, len(word))
            spans = spans @ _power(below[0] | np.eye(size, dtype=np.bool_), more)
    return spans


def _power(spans: Spans, exponent: int) -> Spans:
    result = np.eye(len(spans), dtype=np.bool_)
    while exponent:
        if exponent & 1:
            result = result @ spans
        spans = spans @ spans
        exponent >>= 1
    return result
