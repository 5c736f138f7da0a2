"""Strongly connected components of an automaton, how words act inside one, and shortest words to a place."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core import charge
from nerode.languages import Dfa, Word

Rows = list[list[int]]
"""`rows[q][a]` is the state after letter a in state q: a transition table as plain lists."""

Numbers = npt.NDArray[np.int64]

OUTSIDE = -1
"""Where a letter leads that leaves the states of a partial action."""

_BETWEEN_LOOKS = 1_024
"""Nodes of a search between two looks at the running budget."""

_PLAIN_EDGES = 60_000
"""Above this many edges scipy, where it is installed, is worth the time that its import takes."""

_FEW_EDGES = 1_000
"""Above this many it is quicker where it is imported already."""

_SCIPY = "scipy.sparse.csgraph"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialAction:
    """The action of letters on some states, as partial maps.

    Two letters that act alike are one here. A letter that takes every state outside is left out.

    Attributes:
        states: the states, by their numbers in the automaton; point i is `states[i]`.
        letters: one letter of the alphabet for each map.
        maps: `maps[j][i]` is the point to which letter j takes point i, or OUTSIDE.
    """

    states: tuple[int, ...]
    letters: tuple[int, ...]
    maps: tuple[tuple[int, ...], ...]

    @property
    def num_points(self) -> int:
        """Number of states acted on."""
        return len(self.states)

    def word(self, maps: Sequence[int]) -> Word:
        """Returns the word of the alphabet for a sequence of map numbers."""
        return tuple(self.letters[j] for j in maps)


def strong_components(successors: Sequence[Sequence[int]]) -> list[list[int]]:
    """Returns the strongly connected components of a graph, those without a way out first.

    Args:
        successors: for each node the nodes that its edges lead to; repetitions do no harm.

    Implements: [Tarjan1972], without recursion.
    """
    unvisited = -1
    n = len(successors)
    index = [unvisited] * n
    low = [0] * n
    on_stack = bytearray(n)
    stack: list[int] = []
    components: list[list[int]] = []
    clock = 0
    for root in range(n):
        if index[root] != unvisited:
            continue
        if root % _BETWEEN_LOOKS == 0:
            charge()
        index[root] = low[root] = clock
        clock += 1
        stack.append(root)
        on_stack[root] = 1
        path = [(root, iter(successors[root]))]
        while path:
            node, edges = path[-1]
            for target in edges:
                if index[target] == unvisited:
                    index[target] = low[target] = clock
                    clock += 1
                    if clock % _BETWEEN_LOOKS == 0:
                        charge()
                    stack.append(target)
                    on_stack[target] = 1
                    path.append((target, iter(successors[target])))
                    break
                if on_stack[target] and index[target] < low[node]:
                    low[node] = index[target]
            else:
                path.pop()
                if path and low[node] < low[path[-1][0]]:
                    low[path[-1][0]] = low[node]
                if low[node] == index[node]:
                    members = []
                    while True:
                        member = stack.pop()
                        on_stack[member] = 0
                        members.append(member)
                        if member == node:
                            break
                    components.append(members)
    return components


def component_labels(successors: Sequence[Sequence[int]]) -> list[int]:
    """Returns for each node the number of its component in the order of `strong_components`."""
    labels = [0] * len(successors)
    for label, members in enumerate(strong_components(successors)):
        for node in members:
            labels[node] = label
    return labels


def edge_labels(num_nodes: int, source: Numbers, target: Numbers) -> Numbers:
    """Returns for each node the number of its strong component in a graph given by its edges."""
    few = _FEW_EDGES if _SCIPY in sys.modules else _PLAIN_EDGES
    if len(source) > few and _sparse_graphs() is not None:
        return _compiled_labels(num_nodes, source, target)
    order = np.argsort(source, kind="stable")
    ends = np.searchsorted(source[order], np.arange(num_nodes + 1)).tolist()
    targets = target[order].tolist()
    successors = [targets[first:last] for first, last in pairwise(ends)]
    return np.array(component_labels(successors), dtype=np.int64)


@functools.cache
def _sparse_graphs() -> Any:
    """`scipy.sparse`, loaded when a large graph first asks for it, or None where it is not installed."""
    try:
        import scipy.sparse.csgraph
    except ModuleNotFoundError:
        return None
    return scipy.sparse


def _compiled_labels(num_nodes: int, source: Numbers, target: Numbers) -> Numbers:
    """The labels by scipy, which is compiled; an edge listed twice would keep its search from ending."""
    sparse = _sparse_graphs()
    edges = np.sort(source * num_nodes + target)
    edges = edges[np.append(True, edges[1:] != edges[:-1])]
    rows, columns = np.divmod(edges, num_nodes)
    begins = np.append(0, np.cumsum(np.bincount(rows, minlength=num_nodes)))
    weights = np.ones(len(edges), dtype=np.int32)
    graph = sparse.csr_array((weights, columns, begins), shape=(num_nodes, num_nodes))
    labels: Numbers = sparse.csgraph.connected_components(graph, connection="strong")[1].astype(np.int64)
    return labels


def whole_action(dfa: Dfa) -> PartialAction:
    """Returns the action of the letters on all states."""
    return restricted_action(dfa.transitions.tolist(), range(dfa.num_states))[0]


def component_actions(dfa: Dfa) -> list[PartialAction]:
    """Returns the action inside each component of at least two states, smallest first.

    A word that permutes some states cyclically keeps them inside one component, so every group of the
    transition monoid shows in one of these actions.
    """
    rows = dfa.transitions.tolist()
    components = [sorted(members) for members in strong_components(rows) if len(members) > 1]
    return [restricted_action(rows, members)[0] for members in sorted(components, key=lambda m: (len(m), m))]


def restricted_action(rows: Rows, states: Sequence[int]) -> tuple[PartialAction, list[int | None]]:
    """Returns how letters act inside some states, and the map of each letter (None if it leaves all)."""
    point = {q: i for i, q in enumerate(states)}
    inside = [[point.get(target, OUTSIDE) for target in rows[q]] for q in states]
    columns = list(zip(*inside, strict=True))
    first_letter: dict[tuple[int, ...], int] = {}
    for letter, column in enumerate(columns):
        first_letter.setdefault(column, letter)
    first_letter.pop((OUTSIDE,) * len(states), None)
    number = {column: j for j, column in enumerate(first_letter)}
    action = PartialAction(
        states=tuple(states), letters=tuple(first_letter.values()), maps=tuple(first_letter)
    )
    return action, [number.get(column) for column in columns]


class AccessTree:
    """Shortest words from one state, kept as a tree so that long chains stay cheap.

    Attributes:
        root: the state they start from.
        order: the states that can be reached, nearest first.
        rank: their places in `order`.
    """

    def __init__(self, rows: Rows, root: int) -> None:
        self.root = root
        self._came_from: dict[int, tuple[int, int]] = {}
        order = [root]
        seen = {root}
        for q in order:
            charge()
            for letter, target in enumerate(rows[q]):
                if target not in seen:
                    seen.add(target)
                    self._came_from[target] = (q, letter)
                    order.append(target)
        self.order = tuple(order)
        self.rank = {q: i for i, q in enumerate(order)}

    def word(self, state: int) -> Word:
        """Returns the shortest word from the root to a state that can be reached."""
        letters = []
        while state != self.root:
            state, letter = self._came_from[state]
            letters.append(letter)
        return tuple(reversed(letters))


def tuple_path(
    rows: Rows, sources: tuple[int, ...], is_goal: Callable[[tuple[int, ...]], bool], *, least: int = 0
) -> Word | None:
    """Returns a shortest word that takes a tuple of states to a goal; None if no word does.

    Args:
        rows: the transition table.
        sources: the states to start from, all moved by the same word.
        is_goal: what to look for.
        least: 1 if the empty word does not count, else 0.
    """
    if least == 0 and is_goal(sources):
        return ()
    predecessor: dict[tuple[int, ...], tuple[tuple[int, ...], int]] = {}
    order = [sources]
    for node in order:
        charge()
        for letter, target in enumerate(zip(*[rows[q] for q in node], strict=True)):
            if target in predecessor:
                continue
            if is_goal(target):
                letters = [letter]
                while node != sources:
                    node, letter = predecessor[node]
                    letters.append(letter)
                return tuple(reversed(letters))
            predecessor[target] = (node, letter)
            order.append(target)
    return None


def loop_word(rows: Rows, sources: tuple[int, ...]) -> Word | None:
    """Returns a shortest non-empty word that fixes each of these states; None if there is none."""
    return tuple_path(rows, sources, sources.__eq__, least=1)


def distinguishing_word(dfa: Dfa, rows: Rows, p: int, q: int) -> Word | None:
    """Returns a shortest word accepted from exactly one of two states; None if they are equivalent."""
    accepting = dfa.accepting.tolist()
    return tuple_path(rows, (p, q), lambda pair: accepting[pair[0]] != accepting[pair[1]])


def word_with_answer(dfa: Dfa, rows: Rows, state: int, accepted: bool) -> Word | None:
    """Returns a shortest word from a state that is accepted (or rejected); None if there is none."""
    accepting = dfa.accepting.tolist()
    return tuple_path(rows, (state,), lambda node: accepting[node[0]] is accepted)


def run(rows: Rows, state: int, word: Word) -> int:
    """Returns the state after a word."""
    for letter in word:
        state = rows[state][letter]
    return state
