"""The canonical minimal automaton of a language.

Implements: [Hopcroft1971], with a first phase of vectorised Moore rounds [Moore1956].

Moore's rounds are cheap and finish the many automata whose states are told apart by short words; an
automaton that needs long words (a chain) would take as many rounds as it has states, so a partition that
is unfinished after a few rounds and grows slowly goes on to Hopcroft's algorithm.
"""

from __future__ import annotations

import itertools
from collections import deque

import numpy as np
import numpy.typing as npt

from nerode.languages.dfa import Dfa

Labels = npt.NDArray[np.int32]

_MOORE_ROUNDS = 12
"""Rounds after which a partition that grows slowly is handed to Hopcroft's algorithm."""

_GROWTH = 1.25
"""The factor by which a later round must multiply the classes to be worth its pass over the table."""


def minimise(dfa: Dfa) -> Dfa:
    """Returns the canonical minimal automaton of the same language.

    Canonical: states are numbered breadth first from the start, letters in alphabet order. Two automata
    over one alphabet accept the same language exactly when `minimise` makes them equal.
    """
    dfa = trim(dfa)
    return trim(_quotient(dfa, equivalence_classes(dfa)))


def equivalence_classes(dfa: Dfa) -> Labels:
    """Returns a label for each state; two states have one label when the same words lead them to acceptance.

    All states are labelled, unreachable ones too. The labels are 0 … number of classes - 1.
    """
    labels, stable = _moore_rounds(dfa)
    return labels if stable else _hopcroft(dfa, labels)


def trim(dfa: Dfa) -> Dfa:
    """Returns the reachable part, states numbered breadth first; the automaton stays complete."""
    order = dfa.breadth_first
    if len(order) == dfa.num_states and np.array_equal(order, np.arange(dfa.num_states)):
        return dfa
    number = np.full(dfa.num_states, -1, dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return Dfa(
        alphabet=dfa.alphabet,
        transitions=number[dfa.transitions[order]],
        start=0,
        accepting=dfa.accepting[order],
    )


def _moore_rounds(dfa: Dfa) -> tuple[Labels, bool]:
    """Refines {accepting, rejecting} a few times; says whether the partition is stable."""
    labels = _number_rows(dfa.accepting[:, None].astype(np.int32))
    for rounds in itertools.count(1):
        refined = _number_rows(np.column_stack([labels, labels[dfa.transitions]]))
        before, after = int(labels.max()) + 1, int(refined.max()) + 1
        labels = refined
        if after in (before, dfa.num_states):
            return labels, True
        if rounds >= _MOORE_ROUNDS and after < _GROWTH * before:
            break
    return labels, False


def _number_rows(rows: npt.NDArray[np.int32]) -> Labels:
    """Returns a number for each row of a table, the same for equal rows, in order of first occurrence."""
    # A dictionary of the rows as bytes takes one pass whatever the number of columns is; sorting would
    # take one for each column.
    text, width = rows.tobytes(), rows.shape[1] * rows.itemsize
    number: dict[bytes, int] = {}
    keys = (text[i : i + width] for i in range(0, len(text), width))
    return np.array([number.setdefault(key, len(number)) for key in keys], dtype=np.int32)


def _hopcroft(dfa: Dfa, labels: Labels) -> Labels:
    """Refines a partition to the coarsest stable one."""
    n, k = dfa.num_states, dfa.num_letters
    block_of: list[int] = labels.tolist()
    blocks: list[set[int]] = [set() for _ in range(max(block_of) + 1)]
    for q, b in enumerate(block_of):
        blocks[b].add(q)
    preimage: list[list[list[int]]] = [[[] for _ in range(n)] for _ in range(k)]
    for q, row in enumerate(dfa.transitions.tolist()):
        for letter, target in enumerate(row):
            preimage[letter][target].append(q)
    work = deque((b, letter) for b in range(len(blocks)) for letter in range(k))
    waiting = set(work)
    while work:
        splitter = work.popleft()
        waiting.discard(splitter)
        b, letter = splitter
        pre = preimage[letter]
        hit: dict[int, list[int]] = {}
        for q in blocks[b]:
            for p in pre[q]:
                hit.setdefault(block_of[p], []).append(p)
        for c, members in hit.items():
            if len(members) == len(blocks[c]):
                continue
            new = len(blocks)
            moved = set(members)
            blocks[c] -= moved
            blocks.append(moved)
            for p in moved:
                block_of[p] = new
            for a in range(k):
                add = (new, a) if (c, a) in waiting or len(moved) <= len(blocks[c]) else (c, a)
                if add not in waiting:
                    waiting.add(add)
                    work.append(add)
    return np.array(block_of, dtype=np.int32)


def _quotient(dfa: Dfa, labels: Labels) -> Dfa:
    """Returns the automaton of the classes."""
    members, first = np.unique(labels, return_index=True)
    if len(members) == dfa.num_states:
        return dfa
    return Dfa(
        alphabet=dfa.alphabet,
        transitions=labels[dfa.transitions[first]],
        start=int(labels[dfa.start]),
        accepting=dfa.accepting[first],
    )
