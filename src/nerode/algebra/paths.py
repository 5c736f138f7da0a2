"""Shortest words that lead somewhere in an automaton."""

from __future__ import annotations

from collections.abc import Callable

from nerode.algebra.components import Rows
from nerode.languages import Dfa, Word


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
    came_from: dict[tuple[int, ...], tuple[tuple[int, ...], int]] = {}
    order = [sources]
    seen = {sources}
    for node in order:
        for letter, target in enumerate(zip(*(rows[q] for q in node), strict=True)):
            if is_goal(target):
                letters = [letter]
                while node != sources:
                    node, letter = came_from[node]
                    letters.append(letter)
                return tuple(reversed(letters))
            if target not in seen:
                seen.add(target)
                came_from[target] = (node, letter)
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
