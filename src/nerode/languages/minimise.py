"""The canonical minimal automaton of a language.

Implements: [Hopcroft1971], with a first phase of vectorised Moore rounds [Moore1956].

Moore's rounds are matrix operations and finish the many automata whose states are told apart by short
words in a few milliseconds; an automaton that needs long words (a chain) would take as many rounds as it
has states, so the partition goes on to Hopcroft's algorithm once a round splits little.
"""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from nerode.languages.dfa import Dfa

Labels = npt.NDArray[np.int64]

_MOORE_ROUNDS = 12
"""Rounds after which a partition that still changes is handed to Hopcroft's algorithm."""


def minimise(dfa: Dfa) -> Dfa:
    """Returns the canonical minimal automaton of the same language.

    Canonical: states are numbered breadth first from the start, letters in alphabet order. Two automata
    over one alphabet accept the same language exactly when `minimise` makes them equal.
    """
    dfa = trim(dfa)
    labels, stable = _moore_rounds(dfa)
    if not stable:
        labels = _hopcroft(dfa, labels)
    return trim(_quotient(dfa, labels))


def trim(dfa: Dfa) -> Dfa:
    """Returns the reachable part, states numbered breadth first; the automaton stays complete."""
    order = np.array(_breadth_first(dfa), dtype=np.int32)
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


def _breadth_first(dfa: Dfa) -> list[int]:
    rows = dfa.transitions.tolist()
    seen = bytearray(dfa.num_states)
    seen[dfa.start] = 1
    order = [dfa.start]
    for q in order:
        for target in rows[q]:
            if not seen[target]:
                seen[target] = 1
                order.append(target)
    return order


def _moore_rounds(dfa: Dfa) -> tuple[Labels, bool]:
    """Refines {accepting, rejecting} a few times; says whether the partition is stable."""
    labels = dfa.accepting.astype(np.int64)
    num_classes = len(np.unique(labels))
    for _ in range(_MOORE_ROUNDS):
        refined = labels
        for letter in range(dfa.num_letters):
            pair = refined * dfa.num_states + labels[dfa.transitions[:, letter]]
            refined = np.unique(pair, return_inverse=True)[1].astype(np.int64)
        refined_classes = int(refined.max()) + 1
        if refined_classes == num_classes:
            return labels, True
        labels, num_classes = refined, refined_classes
        if num_classes == dfa.num_states:
            return labels, True
    return labels, False


def _hopcroft(dfa: Dfa, labels: Labels) -> Labels:
    """Refines a partition to the coarsest stable one."""
    n, k = dfa.num_states, dfa.num_letters
    block_of: list[int] = np.unique(labels, return_inverse=True)[1].tolist()
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
                if (c, a) in waiting or len(moved) <= len(blocks[c]):
                    add = (new, a)
                else:
                    add = (c, a)
                if add not in waiting:
                    waiting.add(add)
                    work.append(add)
    return np.array(block_of, dtype=np.int64)


def _quotient(dfa: Dfa, labels: Labels) -> Dfa:
    values, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    if len(values) == dfa.num_states:
        return dfa
    number = inverse.astype(np.int32)
    return Dfa(
        alphabet=dfa.alphabet,
        transitions=number[dfa.transitions[first]],
        start=int(number[dfa.start]),
        accepting=dfa.accepting[first],
    )
