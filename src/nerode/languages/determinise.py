"""Nondeterministic automata, the automaton of their subsets, and the canonical minimal automaton.

Implements: [Hopcroft1971], with a first phase of vectorised Moore rounds [Moore1956].

Moore's rounds are cheap and finish the many automata whose states are told apart by short words; an
automaton that needs long words (a chain) would take as many rounds as it has states, so a partition that
is unfinished after a few rounds and grows slowly goes on to Hopcroft's algorithm.
"""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from nerode.core import Budget, InputError, charge, started
from nerode.languages.alphabet import Alphabet
from nerode.languages.dfa import Dfa, IntArray

Edge = tuple[int, int | None, int]
"""Source, letter (None: the edge reads nothing), target."""

_CELLS = 1 << 22
"""How many truth values one batch of subsets may occupy, whatever the size of the automaton."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nfa:
    """A nondeterministic automaton, with edges that may read nothing.

    States are any non-negative integers; those that occur nowhere do not exist.

    Attributes:
        alphabet: the letters, by number in the edges.
        transitions: the edges (source, letter or None, target).
        starts: the initial states; none of them gives the empty language.
        accepting: the final states.
    """

    alphabet: Alphabet
    transitions: tuple[Edge, ...]
    starts: frozenset[int]
    accepting: frozenset[int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "transitions", tuple(self.transitions))
        object.__setattr__(self, "starts", frozenset(self.starts))
        object.__setattr__(self, "accepting", frozenset(self.accepting))
        for source, letter, target in self.transitions:
            if letter is not None and not 0 <= letter < len(self.alphabet):
                raise InputError(
                    f"the edge {source} → {target} reads letter number {letter}, "
                    f"but the alphabet has {len(self.alphabet)} letters"
                )
            if source < 0 or target < 0:
                raise InputError(f"the edge {source} → {target} has a negative state; number states from 0")
        if any(q < 0 for q in self.starts | self.accepting):
            raise InputError("a start or accepting state is negative; number states from 0")


def determinise(nfa: Nfa, budget: Budget | None = None) -> Dfa:
    """Returns the automaton whose states are the reachable subsets, numbered breadth first.

    States from which nothing is accepted are left out of the subsets, so at most one state of the result
    (the empty subset) is dead. The result need not be minimal.

    Implements: [RabinScott1959]

    Raises:
        BudgetExceeded: if there are more subsets than `budget.states`; it says how many were reached.
    """
    budget = started(budget)
    edges, starts = _without_silent_edges(nfa, budget)
    edges, starts, useful = _useful_part(edges, starts, nfa.accepting)
    n, k = len(useful), len(nfa.alphabet)
    number = {q: i for i, q in enumerate(useful)}
    step = _SubsetStep({(a, number[p], number[q]) for p, a, q in edges}, num_states=n, num_letters=k)
    subsets, table = explore(
        [step.pack([number[q] for q in starts])],
        step.successors,
        num_letters=k,
        batch=step.batch,
        budget=budget,
    )
    final = int.from_bytes(step.pack([number[q] for q in useful if q in nfa.accepting]), "little")
    accepting = np.array([bool(int.from_bytes(subset, "little") & final) for subset in subsets])
    return Dfa(alphabet=nfa.alphabet, transitions=table, start=0, accepting=accepting)


class _SubsetStep:
    """Successors of many subsets at once; a subset is a bit string, packed into bytes.

    The successor of a subset contains q after letter a when it contains some p with an edge (p, a, q). All
    edges are sorted by (a, q), and one segmented "or" over the columns of their sources does it for a batch.
    """

    def __init__(self, edges: set[tuple[int, int, int]], *, num_states: int, num_letters: int) -> None:
        self.num_states = num_states
        self.num_letters = num_letters
        ordered = np.array(sorted((a, q, p) for a, p, q in edges), dtype=np.int64).reshape(-1, 3)
        cell = ordered[:, 0] * num_states + ordered[:, 1]
        self._sources = ordered[:, 2]
        self._cells, self._segments = np.unique(cell, return_index=True)
        self.batch = max(1, _CELLS // max(1, num_states * num_letters, len(edges)))

    def pack(self, members: Iterable[int]) -> bytes:
        """Returns a subset given by its members."""
        row = np.zeros(self.num_states, dtype=np.uint8)
        row[list(members)] = 1
        return np.packbits(row, bitorder="little").tobytes()

    def successors(self, subsets: list[bytes]) -> list[bytes]:
        """Returns the subsets after each letter, subset by subset."""
        count, k, n = len(subsets), self.num_letters, self.num_states
        width = len(subsets[0])
        after = np.zeros((k * n, count), dtype=np.uint8)
        if len(self._cells):
            packed = np.frombuffer(b"".join(subsets), dtype=np.uint8).reshape(count, width)
            members = np.unpackbits(packed, axis=1, count=n, bitorder="little").T
            after[self._cells] = np.bitwise_or.reduceat(
                members.take(self._sources, axis=0), self._segments, axis=0
            )
        by_subset: npt.NDArray[np.uint8] = after.T.reshape(count * k, n)
        text = np.packbits(by_subset, axis=1, bitorder="little").tobytes()
        if not width:
            return [b""] * (count * k)
        return [text[i : i + width] for i in range(0, len(text), width)]


def _without_silent_edges(nfa: Nfa, budget: Budget) -> tuple[set[tuple[int, int, int]], frozenset[int]]:
    """Returns edges (source, letter, target) and starts of an equal automaton that always reads a letter."""
    silent: dict[int, list[int]] = defaultdict(list)
    for source, letter, target in nfa.transitions:
        if letter is None:
            silent[source].append(target)
    closures: dict[int, frozenset[int]] = {}
    edges: set[tuple[int, int, int]] = set()
    for source, letter, target in nfa.transitions:
        if letter is None:
            continue
        if target not in closures:
            closures[target] = frozenset(_reach([target], silent))
            budget.check_time(edges_without_silent_ones=len(edges))
        edges.update((source, letter, q) for q in closures[target])
    return edges, frozenset(_reach(nfa.starts, silent))


def _useful_part(
    edges: set[tuple[int, int, int]], starts: frozenset[int], accepting: frozenset[int]
) -> tuple[set[tuple[int, int, int]], frozenset[int], list[int]]:
    """Returns edges, starts and states of the part that is both reachable and able to accept."""
    forward: dict[int, list[int]] = defaultdict(list)
    backward: dict[int, list[int]] = defaultdict(list)
    for source, _, target in edges:
        forward[source].append(target)
        backward[target].append(source)
    useful = _reach(starts, forward) & _reach(accepting, backward)
    kept = {(p, a, q) for p, a, q in edges if p in useful and q in useful}
    return kept, starts & useful, sorted(useful)


def _reach(starts: Iterable[int], successors: Mapping[int, list[int]]) -> set[int]:
    """Returns what can be reached from some states, themselves included."""
    found = set(starts)
    pending = list(found)
    while pending:
        for q in successors.get(pending.pop(), ()):
            if q not in found:
                found.add(q)
                pending.append(q)
    return found


K = TypeVar("K", bound=Hashable)


def explore(
    starts: Sequence[K],
    successors: Callable[[list[K]], Sequence[K]],
    *,
    num_letters: int,
    batch: int,
    budget: Budget,
) -> tuple[list[K], IntArray]:
    """Returns the keys that are reached, in breadth-first order, and the table of their transitions.

    Args:
        starts: distinct keys, which get the first numbers.
        successors: the keys after each letter for a list of keys, one key after the other; a whole list
            at a time, so that it can be computed with arrays.
        num_letters: how many successors each key has.
        batch: how many keys are handed over at a time.
        budget: limits the number of keys.

    Raises:
        BudgetExceeded: as soon as a batch leads beyond the budget.
    """
    order = list(starts)
    number = {key: i for i, key in enumerate(order)}
    targets: list[int] = []
    done = 0
    while done < len(order):
        budget.check("states", len(order), states_reached=len(order))
        keys = order[done : done + batch]
        done += len(keys)
        for key in successors(keys):
            found = number.get(key)
            if found is None:
                found = number[key] = len(order)
                order.append(key)
            targets.append(found)
    return order, np.array(targets, dtype=np.int32).reshape(len(order), num_letters)


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
    return refine(dfa.transitions, dfa.accepting[:, None].astype(np.int32))


def refine(transitions: IntArray, answers: Labels) -> Labels:
    """Returns a label for each state of a table; two have one when all words lead them to equal answers."""
    labels, stable = _moore_rounds(transitions, answers)
    return labels if stable else _hopcroft(transitions, labels)


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


def _moore_rounds(transitions: IntArray, answers: Labels) -> tuple[Labels, bool]:
    """Refines the partition by answers a few times; says whether it is stable."""
    labels = _number_rows(answers)
    for rounds in itertools.count(1):
        refined = _number_rows(np.column_stack([labels, labels[transitions]]))
        before, after = int(labels.max()) + 1, int(refined.max()) + 1
        labels = refined
        if after in (before, len(transitions)):
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


def _hopcroft(transitions: IntArray, labels: Labels) -> Labels:
    """Refines a partition to the coarsest stable one."""
    n, k = transitions.shape
    block_of: list[int] = labels.tolist()
    blocks: list[set[int]] = [set() for _ in range(max(block_of) + 1)]
    for q, b in enumerate(block_of):
        blocks[b].add(q)
    preimage: list[list[list[int]]] = [[[] for _ in range(n)] for _ in range(k)]
    for q, row in enumerate(transitions.tolist()):
        for letter, target in enumerate(row):
            preimage[letter][target].append(q)
    work = deque((b, letter) for b in range(len(blocks)) for letter in range(k))
    waiting = set(work)
    while work:
        charge()
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
