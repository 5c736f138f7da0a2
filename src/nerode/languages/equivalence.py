"""Comparing regular languages, with a shortest word wherever the answer has one.

Automata over different alphabets are compared over `shared_alphabet`, and the words found are words over
it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nerode.core import Budget
from nerode.languages.alphabet import Word
from nerode.languages.dfa import Dfa
from nerode.languages.minimisation import Labels, equivalence_classes
from nerode.languages.operations import over_one_alphabet


def is_equivalent(left: Dfa, right: Dfa) -> bool:
    """Whether both automata accept the same words."""
    left, right = over_one_alphabet(left, right)
    classes, shift = _classes(left, right), left.num_states
    return bool(classes[left.start] == classes[shift + right.start])


def distinguishing_word(left: Dfa, right: Dfa, budget: Budget | None = None) -> Word | None:
    """Returns the shortest word in exactly one of the languages, or None if they are equal.

    Among the shortest ones it is the first in alphabet order.

    Raises:
        BudgetExceeded: if more pairs of states than `budget.images` had to be visited.
    """
    return _first_word(left, right, lambda in_left, in_right: in_left != in_right, budget)


def is_subset(left: Dfa, right: Dfa, budget: Budget | None = None) -> bool:
    """Whether every word of the left language is in the right one."""
    return subset_counterexample(left, right, budget) is None


def subset_counterexample(left: Dfa, right: Dfa, budget: Budget | None = None) -> Word | None:
    """Returns the shortest word of the left language that is not in the right one, or None if there is none.

    Among the shortest ones it is the first in alphabet order.

    Raises:
        BudgetExceeded: if more pairs of states than `budget.images` had to be visited.
    """
    return _first_word(left, right, lambda in_left, in_right: in_left and not in_right, budget)


def shortest_word(dfa: Dfa) -> Word | None:
    """Returns the shortest accepted word, first in alphabet order, or None if the language is empty."""
    found = dfa.breadth_first[dfa.accepting[dfa.breadth_first]]
    return dfa.access_word(int(found[0])) if len(found) else None


def is_empty(dfa: Dfa) -> bool:
    """Whether no word is accepted."""
    return not dfa.live[dfa.start]


def is_universal(dfa: Dfa) -> bool:
    """Whether every word over the alphabet is accepted."""
    return bool(dfa.accepting[dfa.breadth_first].all())


def is_finite(dfa: Dfa) -> bool:
    """Whether only finitely many words are accepted: no cycle among the reachable live states."""
    live, rows = dfa.live.tolist(), dfa.transitions.tolist()
    states = [q for q in dfa.breadth_first.tolist() if live[q]]
    entering = [0] * dfa.num_states
    for q in states:
        for target in rows[q]:
            entering[target] += 1
    # Take away states that nothing enters, as long as there are any; what remains lies on or after a cycle.
    removed = [q for q in states if not entering[q]]
    for q in removed:
        for target in rows[q]:
            entering[target] -= 1
            if not entering[target] and live[target]:
                removed.append(target)
    return len(removed) == len(states)


def _first_word(
    left: Dfa, right: Dfa, differs: Callable[[bool, bool], bool], budget: Budget | None
) -> Word | None:
    """Returns the first word, by length and then by alphabet, after which `differs` holds of the acceptances.

    A breadth-first search over pairs of states. It does not go on from two states that accept the same
    words, for which `differs` must never hold.
    """
    budget = budget or Budget()
    left, right = over_one_alphabet(left, right)
    size = right.num_states
    classes = _classes(left, right).tolist()
    left_classes, right_classes = classes[: left.num_states], classes[left.num_states :]
    left_rows, right_rows = left.transitions.tolist(), right.transitions.tolist()
    start = left.start * size + right.start
    found_from: dict[int, tuple[int, int]] = {start: (-1, -1)}
    order = [start]
    for code in order:
        p, q = divmod(code, size)
        if differs(bool(left.accepting[p]), bool(right.accepting[q])):
            return _word_to(code, found_from)
        if left_classes[p] == right_classes[q]:
            continue
        for letter, (p_after, q_after) in enumerate(zip(left_rows[p], right_rows[q], strict=True)):
            after = p_after * size + q_after
            if after not in found_from:
                found_from[after] = (code, letter)
                order.append(after)
        budget.check("images", len(order), pairs_of_states_visited=len(order))
    return None


def _word_to(code: int, found_from: dict[int, tuple[int, int]]) -> Word:
    letters: list[int] = []
    while True:
        code, letter = found_from[code]
        if letter < 0:
            return tuple(reversed(letters))
        letters.append(letter)


def _classes(left: Dfa, right: Dfa) -> Labels:
    """Returns the Nerode classes of the states of both automata, the left ones first."""
    side_by_side = Dfa(
        alphabet=left.alphabet,
        transitions=np.vstack([left.transitions, right.transitions + left.num_states]),
        start=left.start,
        accepting=np.append(left.accepting, right.accepting),
    )
    return equivalence_classes(side_by_side)
