"""Congruences of an automaton that together keep all states apart."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from nerode.algebra.components import Rows, strong_components
from nerode.core import Budget

Labels = tuple[int, ...]
"""The class of each state, numbered in the order of their first states."""

Pair = tuple[int, int]

MOST_STATES = 64
"""Above this the pairs of states are too many for a search that is only worth a try."""


def separating_congruences(rows: Rows, budget: Budget | None = None) -> list[Labels]:
    """Returns congruences, large ones, such that any two states differ in one of them.

    Whatever identifies two states identifies every pair of states that words make of them. So it is enough
    to keep apart one pair of each terminal component of the graph of pairs (an atom). For each atom a
    congruence is grown greedily, pair by pair, as long as it keeps the atom apart.

    Args:
        rows: the transition table.
        budget: its seconds bound the search.

    Returns:
        The congruences; a single one with a class for each state if the automaton cannot be split, or if it
        has more than MOST_STATES states.

    Implements: [HartmanisStearns1966]
    """
    budget = budget or Budget()
    n = len(rows)
    trivial = tuple(range(n))
    if not 2 < n <= MOST_STATES:
        return [trivial]
    found: list[Labels] = []
    for p, q in _atoms(rows):
        budget.check_time()
        if all(labels[p] == labels[q] for labels in found):
            found.append(_grow(rows, (p, q), budget))
    return _irredundant(found)


def _atoms(rows: Rows) -> list[Pair]:
    """Returns one pair of each terminal component of the graph of unordered pairs."""
    n = len(rows)
    pairs = list(itertools.combinations(range(n), 2))
    number = {pair: i for i, pair in enumerate(pairs)}
    successors = []
    for p, q in pairs:
        targets = zip(rows[p], rows[q], strict=True)
        successors.append([number[min(r, s), max(r, s)] for r, s in targets if r != s])
    atoms = []
    for members in strong_components(successors):
        inside = set(members)
        if all(target in inside for member in members for target in successors[member]):
            atoms.append(pairs[min(members)])
    return sorted(atoms)


def _grow(rows: Rows, atom: Pair, budget: Budget) -> Labels:
    labels = tuple(range(len(rows)))
    for pair in itertools.combinations(range(len(rows)), 2):
        if labels[pair[0]] == labels[pair[1]]:
            continue
        budget.check_time()
        coarser = generated_congruence(rows, labels, [pair])
        if coarser[atom[0]] != coarser[atom[1]]:
            labels = coarser
    return labels


def generated_congruence(rows: Rows, labels: Sequence[int], pairs: Iterable[Pair]) -> Labels:
    """Returns the least congruence that contains a congruence and identifies some pairs of states."""
    parent = list(labels)
    first = {label: q for q, label in reversed(list(enumerate(labels)))}
    parent = [first[label] for label in labels]

    def find(q: int) -> int:
        while parent[q] != q:
            parent[q] = q = parent[parent[q]]
        return q

    pending = list(pairs)
    while pending:
        p, q = pending.pop()
        p, q = find(p), find(q)
        if p != q:
            parent[max(p, q)] = min(p, q)
            # The roots were congruent to their classes before, so their images stand for all.
            pending.extend(zip(rows[p], rows[q], strict=True))
    number: dict[int, int] = {}
    return tuple(number.setdefault(find(q), len(number)) for q in range(len(rows)))


def _irredundant(congruences: list[Labels]) -> list[Labels]:
    """Returns the list without members that the others make needless, the finest ones dropped first."""
    kept = sorted(set(congruences), key=lambda labels: (max(labels), labels))
    for labels in reversed(list(kept)):
        others = [other for other in kept if other != labels]
        if others and len(set(zip(*others, strict=True))) == len(labels):
            kept = others
    return kept
