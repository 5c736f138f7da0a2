"""Immutable syntax trees that are safe at any depth.

Patterns and formulas come from users, who may nest them ten thousand deep. Every walk here keeps its own
stack, so that no walk can run out of Python's, and visits a shared subtree once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, TypeVar, cast

T = TypeVar("T", bound="Tree")
V = TypeVar("V")


class Tree:
    """A node of a syntax tree; subclasses are frozen dataclasses made with `eq=False`.

    Two trees are equal when they have the same shape, node types and labels.
    """

    __slots__ = ()

    @property
    def children(self) -> tuple[Tree, ...]:
        """The operands, left to right."""
        return ()

    @property
    def label(self) -> Hashable:
        """The content of the node besides its children."""
        return None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        if self is other or type(self) is not type(other):
            return self is other
        numbers: dict[Hashable, int] = {}
        return fold(self, _numbering(numbers)) == fold(other, _numbering(numbers))

    def __hash__(self) -> int:
        return fold(self, lambda node, below: hash((type(node).__name__, node.label, tuple(below))))


def fold(root: T, combine: Callable[[T, list[V]], V]) -> V:
    """Returns the value of `root`, where `combine` makes a node's value from those of its children.

    A node object that occurs several times is combined once.
    """
    values: dict[int, V] = {}
    stack: list[Tree] = [root]
    while stack:
        node = stack[-1]
        if id(node) in values:
            stack.pop()
            continue
        below = node.children
        pending = [child for child in below if id(child) not in values]
        if pending:
            stack.extend(reversed(pending))
        else:
            stack.pop()
            values[id(node)] = combine(cast(T, node), [values[id(child)] for child in below])
    return values[id(root)]


def subtrees(root: T) -> Iterator[T]:
    """Yields every node object of the tree once, in no particular order."""
    seen = {id(root)}
    stack: list[Tree] = [root]
    while stack:
        node = stack.pop()
        yield cast(T, node)
        for child in node.children:
            if id(child) not in seen:
                seen.add(id(child))
                stack.append(child)


def distinct_subtrees(root: T) -> tuple[list[T], list[tuple[int, ...]]]:
    """Returns the structurally different subtrees, children before parents, the root last.

    The second list has the places of each one's children in the first.
    """
    numbers: dict[Hashable, int] = {}
    nodes: list[T] = []
    places: list[tuple[int, ...]] = []

    def combine(node: T, below: list[int]) -> int:
        number = numbers.setdefault((type(node), node.label, tuple(below)), len(nodes))
        if number == len(nodes):
            nodes.append(node)
            places.append(tuple(below))
        return number

    fold(root, combine)
    return nodes, places


def flatten(kind: type[T], parts: Sequence[Any]) -> tuple[Any, ...]:
    """Returns the parts with every part of type `kind` replaced by its own children."""
    if not any(isinstance(part, kind) for part in parts):
        return tuple(parts)
    return tuple(inner for part in parts for inner in (part.children if isinstance(part, kind) else (part,)))


def _numbering(numbers: dict[Hashable, int]) -> Callable[[Tree, list[int]], int]:
    def combine(node: Tree, below: list[int]) -> int:
        return numbers.setdefault((type(node), node.label, tuple(below)), len(numbers))

    return combine
