"""Rewriting an expression into a smaller one for the same language, before it is compiled.

Sets of letters are merged, ε and ∅ disappear where they can, and stars inside stars are removed. After
this ∅ and ε occur only as the whole expression or, ε only, below a complement or an intersection; a repeat
whose operand has the empty word has no lower limit.

Implements: [BruggemannKlein1993], the part of its star normal form that is local.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nerode.core import Budget
from nerode.languages.alphabet import Alphabet
from nerode.languages.regex.syntax import (
    Complement,
    Concat,
    EmptySet,
    Epsilon,
    Expression,
    Intersection,
    Letters,
    Regex,
    Repeat,
    Union,
    concat,
    intersection,
    union,
)
from nerode.languages.trees import fold


@dataclass(frozen=True, slots=True)
class _Part:
    """A simplified expression and whether it has the empty word."""

    node: Expression
    nullable: bool


_EMPTY_SET = _Part(EmptySet(), False)
_EPSILON = _Part(Epsilon(), True)


def simplify(regex: Regex, budget: Budget) -> Expression:
    """Returns an expression for the same language that is at most as large."""

    def combine(node: Expression, below: list[_Part]) -> _Part:
        budget.check_time(stage="reading the pattern")
        return _simplified(node, below, regex.alphabet)

    return fold(regex.expression, combine).node


def _simplified(node: Expression, below: list[_Part], alphabet: Alphabet) -> _Part:
    match node:
        case EmptySet():
            return _EMPTY_SET
        case Epsilon():
            return _EPSILON
        case Concat():
            return _concat(below)
        case Union():
            return _union(below)
        case Intersection():
            return _intersection(below)
        case Complement():
            return _complement(below[0], alphabet)
        case Repeat(_, low, high):
            return _repeat(below[0], low, high)
        case _:
            return _Part(node, False)


def _concat(parts: list[_Part]) -> _Part:
    if any(isinstance(part.node, EmptySet) for part in parts):
        return _EMPTY_SET
    nodes = [part.node for part in parts if not isinstance(part.node, Epsilon)]
    return _Part(concat(*nodes), all(part.nullable for part in parts))


def _union(parts: Iterable[_Part]) -> _Part:
    letters: set[str] = set()
    nodes: list[Expression] = []
    nullable = has_epsilon = False
    for part in parts:
        members = part.node.parts if isinstance(part.node, Union) else (part.node,)
        for node in members:
            if isinstance(node, Letters):
                letters.update(node.symbols)
            elif isinstance(node, Epsilon):
                has_epsilon = True
            elif not isinstance(node, EmptySet):
                nodes.append(node)
        nullable = nullable or (part.nullable and not isinstance(part.node, Epsilon))
    if letters:
        nodes.insert(0, Letters(tuple(sorted(letters))))
    if has_epsilon and not nullable:
        return _Part(Repeat(union(*nodes), 0, 1), True) if nodes else _EPSILON
    return _Part(union(*nodes), nullable)


def _intersection(parts: list[_Part]) -> _Part:
    if any(isinstance(part.node, EmptySet) for part in parts):
        return _EMPTY_SET
    return _Part(intersection(*(part.node for part in parts)), all(part.nullable for part in parts))


def _complement(part: _Part, alphabet: Alphabet) -> _Part:
    if isinstance(part.node, Complement):
        return _Part(part.node.operand, not part.nullable)
    if isinstance(part.node, EmptySet):
        return _Part(Repeat(Letters(tuple(sorted(alphabet))), 0, None), True)
    return _Part(Complement(part.node), not part.nullable)


def _repeat(part: _Part, low: int, high: int | None) -> _Part:
    node = part.node
    if high == 0 or isinstance(node, Epsilon) or (isinstance(node, EmptySet) and low == 0):
        return _EPSILON
    if isinstance(node, EmptySet) or (high == 1 and (low == 1 or part.nullable)):
        return part
    if part.nullable:
        low = 0
    if isinstance(node, Repeat) and (node.low, node.high) == (0, 1):
        node = node.operand
    elif isinstance(node, Repeat) and node.high is None and node.low <= 1:
        node, high = node.operand, None
    if (low, high) == (0, None):
        return _Part(_star(node), True)
    return _Part(Repeat(node, low, high), low == 0)


def _star(node: Expression) -> Expression:
    """The star of a node, without the repeats that the star makes superfluous."""
    node = _unrepeated(node)
    if isinstance(node, Union):
        # Whether a member has the empty word does not matter below a star.
        node = _union(_Part(_unrepeated(member), False) for member in node.parts).node
    return Repeat(_unrepeated(node), 0, None)


def _unrepeated(node: Expression) -> Expression:
    """The operand of a repeat that, below a star, says nothing."""
    if isinstance(node, Repeat) and node.low <= 1:
        return node.operand
    return node
